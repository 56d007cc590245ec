"""Sample: which of the cells that need no run are run all the same, and whether they show what they should."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Sequence

from ackgap.model.matrix import CellResult
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import VerdictKind

__all__ = ["Sample", "disagreement"]

_ONE_IN = 20


class Sample:
    """About one in twenty of those that come, and at least one where any comes after the first choice is made.

    A checksum of the name decides, so that neither first nor last points are preferred, and that the order in which
    cells finish changes nothing.

    Attributes:
        chosen: How many were chosen by now.
    """

    def __init__(self) -> None:
        self.chosen = 0
        self._always: Schedule | None = None

    def expect(self, schedules: Collection[Schedule]) -> None:
        """Say which will come for certain; one of them is chosen."""
        if schedules and self._always is None:
            self._always = min(schedules, key=_mixed)

    def missed(self, schedules: Collection[Schedule]) -> None:
        """Say which are run for another reason; if the chosen one is among them, the next that comes is chosen."""
        if self._always in schedules:
            self._always = None

    def of(self, schedules: Sequence[Schedule]) -> frozenset[Schedule]:
        """Return those of some more schedules that are to be run."""
        chosen = {schedule for schedule in schedules if _mixed(schedule)[0] % _ONE_IN == 0}
        chosen |= {schedule for schedule in schedules if schedule == self._always}
        if not chosen and self._always is None and schedules:  # nobody could tell beforehand that any would come
            self._always = min(schedules, key=_mixed)
            chosen = {self._always}
        self.chosen += len(chosen)
        return frozenset(chosen)


def _mixed(schedule: Schedule) -> tuple[int, str]:
    return zlib.crc32(str(schedule).encode()), str(schedule)


def disagreement(leader: CellResult, checked: CellResult) -> str:
    """Return how two cells differ that lead to the same crash state; empty where they do not, or one proves nothing."""
    kinds = (leader.verdict.kind, checked.verdict.kind)
    if VerdictKind.INCONCLUSIVE in kinds:
        return ""
    if kinds[0] is kinds[1] and leader.effects == checked.effects:
        return ""
    shown = [f"{result.cell} is {result.verdict.kind.words} ({_counted(result)})" for result in (leader, checked)]
    return " and ".join(shown)


def _counted(result: CellResult) -> str:
    return ", ".join(f"{count} of {name}" for name, count in sorted(result.effects.items())) or "no effect"
