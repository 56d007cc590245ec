"""Known gaps against what a run found: which are as they were declared, which are closed, which have changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from ackgap.model.gap import KnownGap, gap_of
from ackgap.model.matrix import CellResult
from ackgap.model.verdict import VerdictKind
from ackgap.report.plain import plain
from ackgap.report.store import Run

__all__ = ["DeclaredCell", "Standing", "declared_cells", "failing_cells", "gap_lines", "standing_of"]


class Standing(StrEnum):
    """What a run says of a cell that a known gap covers."""

    KNOWN = "known"
    """Its verdict is the one that was declared."""
    CLOSED = "closed"
    """It is exactly once: the declaration is out of date."""
    CHANGED = "changed"
    """It is another one, so what was declared is not what happens."""
    UNPROVEN = "unproven"
    """This run proves nothing of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredCell:
    """A cell that a known gap covers."""

    cell: CellResult
    gap: KnownGap
    standing: Standing

    @property
    def words(self) -> str:
        """What is to be said of it, in one sentence or two."""
        declared, found = self.gap.verdict.words, self.cell.verdict.kind.words
        match self.standing:
            case Standing.CLOSED:
                said = f"the known gap is closed: it was declared {declared} and is {found}; remove its [[known_gap]]"
            case Standing.CHANGED:
                said = f"the known gap has changed: it was declared {declared} and is {found}"
            case Standing.UNPROVEN:
                said = f"a known gap ({declared}), of which this run proves nothing"
            case _:
                said = f"a known gap ({declared})"
        return plain(f"{said}. {self.owner_and_reason}")

    @property
    def owner_and_reason(self) -> str:
        """Who closes it, and why it is open."""
        return plain(f"{self.gap.owner}: {self.gap.reason}")


def standing_of(gaps: Iterable[KnownGap], cell: CellResult) -> DeclaredCell | None:
    """Return what a cell says of the known gap that covers it; None where none does."""
    gap = gap_of(gaps, cell.schedule.label, cell.variant)
    if gap is None:
        return None
    kind = cell.verdict.kind
    standing = {
        gap.verdict: Standing.KNOWN,
        VerdictKind.OK: Standing.CLOSED,
        VerdictKind.INCONCLUSIVE: Standing.UNPROVEN,
    }
    return DeclaredCell(cell=cell, gap=gap, standing=standing.get(kind, Standing.CHANGED))


def declared_cells(run: Run) -> tuple[DeclaredCell, ...]:
    """Return every cell of a run that a known gap covers, in the order of the matrix."""
    found = (standing_of(run.info.known_gaps, cell) for cell in run.cells)
    return tuple(each for each in found if each is not None)


def failing_cells(run: Run, failing: frozenset[VerdictKind]) -> tuple[CellResult, ...]:
    """Return the cells of a run that fail it.

    A cell with a verdict out of `failing` does, unless a known gap declares just that verdict. So does a cell whose
    known gap is closed or has changed, unless nothing is to fail at all.
    """
    declared = {each.cell.cell: each.standing for each in declared_cells(run)}
    return tuple(
        cell
        for cell in run.cells
        if failing
        and (
            declared.get(cell.cell) in (Standing.CLOSED, Standing.CHANGED)
            or (cell.verdict.kind in failing and declared.get(cell.cell) is not Standing.KNOWN)
        )
    )


def gap_lines(run: Run) -> Iterator[str]:
    """Yield what a terminal says of the known gaps of a run; nothing where the scenario declares none."""
    declared = declared_cells(run)
    for gap in run.info.known_gaps:
        mine = [each for each in declared if each.gap is gap]
        known = [each for each in mine if each.standing is Standing.KNOWN]
        if known:
            cells = "1 cell" if len(known) == 1 else f"{len(known)} cells"
            yield plain(
                f"Known gap, {cells} {gap.verdict.words} as declared ({gap.where}). {known[0].owner_and_reason}"
            )
        for each in mine:
            if each.standing is not Standing.KNOWN:
                yield plain(f"{each.cell.cell}: {each.words}")
        if not mine:
            yield plain(f"A known gap covers no cell of this run: {gap.where}. {gap.owner}: {gap.reason}")
