"""Whether the run proves anything: the rules against empty success."""

from __future__ import annotations

import signal
from collections.abc import Iterator

from ackgap.judge.case import Case
from ackgap.model.event import (
    ClientGaveUp,
    EgressAttempted,
    GaveUp,
    InDoubtSurfaced,
    Injector,
    InjectorReady,
    Note,
    Settling,
    WorkFinished,
    WroteOutside,
)
from ackgap.model.manner import FaultKind
from ackgap.model.schedule import Fault
from ackgap.model.verdict import Finding, VerdictKind

__all__ = ["validity"]

_TOLD = {
    "upstream_failed": "a request got no answer of the upstream, so what it did is not known: ",
    "not_recorded": "a request was not recorded: ",
}
"""What is said before the text of a remark that is not a sentence of its own."""


def validity(case: Case) -> Iterator[Finding]:
    """Yield an `inconclusive` finding for each reason for which the run proves nothing."""
    history = case.history
    yield from _empty(case)
    for event in history.of(ClientGaveUp):
        yield _inconclusive(
            "client_gave_up",
            f"the worker closed the connection of {event.name or f'attempt {event.attempt}'} while it was parked, so "
            "parking changed "
            "what it did; give its client a longer timeout",
            event.seq,
        )
    begun = {fault.incarnation for fault in case.schedule.faults}
    for planned in case.schedule.by_life:
        yield from _struck(case, planned, again=planned.incarnation not in begun)
    for text in case.expectation.nondeterministic:
        yield _inconclusive("nondeterministic", f"two undisturbed runs differ: {text}")
    yield from _surroundings(case)
    yield from _blocked(case)
    yield from _clock(case)
    yield from _out_of_reach(case)


def _empty(case: Case) -> Iterator[Finding]:
    """Yield why there is nothing to judge. Doing nothing after a fault is a result where something was expected."""
    history = case.history
    if not history.attempts and not (history.faults and case.expectation.effects):
        yield _inconclusive("no_attempts", "no request reached any target")
    if not any(isinstance(event, WorkFinished | GaveUp | InDoubtSurfaced) for event in history):
        yield _inconclusive("not_concluded", "the run was cut off: it neither finished nor gave up")


def _surroundings(case: Case) -> Iterator[Finding]:
    """Yield what ackgap itself did to the worker besides the faults."""
    for note in case.history.of(Note):
        if note.code in ("connection_refused", "injector_trouble", "tls_refused", "unseen"):
            yield Finding(kind=None, code=note.code, summary=note.text, evidence=(note.seq,))
        elif note.code == "store_unwatched":
            yield Finding(
                kind=None,
                code="store_unwatched",
                summary=f"what the service {note.text} keeps is not looked at: a write to it that was in flight at a "
                "kill is not noticed",
                evidence=(note.seq,),
            )
        elif note.code == "target_failed":
            last_line = note.text.strip().rpartition("\n")[2]
            yield _inconclusive(note.code, f"a target failed and dropped a request unasked: {last_line}", note.seq)
        elif note.code in ("order_impossible", "toxic_failed", "unseen_process"):
            yield _inconclusive(note.code, note.text, note.seq)
        elif note.code in ("upstream_failed", "upstream_unclear", "known_before", "not_recorded"):
            yield _inconclusive(note.code, f"{_TOLD.get(note.code, '')}{note.text}", note.seq)
    yield from _assumed(case)
    for write in case.history.of(WroteOutside):
        yield _inconclusive(
            "wrote_outside",
            f"life {write.incarnation} wrote to {write.path}, which is not reset between cells; name it with --state",
            write.seq,
        )
    for attempt in case.history.of(EgressAttempted):
        if not attempt.allowed:
            yield Finding(
                kind=None,
                code="egress_refused",
                summary=f"life {attempt.incarnation} tried to reach {attempt.whom}, and was refused",
                evidence=(attempt.seq,),
            )


def _assumed(case: Case) -> Iterator[Finding]:
    """Yield a remark for each operation whose effects a real service's answers do not tell from repeats."""
    notes = [note for note in case.history.of(Note) if note.code == "effect_assumed"]
    for operation in dict.fromkeys(note.text for note in notes):
        mine = [note.seq for note in notes if note.text == operation]
        yield Finding(
            kind=None,
            code="effect_assumed",
            summary=f"{operation}: the upstream's answers name no object, so each success is assumed to be an effect, "
            "also where the service may have recognised a repeat",
            evidence=tuple(mine[:5]),
            operation=operation,
        )


def _struck(case: Case, planned: Fault, *, again: bool) -> Iterator[Finding]:
    """Yield what is wrong with a fault of the schedule. Whether it strikes *again* depends on what the worker does."""
    fault = next((event for event in case.history.faults if case.planned(event) == planned), None)
    if fault is None and again:
        life = planned.incarnation
        what = f"came to {planned.point} again" if life <= case.history.incarnations else "was needed"
        yield Finding(
            kind=None,
            code="not_reached_again",
            summary=f"life {life}, which was to be {planned.manner.words.partition(',')[0]} as well, never {what}",
        )
        return
    if fault is None:
        yield _inconclusive("not_reached", f"life {planned.incarnation} never came to {planned.point}")
        return
    if planned.manner.unsettled:
        return  # it races the worker's writes on purpose
    if fault.settling is Settling.UNSETTLED:
        yield _inconclusive(
            "unsettled",
            f"the durable store was still being written {fault.settle_s:g} s after {planned.point} was reached",
            fault.seq,
        )
    end = case.history.ends.get(planned.incarnation)
    if planned.kind is FaultKind.OOM and (end is None or not end.out_of_memory):
        yield _inconclusive("oom_did_not_land", f"the kernel killed nothing of life {planned.incarnation}", fault.seq)
    if planned.kind is not FaultKind.KILL:
        return
    killed = end is not None and (end.copied or end.signal == signal.SIGKILL)
    if end is None or not killed:
        how = "is not known to have ended" if end is None else f"ended with exit status {end.exit_code}"
        if end is not None and end.signal is not None:
            how = f"ended with signal {end.signal}"
        yield _inconclusive("kill_did_not_land", f"life {planned.incarnation} {how}, not by SIGKILL", fault.seq)
    elif end.store_digest != fault.store_digest:
        yield _inconclusive(
            "store_changed_at_death",
            f"the durable store changed between {planned.point} and death, so the cell raced a write",
            fault.seq,
            end.seq,
        )


def _blocked(case: Case) -> Iterator[Finding]:
    blocking = [event for event in case.history.passages if event.blocks_loop]
    if blocking:
        names = ", ".join(sorted({event.name for event in blocking})[:3])
        yield Finding(
            kind=None,
            code="blocks_event_loop",
            summary=f"parking at {names} also parks every other task of the same event loop: the call is synchronous",
            evidence=tuple(event.seq for event in blocking[:5]),
        )


def _clock(case: Case) -> Iterator[Finding]:
    moved = [fault for fault in case.schedule.faults if fault.down_s]
    if not moved:
        return
    later = [event for event in case.history.of(InjectorReady) if event.incarnation > moved[0].incarnation]
    later = [event for event in later if event.injector is Injector.PYTHON]  # no other one moves a clock
    if not later or not all(event.clock_moved for event in later):
        yield Finding(
            kind=None,
            code="worker_clock_unmoved",
            summary="the targets' clock moved and the worker's did not (worker clock unmoved)",
        )


def _out_of_reach(case: Case) -> Iterator[Finding]:
    """Yield what a fault could not do to a real service: it has a clock and an index of its own."""
    asked = sorted(
        {
            attempt.target
            for attempt in case.history.attempts
            if (facts := case.facts(attempt.operation)) is not None and facts.real and facts.effectful
        }
    )
    whats = (
        ("time went by", any(fault.down_s for fault in case.schedule.faults)),
        ("lookups fell behind", any(fault.manner.stale_s for fault in case.schedule.faults)),
    )
    for what, planned in whats:
        if planned and asked:
            yield _inconclusive(
                "service_unmoved",
                f"a real service stands behind {', '.join(asked)}, and for it no {what}: the fault did not take effect",
            )


def _inconclusive(code: str, summary: str, *evidence: int) -> Finding:
    return Finding(kind=VerdictKind.INCONCLUSIVE, code=code, summary=summary, evidence=evidence)
