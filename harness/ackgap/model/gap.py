"""KnownGap: a cell that is known not to be exactly once, with the reason and with whoever owns it."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ackgap.model.matrix import Variant
from ackgap.model.verdict import VerdictKind

__all__ = ["KnownGap", "gap_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownGap:
    """What a scenario's author declares about cells. It is strict: a cell that it covers has to have this verdict.

    Attributes:
        verdict: That each cell which it covers has.
        reason: Why that is so, and is left so.
        owner: Who closes it.
        cell: Glob over cells as a report names them; empty where rows and values say which.
        points: Globs over rows as the matrix names them, such as `tickets.create#1:applied`; none means every row.
        only: Values by axis; a variant is covered if it agrees with all of them.
    """

    verdict: VerdictKind
    reason: str
    owner: str
    cell: str = ""
    points: tuple[str, ...] = ()
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def covers(self, row: str, variant: Variant) -> bool:
        """Whether it is about a cell.

        Args:
            row: Label of the cell's schedule.
            variant: Of the cell.
        """
        if self.cell:
            return _matches(f"{row}@{variant}", (self.cell,))
        chosen = variant.as_mapping()
        fits = all(chosen.get(axis) in values for axis, values in self.only.items())
        return fits and (not self.points or _matches(row, self.points))

    @property
    def where(self) -> str:
        """Which cells it names, in its own words."""
        values = [f"{axis}={'|'.join(values)}" for axis, values in self.only.items()]
        return self.cell or ", ".join([*self.points, *values])


def gap_of(gaps: Iterable[KnownGap], row: str, variant: Variant) -> KnownGap | None:
    """Return the first gap that covers a cell; None where none does."""
    return next((gap for gap in gaps if gap.covers(row, variant)), None)


def _matches(text: str, globs: Sequence[str]) -> bool:
    # Names of boundaries may contain brackets, so a glob's brackets stand for themselves.
    return any(fnmatch.fnmatchcase(text, glob.replace("[", "[[]")) for glob in globs)
