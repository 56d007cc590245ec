"""Accounts: how many schedules the bounds of a run hold, and what became of each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ackgap.campaign.exploration import Exploration, Fate
from ackgap.campaign.selection import Selection
from ackgap.model.boundary import CrashPoint
from ackgap.model.bounds import Bounds
from ackgap.model.matrix import Variant
from ackgap.model.schedule import Schedule
from ackgap.plan.exhaustive import matches_any

__all__ = ["bounds_of", "exploration_notes"]


def bounds_of(
    selection: Selection,
    variants: Sequence[Variant],
    explored: Mapping[Variant, Exploration],
    *,
    complete: bool,
    counts_in_vain: bool = True,
) -> Bounds:
    """Return what a run was to try, and what became of it.

    A schedule that one variant has and another has not could not happen in the other, once that is known: its probe,
    or the recovery that the schedule goes on from, does not come to the point. Before, it is left.

    Args:
        selection: Within which bounds.
        variants: All of the run's.
        explored: Those of them that have been probed.
        complete: The run was carried through.
        counts_in_vain: Count also what cannot be done at a point; of the parts of a run, one does that.
    """
    fates = Counter(fate for exploration in explored.values() for fate in exploration.fates.values())
    impossible, left, unexplored = fates[Fate.IMPOSSIBLE], fates[Fate.WAITING], 0
    named = frozenset(selection.schedules)
    rows = dict.fromkeys(schedule for exploration in explored.values() for schedule in exploration.fates)
    for variant in variants:
        exploration = explored.get(variant)
        if exploration is None:
            left += len({*rows, *named})
            continue
        missing = [row for row in rows if row not in exploration.fates]
        not_gone_into = {row for row in missing if _is_unexplored(row, exploration)}
        unexplored += len(not_gone_into)
        missing = [row for row in missing if row not in not_gone_into]
        known = len(missing) if complete else sum(_cannot(row, exploration) for row in missing)
        impossible += known + (_struck_in_vain(selection, exploration) if counts_in_vain else 0)
        left += len(missing) - known
    return Bounds(
        depth=selection.depth,
        faults=tuple(manner.words for manner in selection.manners),
        points=selection.points,
        variants=len(variants),
        orders=selection.orders,
        named=len(named),
        ran=fates[Fate.RAN],
        equal=fates[Fate.EQUAL],
        impossible=impossible,
        left=left,
        unexplored=unexplored,
        audited=sum(exploration.audited for exploration in explored.values()),
    )


def exploration_notes(
    selection: Selection, bounds: Bounds, explored: Mapping[Variant, Exploration], why_not_pruned: str
) -> Iterator[str]:
    """Yield what a reader should know of how a run explored: what pruning saved, and what was not gone into."""
    cells = bounds.ran + bounds.equal
    in_vain = sum(exploration.checked_in_vain for exploration in explored.values())
    if selection.prune and bounds.equal:
        found = "and agree" if not in_vain else f"and agree, but for {in_vain} that prove nothing"
        yield (
            f"Pruned: {bounds.equal} of {cells} cells lead to the same crash state as another and were not run "
            f"({bounds.equal / cells:.0%} saved); {bounds.audited} more that do were run all the same, {found}."
        )
    elif selection.prune:
        why = why_not_pruned or "no two crash points are known to lead to the same crash state"
        audited = f"; {bounds.audited} that look equal were run to check that" if bounds.audited else ""
        yield f"Pruning saved nothing: {why}{audited}."
    unexplored = sum(len(exploration.unexplored) for exploration in explored.values())
    if unexplored:
        yield (
            f"The recoveries of {unexplored} cells were not struck again, since those cells themselves prove nothing."
        )


def _is_unexplored(row: Schedule, exploration: Exploration) -> bool:
    """Whether a schedule goes on from one whose recovery was not struck again."""
    return any(Schedule(faults=row.faults[:length]) in exploration.unexplored for length in range(1, len(row.faults)))


def _cannot(row: Schedule, exploration: Exploration) -> bool:
    """Whether a schedule that was not planned in a variant cannot happen there, or would only have come later."""
    while row.faults and row.faults[-1].incarnation > 1:
        row = Schedule(faults=row.faults[:-1])
        if row in exploration.fates:
            return exploration.fates[row] is not Fate.WAITING
    return True


def _struck_in_vain(selection: Selection, exploration: Exploration) -> int:
    """Return at how many points something was to be done that cannot be done there."""
    points = [CrashPoint.parse(point) for point in exploration.points if matches_any(point, selection.points)]
    return sum(not manner.strikes_at(point) for manner in selection.manners for point in points)
