"""Stuck and in doubt: the work did not finish, and whether the worker had reason to say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ackgap.judge.case import Case
from ackgap.judge.loops import loop_of
from ackgap.model.boundary import Phase
from ackgap.model.event import FaultInjected, GaveUp, InDoubtSurfaced
from ackgap.model.verdict import Attribution, Finding, VerdictKind

__all__ = ["progress"]


def progress(case: Case) -> Iterator[Finding]:
    """Yield why the work did not finish, if it did not."""
    history = case.history
    for doubt in history.of(InDoubtSurfaced):
        unresolved = _unresolved(case, doubt)
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
        yield _given_up(case, event)
    yield from _unclean(case)


def _given_up(case: Case, event: GaveUp) -> Finding:
    """Return why the work did not finish: what its lives had in common, else what was seen from outside."""
    there = "; every expected action is there" if _complete(case) else ""
    loop = loop_of(case, event.reason)
    if loop is None:
        return Finding(
            kind=VerdictKind.STUCK,
            code=f"stuck_{event.reason}",
            summary=f"The work did not finish{there}: {event.text}",
            evidence=(event.seq,),
            detail={"reason": event.reason, "complete": bool(there)},
            attribution=_of_stuck(case, event),
        )
    ends = tuple(case.history.ends[life].seq for life in loop.lives)
    return Finding(
        kind=VerdictKind.STUCK,
        code=loop.code,
        summary=f"The work did not finish{there}: {loop.summary}",
        evidence=(*ends, event.seq),
        detail={"reason": event.reason, "complete": bool(there), "lives": list(loop.lives)},
        attribution=_told_of_memory(case, replace(_OF_LOOPS[loop.code], target=_last_refusal(case))),
    )


_OF_LOOPS = {
    "poison": Attribution(
        worker="died each time at the same place",
        engine="gave the same work to every new life",
        preventable_by=("worker", "engine"),
        fix="Count the attempts durably before the work is touched, and put it aside for a person after a few "
        "(a dead letter), so that it stops nothing else. Then read the last lines of the output.",
    ),
    "slow_recovery": Attribution(
        worker="got further with each life, and to the end with none",
        engine="did not bring the work to an end",
        preventable_by=("worker", "engine"),
        fix="Raise `limits.restarts` or `limits.life_s` and run the cell again, to see whether it is only slow. "
        "What ends each life has to go all the same.",
    ),
}
_FIX_RECOVERY = (
    "Read the last lines of the output in the cell's history; make the first thing that a restarted worker does safe "
    "to repeat."
)
_STUCK_ENGINES = {
    "engine_failed": (
        "has given the work up, and does not try again by itself",
        "Resume or fork what has failed, or let the step be retried before the engine counts the work as failed.",
    ),
    "engine_unowned": (
        "holds work that nothing which runs will take up",
        "Start what the work belongs to, or hand it over: keep the version, or resume and fork it by hand.",
    ),
    "engine_waiting": (
        "waits for somebody outside, or for a time to come",
        "Give it what it waits for, or let the worker ask again when it is restarted.",
    ),
}


def _of_stuck(case: Case, event: GaveUp) -> Attribution:
    engine, fix = _STUCK_ENGINES.get(event.reason, ("did not bring the work to an end", _FIX_RECOVERY))
    found = Attribution(
        worker="did not get through its recovery",
        engine=engine,
        target=_last_refusal(case),
        preventable_by=("worker", "engine"),
        fix=fix,
    )
    return _told_of_memory(case, found)


def _told_of_memory(case: Case, found: Attribution) -> Attribution:
    """Return an attribution that says so where the kernel killed the last life for want of memory."""
    end = case.history.ends.get(case.history.incarnations)
    if end is None or not end.out_of_memory:
        return found
    return replace(
        found,
        worker="was killed by the kernel, which had no memory left for it",
        fix="Give it more memory (`limits.memory_bytes`), or let a restarted worker do its work in smaller pieces.",
    )


def _last_refusal(case: Case) -> str:
    """Return what the target of the last life's last call had to do with its end."""
    attempts = [attempt for attempt in case.history.attempts if attempt.incarnation == case.history.incarnations]
    answer = case.history.answers.get(attempts[-1].attempt) if attempts else None
    if answer is None or answer.status < 400:
        return "took no part"
    return f"answered the last call, {attempts[-1].operation}, with {answer.status}"


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


def _unresolved(case: Case, doubt: InDoubtSurfaced) -> str:
    """Return the operation of an effectful call that was under way at a fault and had not been recorded.

    A call is under way from the moment at which it is announced. A worker that has durably written down that it is
    about to call, and is killed right then, cannot tell either: the point that follows in the undisturbed run is the
    call itself.
    """
    for fault in case.history.faults:
        planned = case.planned(fault)
        if planned is not None and not planned.kind.strikes_worker:
            open_call = _left_open(case, fault, doubt)
            if open_call:
                return open_call
            continue
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


def _left_open(case: Case, fault: FaultInjected, doubt: InDoubtSurfaced) -> str:
    """Return the operation of a call whose answer a fault took, and which nothing had cleared up until the doubt.

    An error that says that nothing was done is an answer, and so is what the same request heard when it was repeated.
    """
    history = case.history
    unheard = {attempt.attempt for attempt in case.unrecorded(fault)} if case.disturbs_network(fault) else set()
    for attempt in case.unrecorded(fault):
        answer = history.answers.get(attempt.attempt) if attempt.attempt not in unheard else None
        if not attempt.effectful or (answer is not None and answer.status < 500):
            continue
        repeats = (
            other
            for other in history.attempts
            if fault.seq < other.seq < doubt.seq
            and other.attempt not in unheard
            and other.operation == attempt.operation
            and (other.key == attempt.key if attempt.key else other.payload_digest == attempt.payload_digest)
        )
        heard = (history.answers.get(other.attempt) for other in repeats)
        if not any(answer is not None and answer.status < 400 and answer.seq < doubt.seq for answer in heard):
            return attempt.operation
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
