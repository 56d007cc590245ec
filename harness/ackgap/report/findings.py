"""The findings of a run as somebody meets them who fixes them: one a kind, operation and variant, not one a cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ackgap.model.matrix import CellResult, Variant
from ackgap.model.verdict import SEVERITY, Colour, Finding, VerdictKind
from ackgap.report.gaps import DeclaredCell, Standing, declared_cells
from ackgap.report.overview import WORST_FIRST
from ackgap.report.store import Run

__all__ = ["GAP_CLOSED", "Problem", "problems_of"]

GAP_CLOSED = "known_gap_closed"
"""Code of what is said of a cell that is exactly once, and was declared not to be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """The same finding about the same operation in cells of one variant.

    Attributes:
        kind: The verdict that it argues for; `ok` where a known gap is closed.
        finding: What the first of the cells shows.
        variant: Of the cells.
        cells: That show it, in the order of the matrix.
        known: The known gap that declares just this, as owner and reason; else nothing.
    """

    kind: VerdictKind
    finding: Finding
    variant: Variant
    cells: tuple[CellResult, ...]
    known: str = ""

    @property
    def fails(self) -> bool:
        """Whether it is a failure wherever red ones are."""
        return not self.known and (self.kind.colour is Colour.RED or self.kind is VerdictKind.OK)

    @property
    def identity(self) -> tuple[str, ...]:
        """What it is in every run, whichever and how many cells show it."""
        values = sorted(f"{axis}={value}" for axis, value in self.variant.values)
        return (self.finding.code, self.finding.operation, ",".join(values), "known" if self.known else "")


def problems_of(run: Run) -> tuple[Problem, ...]:
    """Return what is wrong in a run, the worst first: red, then what proves nothing, then amber."""
    declared = {each.cell.cell: each for each in declared_cells(run)}
    grouped: dict[tuple[object, ...], list[tuple[VerdictKind, Finding, CellResult, str]]] = {}
    for result in run.cells:
        mine = declared.get(result.cell)
        known = mine.owner_and_reason if mine is not None and mine.standing is Standing.KNOWN else ""
        for kind, finding in _wrong(result, mine):
            key = (finding.code, finding.operation, result.variant, known)
            grouped.setdefault(key, []).append((kind, finding, result, known))
    problems = (
        Problem(
            kind=min((kind for kind, *_ in members), key=SEVERITY.index),
            finding=members[0][1],
            variant=members[0][2].variant,
            cells=tuple(result for _, _, result, _ in members),
            known=members[0][3],
        )
        for members in grouped.values()
    )
    return tuple(sorted(problems, key=lambda each: (bool(each.known), not each.fails, WORST_FIRST.index(each.kind))))


def _wrong(result: CellResult, declared: DeclaredCell | None) -> Iterator[tuple[VerdictKind, Finding]]:
    """Yield what is wrong in a cell, each code and operation once."""
    verdict = result.verdict.kind
    if declared is not None and declared.standing is Standing.CLOSED:
        yield verdict, Finding(kind=None, code=GAP_CLOSED, summary=declared.words)
    if verdict is VerdictKind.OK:
        return
    # What else a cell shows that proves nothing is not proven.
    unproven = verdict is VerdictKind.INCONCLUSIVE
    found = {
        (finding.code, finding.operation): (finding.kind, finding)
        for finding in reversed(result.findings)
        if finding.kind is not None and finding.kind is not VerdictKind.OK
        if not unproven or finding.kind is VerdictKind.INCONCLUSIVE
    }
    if not any(kind is verdict for kind, _ in found.values()):
        yield verdict, Finding(kind=verdict, code=verdict.value, summary=result.verdict.headline)
    yield from ((kind, finding) for kind, finding in reversed(found.values()))
