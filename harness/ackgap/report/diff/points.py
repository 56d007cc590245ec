"""Crash points of two runs compared: which are new, which are gone, and which only stand elsewhere.

A name such as `langgraph.put.step3` counts steps, and `tickets.create#2` counts calls. Where a step is added or removed
before them, the same point has another number: it moved, and did not vanish.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from ackgap.model.boundary import CrashPoint
from ackgap.model.schedule import Schedule
from ackgap.plan.rows import merged_order
from ackgap.report.info import RunInfo

__all__ = ["PointsCompared", "compare_points"]

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsCompared:
    """The points that undisturbed runs came to, before and now.

    Attributes:
        appeared: Points of the new run that the old one does not have, under whatever number.
        vanished: Points of the old run that the new one does not have, under whatever number.
        renumbered: Boundary of the old run -> boundary of the new one, where neither run has both and their places in
            the order say that they are the same.
        shifted: The same where one of the two names is there in both runs too, so that it is not certain which of
            them is meant.
        reordered: Boundaries of both runs that stand elsewhere in the order.
    """

    appeared: tuple[str, ...] = ()
    vanished: tuple[str, ...] = ()
    renumbered: Mapping[str, str] = field(default_factory=dict)
    shifted: Mapping[str, str] = field(default_factory=dict)
    reordered: tuple[str, ...] = ()

    def as_new(self, schedule: Schedule) -> Schedule:
        """Return a schedule of the old run with the numbers that its points have in the new one."""
        if not self.renumbered:
            return schedule
        return Schedule(
            faults=tuple(
                replace(
                    fault,
                    point=CrashPoint.parse(_renumbered(str(fault.point), self.renumbered)),
                    manner=replace(fault.manner, until=self.renumbered.get(fault.manner.until, fault.manner.until)),
                )
                for fault in schedule.faults
            )
        )


def compare_points(old: RunInfo, new: RunInfo) -> PointsCompared:
    """Compare what the undisturbed runs of two runs came to, over all of their variants."""
    before, after = (merged_order(known.points for known in info.expectations.values()) for info in (old, new))
    ours, theirs = _boundaries(before), _boundaries(after)
    pairs = _aligned(ours, theirs)
    certain = {one: other for one, other in pairs.items() if one not in theirs and other not in ours}
    now = [_renumbered(point, certain) for point in before]
    there, known = set(after), set(now)
    return PointsCompared(
        appeared=tuple(point for point in after if point not in known),
        vanished=tuple(point for point, renumbered in zip(before, now, strict=True) if renumbered not in there),
        renumbered=certain,
        shifted={one: other for one, other in pairs.items() if one not in certain},
        reordered=_reordered(ours, theirs),
    )


def _renumbered(point: str, numbers: Mapping[str, str]) -> str:
    boundary, colon, phase = point.rpartition(":")
    return f"{numbers.get(boundary, boundary)}{colon}{phase}"


def _boundaries(points: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(CrashPoint.parse(point).boundary) for point in points))


def _aligned(ours: Sequence[str], theirs: Sequence[str]) -> dict[str, str]:
    """Return the boundaries that are the same by all but their numbers and by their place, and differ in numbers."""
    if set(ours) == set(theirs):
        return {}
    one, other = ([_NUMBER.sub("0", name) for name in names] for names in (ours, theirs))
    matcher = SequenceMatcher(a=one, b=other, autojunk=False)
    pairs = {
        ours[block.a + step]: theirs[block.b + step]
        for block in matcher.get_matching_blocks()
        for step in range(block.size)
    }
    return {before: now for before, now in pairs.items() if before != now}


def _reordered(ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    """Return the fewest boundaries of both that have to be moved to come from one order to the other."""
    place = {name: number for number, name in enumerate(theirs)}
    common = [name for name in ours if name in place]
    kept = _longest_rising([place[name] for name in common])
    return tuple(name for number, name in enumerate(common) if number not in kept)


def _longest_rising(numbers: Sequence[int]) -> frozenset[int]:
    """Return the indices of a longest rising subsequence."""
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, number in enumerate(numbers):
        length = bisect_left(tails, number)
        before.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(number)
            ends.append(index)
        else:
            tails[length] = number
            ends[length] = index
    found: set[int] = set()
    index = ends[-1] if ends else -1
    while index >= 0:
        found.add(index)
        index = before[index]
    return frozenset(found)
