"""Both orders: durable writes that run beside each other, and the schedules that let them land the other way round."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ackgap.model.boundary import CrashPoint, Phase
from ackgap.model.history import History
from ackgap.model.manner import PLAIN_KILL, FaultKind, Manner
from ackgap.model.schedule import Fault, Schedule
from ackgap.plan.exhaustive import matches_any

__all__ = ["in_usual_order", "other_orders", "pairs_beside"]


def pairs_beside(history: History) -> tuple[tuple[str, str], ...]:
    """Return each pair of durable writes, `<name>#<n>`, of which the second was asked for before the first had landed.

    Only of the first life, in the order of the run.
    """
    return tuple(
        dict.fromkeys(
            (before, str(event.boundary))
            for event in history.passages
            if event.incarnation == 1 and event.phase is Phase.COMMITTING
            for before in event.beside
        )
    )


def other_orders(history: History, points: Collection[str], globs: Sequence[str] = ()) -> tuple[Schedule, ...]:
    """Return the schedules that hold the first write of each pair until the second has landed, and kill then.

    Args:
        history: Of an undisturbed run.
        points: Those that every undisturbed run passes.
        globs: Only kills at points that one of them matches; none means all.

    Returns:
        Two for each pair: killed as soon as the second has landed, and as soon as the first has landed after it.
    """
    found: list[Schedule] = []
    for first, second in pairs_beside(history):
        ends = [f"{boundary}:{Phase.COMMITTED}" for boundary in (second, first)]
        if not all(end in points for end in ends):
            continue
        held = Fault(
            point=CrashPoint.parse(f"{first}:{Phase.COMMITTING}"),
            manner=Manner(kind=FaultKind.HOLD, until=second),
        )
        found += [
            Schedule(faults=(held, Fault(point=CrashPoint.parse(end), manner=PLAIN_KILL)))
            for end in ends
            if matches_any(end, globs)
        ]
    return tuple(found)


def in_usual_order(schedule: Schedule) -> Schedule | None:
    """Return the schedule without the write that it holds: the same kill in the worker's own order.

    None where it does not hold one write and then kill.
    """
    if len(schedule.faults) != 2 or schedule.faults[0].kind is not FaultKind.HOLD:
        return None
    struck = schedule.faults[1]
    return Schedule(faults=(struck,)) if struck.kind.strikes_worker else None
