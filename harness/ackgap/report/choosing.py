"""Which cell of a run somebody means who has written less than its whole name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import get_close_matches
from fnmatch import fnmatchcase

from ackgap.errors import UsageInvalid
from ackgap.model.matrix import CellResult
from ackgap.model.verdict import GLYPHS
from ackgap.report.plain import plain, shortened
from ackgap.report.store import Run

__all__ = ["cells_like", "one_cell"]

_LISTED = 16
_NEAR = 4
_NAME_WIDTH = 160


def cells_like(run: Run, text: str) -> tuple[CellResult, ...]:
    """Return the cells that a text may mean, in the order of the run; none where it means none.

    The first of these that is true of any cell counts: it is the cell's name, as the cell has it or as it is printed;
    the name begins with it; it is a glob of the name, or of what stands before the `@`; the name has it somewhere.
    """
    for meant in _ways(text):
        found = tuple(cell for cell in run.cells if any(meant(name) for name in _names(cell)))
        if found:
            return found
    return ()


def one_cell(run: Run, text: str) -> CellResult:
    """Return the cell that a text means.

    Raises:
        UsageInvalid: It means none, or several; names those, or the nearest ones.
    """
    found = cells_like(run, text)
    if len(found) == 1:
        return found[0]
    where = f"CELL, in {run.directory}"
    if found:
        raise UsageInvalid(
            f"{len(found)} cells are like '{shortened(plain(text), _NAME_WIDTH)}'",
            where=where,
            next_step="name one of them, or more of its name:\n" + "\n".join(_listed(found)),
        )
    if not run.cells:
        raise UsageInvalid("no cell of that run has finished", where=where, next_step="look again later, or run it")
    names = [cell.cell for cell in run.cells]
    near = get_close_matches(text, names, n=_NEAR, cutoff=0.3) or names[:_NEAR]
    nearest = tuple(cell for cell in run.cells if cell.cell in near)
    raise UsageInvalid(
        f"no cell is like '{shortened(plain(text), _NAME_WIDTH)}'",
        where=where,
        next_step=f"the nearest of {len(names)}:\n" + "\n".join(_listed(nearest)),
    )


def _ways(text: str) -> Iterator[Callable[[str], bool]]:
    yield lambda name: name == text
    yield lambda name: name.startswith(text)
    yield lambda name: fnmatchcase(name, text) or fnmatchcase(name.rpartition("@")[0], text)
    yield lambda name: text in name


def _names(cell: CellResult) -> tuple[str, ...]:
    shown = plain(cell.cell)
    return (cell.cell,) if shown == cell.cell else (cell.cell, shown)


def _listed(cells: tuple[CellResult, ...]) -> Iterator[str]:
    for cell in cells[:_LISTED]:
        kind = cell.verdict.kind
        yield f"    {GLYPHS[kind]:>2} {shortened(plain(cell.cell), _NAME_WIDTH)}"
    if len(cells) > _LISTED:
        yield f"       and {len(cells) - _LISTED} more"
