"""The order of rows: one sequence that agrees with the order of points in every variant, as far as they agree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ackgap.model.manner import Manner
from ackgap.model.schedule import Schedule

__all__ = ["merged_order", "row_order"]


def row_order(
    schedules: Iterable[Schedule], points: Sequence[str], manners: Sequence[Manner], named: Sequence[Schedule] = ()
) -> tuple[Schedule, ...]:
    """Return schedules in an order that does not depend on which of them was run first.

    One kill a point first, in the order of points; then what was asked for by name, as it was; then one fault of
    another kind a point; then what goes on from each of these.

    Args:
        schedules: In any order.
        points: In the order of rows.
        manners: What is done at points, in the order in which it was chosen.
        named: Schedules that were asked for by name.
    """
    place = {point: number for number, point in enumerate(points)}
    rank = {manner: number for number, manner in enumerate(manners)}

    def key(schedule: Schedule) -> tuple[object, ...]:
        if schedule.label in place:
            return (0, place[schedule.label])
        if schedule in named:
            return (1, named.index(schedule))
        steps = tuple(
            (
                fault.incarnation,
                rank.get(fault.manner, len(rank)),
                place.get(str(fault.point), len(place)),
                str(fault),
            )
            for fault in schedule.faults
        )
        return (2, len(schedule.faults), steps)

    return tuple(sorted(schedules, key=key))


def merged_order(sequences: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return every item once; what a sequence adds stands behind what it stands behind there."""
    merged: list[str] = []
    for sequence in sequences:
        place = 0
        for item in sequence:
            if item in merged:
                place = max(place, merged.index(item) + 1)
            else:
                merged.insert(place, item)
                place += 1
    return tuple(merged)
