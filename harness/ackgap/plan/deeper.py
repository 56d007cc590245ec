"""Deeper: what else can be done to a recovery, at the points that this very recovery passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ackgap.model.boundary import CrashPoint
from ackgap.model.history import History
from ackgap.model.manner import FaultKind
from ackgap.model.schedule import Fault, Schedule
from ackgap.plan.exhaustive import matches_any

__all__ = ["faults_in_recovery", "goes_deeper"]


def goes_deeper(schedule: Schedule, depth: int) -> bool:
    """Whether a recovery can be struck again within a depth: the last fault is a death, carried out in one run.

    A paused life goes on beside its successor, and a fault of a target leaves the worker alive: neither is followed by
    a recovery that begins from durable state alone. What races the worker has another recovery in each run.
    """
    if not schedule.faults or schedule.depth >= depth or schedule.repeats > 1:
        return False
    return schedule.faults[-1].kind in (FaultKind.KILL, FaultKind.TERM, FaultKind.OOM)


def faults_in_recovery(schedule: Schedule, history: History, globs: Sequence[str] = ()) -> tuple[Fault, ...]:
    """Return what strikes the recovery after a schedule's last death, once for each point that it passed.

    Args:
        schedule: One that goes deeper.
        history: Of its run.
        globs: Only points that one of them matches; none means all.

    Returns:
        The same as the last fault does, in the order of the run; nothing where that fault did not strike, or no life
        came after it.
    """
    last = schedule.by_life[-1]
    if not any(event.incarnation == last.incarnation for event in history.faults):
        return ()
    before = _last_beside(schedule, last.incarnation)
    heirs = range(before + 1, before + 1 + last.manner.heirs)
    manner = replace(last.manner, lives=1)
    passed = dict.fromkeys(
        (event.incarnation, event.point_text)
        for event in history.passages
        if event.incarnation in heirs and matches_any(event.point_text, globs)
    )
    return tuple(
        Fault(point=CrashPoint.parse(text), manner=manner, incarnation=life)
        for life, text in passed
        if manner.strikes_at(CrashPoint.parse(text))
    )


def _last_beside(schedule: Schedule, life: int) -> int:
    """Return the last of the lives that began at once with one: those that follow it begin after all of them."""
    groups = (range(fault.incarnation + 1, fault.incarnation + 1 + fault.manner.heirs) for fault in schedule.by_life)
    return max((group[-1] for group in groups if life in group), default=life)
