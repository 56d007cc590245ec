"""What each kind of finding means and what to do about it, in a sentence or two: for reports that others read in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ackgap.model.verdict import MEANINGS, Finding, VerdictKind

__all__ = ["RULES", "Rule", "rule_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A kind of finding.

    Attributes:
        code: Its name, that of the finding.
        kind: The verdict that it argues for, as a rule.
        means: What was found, in one sentence.
        remedy: What to do about it.
    """

    code: str
    kind: VerdictKind
    means: str
    remedy: str


_KEY = (
    "Choose an idempotency key before the model speaks, from workflow and step, and send it with every attempt; "
    "where the service takes none, look the object up before creating it."
)
_LINES = "Read the last lines that the worker printed: the history of the cell has them."
_AGAIN = "Run the cell again with `ackgap replay`; if it persists, look at its history."
_REPORT = "Please report it, with the history of the cell."

_TEXTS: Mapping[VerdictKind, Mapping[str, tuple[str, str]]] = {
    VerdictKind.DUPLICATE: {
        "duplicate": ("The outside world has the same action more often than it should.", _KEY),
    },
    VerdictKind.LOST: {
        "lost": (
            "The work counts as finished, and an action that every undisturbed run takes never happened.",
            "Record a step after its call has returned, not before, and resume whenever there is a checkpoint.",
        ),
    },
    VerdictKind.DIVERGED: {
        "not_as_approved": (
            "What was filed is not among the texts that were approved by then.",
            "Store the artifact that was approved, and file exactly that.",
        ),
        "out_of_order": (
            "An action came before the one that has to precede it.",
            "Look for a path of the recovery that skips the step before.",
        ),
        "check": ("A check that the scenario declares does not hold.", "Read what the check says, and run it by hand."),
    },
    VerdictKind.PHANTOM: {
        "phantom": (
            "An action happened that no undisturbed run takes.",
            "Look at what the recovery does besides finishing; if the action is meant, give it a scenario of its own.",
        ),
    },
    VerdictKind.ZOMBIE: {
        "zombie": (
            "A worker that had been replaced acted all the same.",
            "Send a fencing token or a stable key with the call, or check the lease right before it.",
        ),
    },
    VerdictKind.STUCK: {
        "poison": (
            "Every life that touched the work died in the same way at the same place, and recorded nothing more.",
            "Count attempts, and put such work aside for a person after a few of them.",
        ),
        "slow_recovery": (
            "The restarts or the time were used up while each life still got further than those before.",
            "Give it more restarts or time, or let a life record more of what it has done.",
        ),
        "stuck_crash_loop": ("Every life ended by itself, and none of them well.", _LINES),
        "stuck_waiting": ("A life was still running at its limit.", _LINES),
        "stuck_engine_failed": (
            "The engine says that the work has failed.",
            "Read why, in the engine's own words, in the finding; a failed run needs somebody who starts it again.",
        ),
        "stuck_engine_unowned": (
            "The engine holds the work as unfinished, and nothing that runs will take it up.",
            "Let a worker of the version run that began it, or say that a new one may take it over.",
        ),
        "stuck_engine_waiting": (
            "The engine says that the work waits, for a time to come or for somebody outside.",
            "Raise the limit, or let the scenario do what it waits for.",
        ),
        "stuck_client_failed": ("The client outside of the worker failed, or could not be started.", _LINES),
        "doubt_without_cause": (
            "The worker stopped in doubt although no call of its was unresolved.",
            "Let it ask a human only where a call was announced and nothing says what became of it.",
        ),
    },
    VerdictKind.IN_DOUBT: {
        "in_doubt": (
            "The worker could not know whether an action had happened, stopped, and told a human.",
            "Nothing has to be done; where the service can be asked by something chosen before the call, do that.",
        ),
    },
    VerdictKind.WASTED: {
        "wasted": (
            "Paid calls were made again that had been recorded.",
            "Resume from the checkpoint instead of from the input, and keep paid answers.",
        ),
        "more_paid_work": (
            "Paid calls were made more often than in peace, and none of them again.",
            "See whether a recovery has to ask a model what to make of what was interrupted.",
        ),
    },
    VerdictKind.INCONCLUSIVE: {
        "not_reached": ("The life never came to the crash point.", _AGAIN),
        "kill_did_not_land": ("The life did not end by SIGKILL: it exited first, or by another signal.", _AGAIN),
        "store_changed_at_death": (
            "The durable store changed between the crash point and death.",
            "Something writes in the background; name the durable files in `store`.",
        ),
        "unsettled": (
            "The durable store was still being written when the fault struck.",
            "Raise `limits.settle_s`, or leave logs and caches out of `store`.",
        ),
        "order_impossible": (
            "A durable write that was held waited for one that never came meanwhile.",
            "Nothing: there is only one order.",
        ),
        "unseen_process": (
            "A process of the worker called a target, and the preload library had not come up in it.",
            'Use `injector = "trace"`, which sees static programs and cleaned environments too.',
        ),
        "oom_did_not_land": (
            "The kernel killed nothing of a life that was left no memory.",
            "See whether it was over.",
        ),
        "toxic_failed": ("Toxiproxy did not switch a toxic on or off.", "See what it printed."),
        "client_gave_up": ("A client closed a connection that was parked.", "Give it a longer timeout."),
        "nondeterministic": (
            "Two undisturbed runs differ in effects, paid calls or points.",
            "Fix seeds, order and time, or declare the count.",
        ),
        "identity_unclear": (
            "Several lives made actions that differ, and no field tells them apart.",
            "Describe the service, or say with `--expect` that the number is enough.",
        ),
        "variant_not_effective": (
            "Nothing shows that a value of an axis took effect.",
            "See whether the worker hands the value on to its engine.",
        ),
        "no_attempts": ("No request reached any target.", "See whether the worker reads the target's address."),
        "not_concluded": ("The run neither finished nor gave up.", _AGAIN),
        "wrote_outside": (
            "A life wrote to a path that is not put back between cells.",
            "Name it with `--state`, or use `--reset`.",
        ),
        "upstream_failed": ("A real service gave no answer, so what it did is not known.", _AGAIN),
        "upstream_unclear": (
            "A real service answered with an error of its own, so what it did is not known.",
            "See why it fails, and run the cell again.",
        ),
        "known_before": (
            "A real service answered with an object that an earlier cell had made.",
            "Put `{cell}` into the worker's references, or clear the service with `worker.reset`.",
        ),
        "service_unmoved": (
            "A fault lets time go by, and a real service has a clock of its own.",
            "Test that against the profile alone, without `upstream`.",
        ),
        "not_recorded": (
            "A request was not in the recording that is replayed.",
            'Record again, or set `replay_match = "path"`.',
        ),
        "target_failed": ("A target of ackgap's failed, and dropped a request unasked.", _REPORT),
        "check_failed_to_run": ("A check ended with neither 0 nor 1.", "Run its command by hand."),
        "oracle_failed": ("The judge itself failed on this history.", _REPORT),
        "slot_lost": ("The process that ran the cell was killed or stopped from outside, or hung.", _AGAIN),
    },
}

RULES: Mapping[str, Rule] = {
    code: Rule(code=code, kind=kind, means=means, remedy=remedy)
    for kind, rules in _TEXTS.items()
    for code, (means, remedy) in rules.items()
}


def rule_of(finding: Finding) -> Rule:
    """Return what is known of a finding; of a code that is not known, what its verdict means."""
    kind = finding.kind or VerdictKind.INCONCLUSIVE
    return RULES.get(finding.code) or Rule(code=finding.code, kind=kind, means=MEANINGS[kind], remedy=_AGAIN)
