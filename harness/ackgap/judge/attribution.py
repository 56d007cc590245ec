"""Attribution: who could have prevented a finding, read off the attempts that led to it."""

from __future__ import annotations

from collections.abc import Sequence

from ackgap.judge.case import Case
from ackgap.judge.reruns import how_it_ran_again
from ackgap.model.event import AttemptReceived, EffectApplied
from ackgap.model.expectation import OperationFacts
from ackgap.model.identity import flatten
from ackgap.model.manner import FaultKind
from ackgap.model.verdict import Attribution

__all__ = ["attribute"]


def attribute(case: Case, operation: str, effects: Sequence[EffectApplied]) -> Attribution:
    """Return who could have prevented that these effects are so many; without effects, that they are missing."""
    facts = case.facts(operation)
    if not effects:
        return _of_missing()
    attempts = [case.history.attempt(effect.attempt) for effect in effects]
    keys = [attempt.key for attempt in attempts]
    sent = all(key is not None for key in keys)
    stable = len(set(keys)) == 1 if sent else None
    honours = bool(facts is not None and facts.honours_keys)
    exceeded = _window_exceeded(facts, effects) if stable and honours else None
    if _delivered_twice(case, attempts) and not honours:
        return _of_delivery(facts, sent=sent, stable=stable)
    return Attribution(
        key_sent=sent,
        key_stable=stable,
        target_honours_keys=honours,
        window_exceeded=exceeded,
        worker=_worker(sent=sent, stable=stable, attempts=attempts),
        engine=how_it_ran_again(case, effects),
        target=_target(facts, honours=honours, sent=sent, stable=stable, exceeded=exceeded),
        preventable_by=_preventable_by(facts, stable=stable, honours=honours, exceeded=exceeded),
        fix=_fix(facts, sent=sent, stable=stable, honours=honours, exceeded=exceeded),
    )


def _of_missing() -> Attribution:
    return Attribution(
        worker="considered the work finished although the action had not happened",
        engine="had recorded the step as done, or did not come back to it",
        target="never received a request that it could have applied",
        preventable_by=("worker", "engine"),
        fix="Record a step only after its call has returned, and resume whenever a checkpoint exists, not only when "
        "the engine names a next step.",
    )


def _delivered_twice(case: Case, attempts: Sequence[AttemptReceived]) -> bool:
    """Whether the repeats are deliveries of one request, which a fault of the network made two."""
    calls = {(attempt.incarnation, attempt.occurrence) for attempt in attempts}
    planned = case.schedule.manner
    return len(calls) == 1 and planned is not None and planned.kind is FaultKind.TWICE


def _of_delivery(facts: OperationFacts | None, *, sent: bool, stable: bool | None) -> Attribution:
    offered = facts is not None and bool(facts.could_protect)
    return Attribution(
        key_sent=sent,
        key_stable=stable,
        target_honours_keys=False,
        worker="sent the request once; it was delivered twice",
        engine="no recovery was involved: the repeats came from one life",
        target=_target(facts, honours=False, sent=sent, stable=stable, exceeded=None),
        preventable_by=("worker",) if offered else ("target",),
        fix=_fix(facts, sent=sent, stable=stable, honours=False, exceeded=None)
        if offered
        else "No worker can prevent this at a service that does not recognise repeats; find the copy afterwards.",
    )


def _window_exceeded(facts: OperationFacts | None, effects: Sequence[EffectApplied]) -> bool:
    if facts is None or facts.key_window_s is None or facts.real:
        return False
    return effects[-1].clock_s - effects[0].clock_s >= facts.key_window_s


def _preventable_by(
    facts: OperationFacts | None, *, stable: bool | None, honours: bool, exceeded: bool | None
) -> tuple[str, ...]:
    if honours:
        return ("target",) if stable and not exceeded else ("worker",)
    if facts is not None and facts.honours_natural_key:
        return ("worker",)  # it recognises a repeat, and this one was made to look like something else
    if stable:
        return ("target",)
    return ("worker",) if facts is not None and facts.could_protect else ("worker", "target")


def _worker(*, sent: bool, stable: bool | None, attempts: Sequence[AttemptReceived]) -> str:
    if not sent:
        some = any(attempt.key is not None for attempt in attempts)
        return "sent an idempotency key on some attempts only" if some else "sent no idempotency key"
    if stable:
        return "sent the same idempotency key each time"
    # The digest leaves out keys that stand where the service has them, the other those that stand anywhere, unredacted.
    if min(len({attempt.payload_digest for attempt in attempts}), len({*map(_apart_from_key, attempts)})) > 1:
        return "sent another idempotency key each time, and its payload had changed as well"
    return "sent another idempotency key each time"


def _apart_from_key(attempt: AttemptReceived) -> frozenset[tuple[str, str]]:
    """Return what an attempt said, without the key, which some services want inside the body."""
    return frozenset(leaf for leaf in flatten(attempt.payload) if leaf[1] != repr(attempt.key))


def _target(
    facts: OperationFacts | None, *, honours: bool, sent: bool, stable: bool | None, exceeded: bool | None
) -> str:
    if honours:
        if not sent:
            return "honours idempotency keys and got none"
        if not stable:
            return "honours idempotency keys; different keys are different requests"
        if exceeded:
            return f"had forgotten the key: it remembers keys for {_duration(facts)}"
        return "honours idempotency keys and still applied the repeat"
    if facts is not None and facts.honours_natural_key:
        return "looks for an existing object of the same kind; the repeat did not look the same to it"
    if facts is not None and facts.real and facts.could_protect:
        return f"is a real service; its profile knows of {', '.join(facts.could_protect)}"
    if facts is not None and facts.real:
        return "is a real service, and nothing is known of a protection against repeats"
    if facts is not None and facts.could_protect:
        return f"was run without protection; it offers {', '.join(facts.could_protect)}"
    if facts is not None and facts.undescribed:
        return "was run without protection, since nobody described it; the real service may offer some"
    return "has no protection against repeats"


def _fix(facts: OperationFacts | None, *, sent: bool, stable: bool | None, honours: bool, exceeded: bool | None) -> str:
    if exceeded:
        return "Look the object up before repeating a request that is older than the key's window."
    if not honours:
        offered = ", ".join(facts.could_protect) if facts is not None else ""
        if facts is not None and facts.honours_natural_key:
            return "Send what the target recognises a repeat by exactly as before, chosen before the model speaks."
        if facts is not None and facts.real and offered:
            return (
                f"The service can protect you ({offered}): use that there, say so with `protection` of the target or "
                "--protection, and send a key chosen before the model speaks, for example from workflow id and step."
            )
        if offered and sent and stable:
            return (
                f"The key is ignored, as the service is run here. It can protect you ({offered}): turn that on "
                "(`protection` of the target in the scenario, or --protection); where the real one ignores keys as "
                "well, look for the object before creating it."
            )
        if offered:
            return (
                f"The service can protect you ({offered}): use that, with a key chosen before the model speaks, for "
                "example from workflow id and step, and turn it on here as well (`protection` of the target in the "
                "scenario, or --protection)."
            )
        if facts is not None and facts.undescribed:
            return (
                "If the real service honours idempotency keys, say so with --protection NAME=idempotency-key (or "
                "`protection` in the scenario) and send one chosen before the model speaks; else look for the object "
                "before creating it."
            )
        return "The target cannot recognise a repeat: look for the object before creating it, or ask a human."
    if not sent:
        return (
            "Choose an idempotency key before the model speaks, for example from workflow id and step, and send it "
            "with the request. A key made from the text would change between two lives."
        )
    if not stable:
        return (
            "Make the key from what does not change when the model rewords itself: workflow id and step, "
            "not the payload, the time or a random number."
        )
    return "Report this to the target's maintainers, with the two requests."


def _duration(facts: OperationFacts | None) -> str:
    window_s = facts.key_window_s if facts is not None and facts.key_window_s is not None else 0.0
    for unit_s, name in ((3600, "hour"), (60, "minute")):
        if window_s >= unit_s and window_s % unit_s == 0:
            return f"{window_s / unit_s:g} {name}{'' if window_s == unit_s else 's'}"
    return f"{window_s:g} second{'' if window_s == 1 else 's'}"
