"""Sample: which of the cells that need no run are run all the same, and whether they show what they should."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from ackgap.model.matrix import CellResult
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import VerdictKind

__all__ = ["Sample", "disagreement"]

_ONE_IN = 20


class Sample:
    """At least one in twenty of those that come, and at least one where any comes; the same in every run.

    Attributes:
        chosen: How many were chosen by now.
    """

    def __init__(self) -> None:
        self.chosen = 0
        self._came = 0

    def of(self, schedules: Sequence[Schedule]) -> frozenset[Schedule]:
        """Return those of some more schedules that are to be run."""
        self._came += len(schedules)
        wanted = -(-self._came // _ONE_IN) - self.chosen
        # By a checksum of the name, so that neither first nor last points are preferred.
        mixed = sorted(schedules, key=lambda schedule: (zlib.crc32(str(schedule).encode()), str(schedule)))
        chosen = frozenset(mixed[: max(0, wanted)])
        self.chosen += len(chosen)
        return chosen


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
