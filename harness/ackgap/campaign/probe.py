"""From probe runs to the yardstick of a variant, and every reason not to trust a probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ackgap.errors import AckgapError, ProbeFailed
from ackgap.execute.order import Order
from ackgap.model.event import EgressAttempted, GaveUp, IncarnationEnded, InDoubtSurfaced, Note, WroteOutside
from ackgap.model.expectation import Expectation, OperationFacts
from ackgap.model.history import History
from ackgap.model.matrix import Variant
from ackgap.plan.census import take_census
from ackgap.scenario.scenario import Scenario
from ackgap.target.profiles.facts import facts, learned_facts
from ackgap.target.profiles.profile import Profile

_UPSTREAM_NOTES = {
    "upstream_failed": "see that the upstream runs and can be reached from this machine",
    "upstream_unclear": "see why the upstream fails; the worker's request may be at fault",
    "not_recorded": 'record again with --record, or allow requests that differ with replay_match = "path"',
}

__all__ = ["check_probe", "check_state", "expectation_of", "yardstick"]


def yardstick(order: Order, first: History, second: History, *, isolated: bool) -> Expectation:
    """Return what the cells of a variant are measured by, once its two probes have been looked at.

    Args:
        order: Whose scenario, variant and profiles.
        first: The undisturbed run.
        second: Another one, with a drifted model.
        isolated: The worker had a network of its own.

    Raises:
        ProbeFailed: Nothing could be concluded from them.
    """
    check_state(first, second, order.scenario, order.variant)
    for history in (first, second):
        check_probe(history, order.scenario, order.variant, isolated=isolated)
    return expectation_of(order.scenario, order.variant, order.profiles, first, second)


def expectation_of(
    scenario: Scenario, variant: Variant, profiles: Mapping[str, Profile], first: History, second: History
) -> Expectation:
    """Take the census of a variant from its two probes."""
    known: dict[str, OperationFacts] = {}
    for spec in scenario.targets_of(variant):
        profile, protection = profiles[spec.name], spec.protection
        known |= facts(profile, spec.name, protection, spec.reads, spec.settings)
        if not profile.described:
            for operation in {attempt.operation for attempt in first.attempts if attempt.target == spec.name}:
                known[operation] = learned_facts(profile, spec.name, protection, spec.reads, operation)
        if spec.upstream is not None or spec.replay is not None:
            # What nobody knows of the service is not made up here either: the service itself decides.
            mine = {name: each for name, each in known.items() if name.startswith(f"{spec.name}.")}
            known |= {name: replace(each, real=True, unknown=()) for name, each in mine.items()}
    return take_census(
        first,
        second,
        known,
        declared_counts=scenario.declared_counts,
        approvals=scenario.approvals,
        orders=scenario.orders,
        proofs=tuple(proof for value in scenario.values_of(variant) for proof in value.proofs),
    )


def check_state(first: History, second: History, scenario: Scenario, variant: Variant) -> None:
    """Refuse probes of which one has left something to the other.

    Raises:
        ProbeFailed: Names what was written outside the cell, or says that one run found what the other had done.
    """
    where = f"{scenario.source or scenario.name}, variant {variant}"
    outside = dict.fromkeys(event.path for history in (first, second) for event in history.of(WroteOutside))
    if outside:
        raise ProbeFailed(
            f"the worker wrote outside its directory: {', '.join(list(outside)[:3])}",
            where=where,
            next_step="name that path with --state, so that it is reset before each cell, or use --reset; "
            "harmless paths can be listed under worker.allow_write",
        )
    if bool(first.attempts) != bool(second.attempts):
        raise ProbeFailed(
            "of two undisturbed runs one did the work and the other found nothing to do: state survives between them",
            where=where,
            next_step="say where the worker keeps it with --state PATH, or how to clear it with --reset COMMAND",
        )


def check_probe(history: History, scenario: Scenario, variant: Variant, *, isolated: bool) -> None:
    """Refuse a probe from which nothing could be concluded.

    Raises:
        ProbeFailed: Says what the undisturbed run did, and what to do about it.
    """
    where = f"{scenario.source or scenario.name}, variant {variant}"
    refused = {event.host: event.whom for event in history.of(EgressAttempted) if not event.allowed}
    elsewhere = [host for host in refused if host.rpartition(":")[0] in scenario.hosts]
    end = next(iter(history.of(IncarnationEnded)), None)
    said = _last_lines(end)
    problem: AckgapError | None = None
    untrusted = [note for note in history.of(Note) if note.code == "tls_refused"]
    failed = [note for note in history.of(Note) if note.code in _UPSTREAM_NOTES]
    called = {attempt.target for attempt in history.attempts}
    uncalled = any(target.hosts and target.name not in called for target in scenario.targets)
    if untrusted and (history.of(GaveUp) or uncalled):
        problem = ProbeFailed(
            f"{untrusted[0].text}{said}",
            where=where,
            next_step="have that client trust the run's certificate authority, which is in the file that SSL_CERT_FILE "
            "names (docs/network-and-containers.md says which clients do so by themselves), or give the worker a "
            "target's address: --env KEY={NAME.url}",
        )
    elif refused and (history.of(GaveUp) or not history.attempts or (elsewhere and uncalled)):
        problem = ProbeFailed(
            f"the worker tried to reach {'; '.join(whom for _, whom in sorted(refused.items()))}; it was refused, and "
            f"{'the run failed' if history.of(GaveUp) else 'a target was not called at all'}{said}",
            where=where,
            next_step=_way_to(sorted(refused), elsewhere, scenario),
        )
    elif failed and history.of(GaveUp):
        problem = ProbeFailed(
            f"the undisturbed run failed after a target could not answer: {failed[0].text}{said}",
            where=where,
            next_step=_UPSTREAM_NOTES[failed[0].code],
        )
    elif history.of(InDoubtSurfaced):
        problem = ProbeFailed(
            "the worker said that it is in doubt although nothing disturbed it",
            where=f"{where}, worker.in_doubt_when",
            next_step="make the expression match only what the worker prints when it gives up",
        )
    elif history.of(GaveUp):
        problem = _limited(history, scenario, where, said)
        problem = problem or _gave_up(history, scenario, where, said, isolated=isolated)
    elif not history.attempts:
        problem = ProbeFailed(
            f"the worker exited with status 0 and no request of it reached a target{said}",
            where=where,
            next_step="check that it reads a target's address from the environment: --env KEY={NAME.url}",
        )
    elif not history.passages:
        problem = ProbeFailed(
            "the worker only read: no request of it has an effect or costs money, so there is nothing to test",
            where=where,
            next_step="check the paths and methods it uses against `ackgap targets NAME`",
        )
    if problem is not None:
        raise problem


def _way_to(refused: Sequence[str], elsewhere: Sequence[str], scenario: Scenario) -> str:
    if elsewhere:
        return (
            "have it call the host at port 443 (https) or 80 (http), or tell it the target's address, which has a port "
            "of its own: --env KEY={NAME.url}"
        )
    if any(host in scenario.hosts for host in refused):
        return (
            "its client passes the proxy by that HTTPS_PROXY names; have it use that (trust_env=True, for aiohttp), or "
            "run in a network of its own (--network isolated), where no proxy is needed"
        )
    return (
        "give it a target's address instead (--env KEY={NAME.url}), have a target stand for the host ([targets.NAME] "
        "hosts, or --host HOST=NAME), or allow the host with --allow-host"
    )


def _gave_up(history: History, scenario: Scenario, where: str, said: str, *, isolated: bool) -> ProbeFailed:
    event, end = history.of(GaveUp)[0], next(iter(history.of(IncarnationEnded)), None)
    hint = "; it ran without a network except its targets, so if it needs a server on this machine use --network host"
    if event.reason == "waiting":
        return ProbeFailed(
            f"the undisturbed run did not end: {event.text}",
            where=f"{where}, limits.life_s",
            next_step="raise the limit, or say how to tell that it is done with --finished-when" + hint * isolated,
        )
    if event.reason == "client_failed":
        return ProbeFailed(
            f"the work did not come to its end in an undisturbed run: {event.text}{said}",
            where=f"{where}, [client]",
            next_step="run worker and client by hand first; a probe has to succeed" + hint * isolated,
        )
    how = "a signal" if end is None or end.exit_code is None else f"exit status {end.exit_code}"
    return ProbeFailed(
        f"the worker ended with {how} in an undisturbed run{said}",
        where=where,
        next_step="run the command by hand first; a probe has to succeed" + hint * isolated + _uncounted(scenario),
    )


def _uncounted(scenario: Scenario) -> str:
    """Return a hint at a limit of which nobody counts how often it strikes: the engine does not tell."""
    most = scenario.limits.processes
    if most is None or scenario.worker.container is None:
        return ""
    return f"; limits.processes allows a container {most} processes and threads: where that is too few, raise it"


def _limited(history: History, scenario: Scenario, where: str, said: str) -> ProbeFailed | None:
    """Return what a run failed of that was refused memory or processes; None where it was refused neither."""
    limits = scenario.limits
    memory = any(end.out_of_memory for end in history.of(IncarnationEnded))
    if memory and limits.memory_bytes is None:
        return ProbeFailed(
            f"the kernel killed the worker in an undisturbed run, as this machine had no memory left{said}",
            where=where,
            next_step="run fewer cells at once (--jobs), or give the machine, or what confines ackgap, more memory",
        )
    if memory:
        return ProbeFailed(
            f"the kernel killed the worker in an undisturbed run: it needs more memory than the {limits.memory_bytes} "
            f"bytes that it may have{said}",
            where=f"{where}, limits.memory_bytes",
            next_step="raise that limit, or leave it out; a probe has to succeed",
        )
    refused = [note.text for note in history.of(Note) if note.code == "processes_refused"]
    if refused:
        return ProbeFailed(
            f"the undisturbed run failed: {refused[0]}{said}",
            where=f"{where}, limits.processes",
            next_step="raise that limit, or leave it out; threads count as well, and a probe has to succeed",
        )
    return None


def _last_lines(end: IncarnationEnded | None) -> str:
    lines = end.output_tail.strip().splitlines()[-6:] if end is not None else []
    return "; it printed:\n" + "\n".join(f"    {line[:300]}" for line in lines) if lines else ""
