"""Which differences between two runs fail whoever asked for them."""

from __future__ import annotations

from dataclasses import dataclass

from ackgap.model.verdict import VerdictKind
from ackgap.report.diff.cells import QUIET
from ackgap.report.diff.comparison import Comparison
from ackgap.report.failing import failing_kinds

__all__ = ["MORE", "Gate"]

MORE = ("changed", "vanished")
"""What may fail a comparison besides a verdict that is new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What fails a comparison.

    Attributes:
        groups: Verdicts that belong together: a cell fails that has one of a group now, and had none of it before.
        changed: A cell fails that is not what it was in any way.
        vanished: A cell fails that only the old run has.
    """

    groups: tuple[frozenset[VerdictKind], ...] = ()
    changed: bool = False
    vanished: bool = False

    @classmethod
    def parse(cls, text: str) -> Gate:
        """Read words, parted by commas.

        Raises:
            UsageInvalid: A word names no verdict.
        """
        words = [word for word in text.split(",") if word]
        groups = (failing_kinds(word) for word in words if word not in MORE)
        return cls(
            groups=tuple(group for group in groups if group),
            changed="changed" in words,
            vanished="vanished" in words,
        )

    def status(self, comparison: Comparison) -> int:
        """Return 1 where something fails, 3 where that only proves nothing any more, else 0.

        A new run that ended before its time proves nothing of what it did not come to.
        """
        proven = [group - {VerdictKind.INCONCLUSIVE} for group in self.groups]
        if any(comparison.newly(group) for group in proven):
            return 1
        if self.changed and self._is_changed(comparison):
            return 1
        if self.vanished and comparison.vanished:
            return 1
        unproven = frozenset({VerdictKind.INCONCLUSIVE})
        if any(VerdictKind.INCONCLUSIVE in group for group in self.groups) and (
            comparison.newly(unproven) or comparison.new.info.interrupted
        ):
            return 3
        return 0

    @staticmethod
    def _is_changed(comparison: Comparison) -> bool:
        return any(cell.change not in QUIET for cell in comparison.common)
