"""Certain since: the earliest moment from which the bad end of a cell could not be averted any more.

A red cell says that a worker which dies at its point ends badly. If it ends in the same way when it dies at the point
before, the point itself was not to blame. So one walks back, cell by cell: over the points that lie before in the life
of the last fault, and into the life before it only if that end needs no last fault at all.

Nothing is run here. A point whose cell was not run ends nothing: it is named, and what lies beyond it can still show.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ackgap.model.boundary import CrashPoint
from ackgap.model.manner import Manner
from ackgap.model.matrix import CellResult, Variant, cell_id
from ackgap.model.schedule import Fault, Schedule
from ackgap.model.verdict import Colour, VerdictKind

__all__ = ["Certainty", "Ends", "certain_since"]

Before: TypeAlias = Callable[[CellResult], Sequence[str]]
"""Gives the points that lie before the last fault of a cell in the life that it strikes, in the order of that life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certainty:
    """From when on the bad end of a cell was certain.

    Attributes:
        life: Whose point it is; 0 where the undisturbed run ends so already.
        point: The earliest point at which a fault leads to the same end; empty where it needs none.
        cells: By which cells that is shown, the latest first.
        later: Cells of the points behind the last fault's in the same life, as far as they end in the same way too.
        between: Points among them at which nothing was run.
        unknown: Points right before it at which nothing was run: it may have been certain earlier.
        otherwise: The next cell before all of these, which ended otherwise; empty where there is none.
    """

    life: int
    point: str
    cells: tuple[str, ...]
    later: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    otherwise: str = ""

    @property
    def at_the_fault(self) -> bool:
        """Whether it is the last fault itself that decided, as far as is known."""
        return len(self.cells) == 1


def certain_since(result: CellResult, results: Iterable[CellResult], before: Before) -> Certainty | None:
    """Return from when on the bad end of one cell was certain; None where it has none, or races the worker."""
    return Ends(results, before).certain_since(result)


_End: TypeAlias = tuple[VerdictKind, str, str]
_Group: TypeAlias = tuple[Variant, tuple[Fault, ...], int, Manner]


class Ends:
    """How the cells of a run ended, by where their last fault struck.

    Args:
        results: Of one run.
        before: See there.
    """

    def __init__(self, results: Iterable[CellResult], before: Before) -> None:
        self._before = before
        self._place: dict[str, int] = {}
        self._cells: dict[str, CellResult] = {}
        self._at: defaultdict[_Group, dict[str, CellResult]] = defaultdict(dict)
        self._in_order: dict[_Group, list[tuple[str, Sequence[str], _End]]] = {}
        for result in results:
            self._cells[result.cell] = result
            if result.schedule.faults:
                self._at[_group(result)][str(result.schedule.faults[-1].point)] = result

    def certain_since(self, result: CellResult) -> Certainty | None:
        """Return from when on its bad end was certain; None where it has none, or races the worker."""
        if result.verdict.kind.colour is not Colour.RED or result.rate is not None or not result.schedule.faults:
            return None
        last = result.schedule.faults[-1]
        later = tuple(self._later(result))
        siblings, end = self._at[_group(result)], _end(result)
        since, cells, between, skipped, otherwise = str(last.point), [result.cell], list[str](), list[str](), ""
        for point in reversed(self._before(result)):
            other = siblings.get(point)
            if other is None:
                if last.manner.strikes_at(CrashPoint.parse(point)):
                    skipped.append(point)
            elif _end(other) == end:
                since = point
                cells.append(other.cell)
                between += skipped
                skipped = []
            else:
                otherwise = other.cell
                break
        found = Certainty(
            life=last.incarnation,
            point=since,
            cells=tuple(cells),
            later=later,
            between=tuple(between),
            unknown=tuple(skipped),
            otherwise=otherwise,
        )
        return found if otherwise else self._earlier_life(result, found)

    def _later(self, result: CellResult) -> Iterator[str]:
        """Yield the cells of later points of the same life, up to the first that ends otherwise."""
        group = _group(result)
        if group not in self._in_order:
            known = [(each.cell, self._before(each), _end(each)) for each in self._at[group].values()]
            self._in_order[group] = sorted(known, key=lambda each: len(each[1]))
            self._place.update({cell: place for place, (cell, _, _) in enumerate(self._in_order[group])})
        point, end = str(result.schedule.faults[-1].point), _end(result)
        for cell, before, other_end in itertools.islice(self._in_order[group], self._place[result.cell] + 1, None):
            if point in before:
                if other_end != end:
                    return
                yield cell

    def _earlier_life(self, result: CellResult, found: Certainty) -> Certainty:
        """Go on before the life of the last fault, if the end is the same without that fault."""
        shorter = Schedule(faults=result.schedule.faults[:-1])
        other = self._cells.get(cell_id(shorter, result.variant))
        if other is None or _end(other) != _end(result):
            return found
        earlier = self.certain_since(other) or Certainty(life=0, point="", cells=(other.cell,))
        return replace(
            earlier,
            cells=(*found.cells, *earlier.cells),
            between=(*found.between, *found.unknown, *earlier.between),
        )


def _group(result: CellResult) -> _Group:
    last = result.schedule.faults[-1]
    return result.variant, result.schedule.faults[:-1], last.incarnation, last.manner


def _end(result: CellResult) -> _End:
    """Return what makes two ends the same: verdict, finding and operation."""
    kind = result.verdict.kind
    for finding in result.findings:
        if finding.kind is kind:
            return kind, finding.code, finding.operation
    return kind, kind.value, ""
