"""Stuck and in doubt: the work did not finish, and whether the worker had reason to say so."""

from __future__ import annotations

from collections.abc import Iterator

from ackgap.judge.case import Case
from ackgap.model.boundary import Phase
from ackgap.model.event import FaultInjected, GaveUp, InDoubtSurfaced
from ackgap.model.verdict import Attribution, Finding, VerdictKind

__all__ = ["progress"]


def progress(case: Case) -> Iterator[Finding]:
    """Yield why the work did not finish, if it did not."""
    history = case.history
    for doubt in history.of(InDoubtSurfaced):
        unresolved = _unresolved(case)
        if unresolved:
            yield Finding(
                kind=VerdictKind.IN_DOUBT,
                code="in_doubt",
                summary=f"The worker stopped and said that it does not know whether {unresolved} happened",
                evidence=(doubt.seq,),
                operation=unresolved,
                detail={"text": doubt.text[:500]},
                attribution=Attribution(
                    worker="surfaced the ambiguity instead of guessing",
                    engine="cannot know",
                    target="could be asked, if it can be searched",
                    preventable_by=("target",),
                    fix="Look the object up at the target, or hand the question to a human.",
                ),
            )
        else:
            yield Finding(
                kind=VerdictKind.STUCK,
                code="doubt_without_cause",
                summary="The worker stopped in doubt although no call of its was unresolved",
                evidence=(doubt.seq,),
                detail={"text": doubt.text[:500]},
            )
    for event in history.of(GaveUp):
        there = "; every expected action is there" if _complete(case) else ""
        yield Finding(
            kind=VerdictKind.STUCK,
            code=f"stuck_{event.reason}",
            summary=f"The work did not finish{there}: {event.text}",
            evidence=(event.seq,),
            detail={"reason": event.reason, "complete": bool(there)},
            attribution=Attribution(
                worker="did not get through its recovery",
                engine="did not bring the work to an end",
                target="took no part",
                preventable_by=("worker", "engine"),
                fix="Read the last lines of the output in the cell's history; make the first thing that a "
                "restarted worker does safe to repeat.",
            ),
        )
    yield from _unclean(case)


def _unclean(case: Case) -> Iterator[Finding]:
    """Yield a remark where the work finished, and a life before that had ended by itself with an error."""
    failed = [
        end for end in case.history.ends.values() if not end.by_harness and (end.exit_code or end.signal is not None)
    ]
    if failed and case.history.finished:
        how = f"exit status {failed[0].exit_code}" if failed[0].exit_code else f"signal {failed[0].signal}"
        yield Finding(
            kind=None,
            code="unclean_exit",
            summary=f"Life {failed[0].incarnation} ended by itself with {how}; the work finished all the same",
            evidence=tuple(end.seq for end in failed),
        )


def _unresolved(case: Case) -> str:
    """Return the operation of an effectful call that was under way at a fault and had not been recorded.

    A call is under way from the moment at which it is announced. A worker that has durably written down that it is
    about to call, and is killed right then, cannot tell either: the point that follows in the undisturbed run is the
    call itself.
    """
    for fault in case.history.faults:
        for attempt in case.unrecorded(fault):
            if attempt.effectful:
                return attempt.operation
        announced = _announced_only(case, fault)
        if announced:
            return announced
        point = case.point_of(fault)
        following = case.next_point_in_probe(point) if point is not None and point.phase is Phase.COMMITTED else None
        if following is not None and following.phase in (Phase.SENDING, Phase.RECEIVED):
            facts = case.facts(following.name)
            if facts is not None and facts.effectful:
                return following.name
    return ""


def _announced_only(case: Case, fault: FaultInjected) -> str:
    """Return the operation of a call that was announced and whose request the target never saw."""
    for passage in case.history.passages:
        if (
            passage.incarnation == fault.incarnation
            and passage.phase is Phase.SENDING
            and passage.seq < fault.seq
            and not any(
                attempt.incarnation == fault.incarnation
                and attempt.operation == passage.name
                and attempt.occurrence == passage.occurrence
                for attempt in case.history.attempts
            )
        ):
            facts = case.facts(passage.name)
            if facts is not None and facts.effectful:
                return passage.name
    return ""


def _complete(case: Case) -> bool:
    """Whether every expected action happened."""
    return bool(case.expected_counts) and all(
        len(case.effects_by_identity.get(group, [])) >= count for group, count in case.expected_counts.items()
    )
