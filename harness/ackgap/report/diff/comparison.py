"""Two runs compared, cell by cell. Nothing is run or read for it but what the results say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from ackgap.errors import UsageInvalid
from ackgap.model.matrix import CellResult
from ackgap.model.verdict import VerdictKind
from ackgap.report.diff.cells import CellCompared, Change, absence_of, change_of, differences_of
from ackgap.report.diff.points import PointsCompared, compare_points
from ackgap.report.gaps import Standing, standing_of
from ackgap.report.info import RunInfo
from ackgap.report.store import Run

__all__ = ["Comparison", "VersionChange", "compare"]

_RUNS = re.compile(r"unsettled=\d+")
_Key = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionChange:
    """A version that differs; empty where one of the runs does not name it."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What is different between two runs.

    Attributes:
        old: The run that is compared with.
        new: The run that is looked at.
        cells: Every cell of either run, those of the new one first, each in the order of its matrix.
        points: What became of the points.
        versions: Versions that differ.
        parts: What the runs are made of and what differs in it, as words: `the scenario`, `the files`.
    """

    old: Run
    new: Run
    cells: tuple[CellCompared, ...]
    points: PointsCompared
    versions: tuple[VersionChange, ...] = ()
    parts: tuple[str, ...] = ()

    @cached_property
    def common(self) -> tuple[CellCompared, ...]:
        """Cells that both runs have."""
        return tuple(cell for cell in self.cells if cell.absence is None)

    @cached_property
    def appeared(self) -> tuple[CellCompared, ...]:
        """Cells that only the new run has."""
        return tuple(cell for cell in self.cells if cell.before is None)

    @cached_property
    def vanished(self) -> tuple[CellCompared, ...]:
        """Cells that only the old run has."""
        return tuple(cell for cell in self.cells if cell.after is None)

    @cached_property
    def moved(self) -> tuple[CellCompared, ...]:
        """Cells of both runs whose point had another number in the old one."""
        return tuple(cell for cell in self.common if cell.moved_from)

    def of(self, change: Change) -> tuple[CellCompared, ...]:
        """Return the cells that became that; a green or amber one that only the new run has only appeared."""
        loud = change in {Change.NEWLY_RED, Change.NEWLY_INCONCLUSIVE, Change.KNOWN_GAP}
        return tuple(cell for cell in self.cells if cell.change is change and (loud or cell.absence is None))

    def newly(self, kinds: frozenset[VerdictKind]) -> tuple[CellCompared, ...]:
        """Return the cells that have one of some verdicts now and had none of them before."""
        return tuple(cell for cell in self.cells if cell.newly(kinds))

    @property
    def is_nothing(self) -> bool:
        """Whether nothing differs but what chance may do."""
        quiet = all(cell.change in {Change.SAME, Change.BY_CHANCE} and cell.absence is None for cell in self.cells)
        return quiet and not self.moved


def compare(old: Run, new: Run, *, parts: Sequence[str] = ()) -> Comparison:
    """Compare two runs.

    Args:
        old: What is compared with.
        new: What is looked at.
        parts: What is known to differ in what they are made of, as words.

    Raises:
        UsageInvalid: They are different parts of runs, or have no cell in common.
    """
    if old.info.shard != new.info.shard:
        names = " and ".join(f"part {run.info.shard}" if run.info.shard else "a whole run" for run in (old, new))
        raise UsageInvalid(
            f"{names} cannot be compared",
            where="ackgap diff",
            next_step="join the parts with `ackgap merge` first",
        )
    points = compare_points(old.info, new.info)
    before = {_key(_as_new(points, result)): result for result in old.cells}
    cells = [_compared(before.pop(_key(result), None), result, old.info, new.info) for result in new.cells]
    if (old.cells or new.cells) and all(cell.before is None for cell in cells):
        raise UsageInvalid(
            f"the two runs have no cell in common ({old.info.scenario} and {new.info.scenario})",
            where="ackgap diff",
            next_step="name two runs of the same scenario, the earlier one first",
        )
    cells += [
        CellCompared(
            before=result,
            after=None,
            change=Change.CHANGED,
            absence=absence_of(new.info, _as_new(points, result)),
        )
        for result in before.values()
    ]
    return Comparison(
        old=old,
        new=new,
        cells=tuple(cells),
        points=points,
        versions=tuple(_versions(old.info, new.info)),
        parts=tuple(parts),
    )


def _key(result: CellResult) -> _Key:
    """Return what a cell is, also where a scenario writes its axes in another order, or a race is run more often."""
    return (_RUNS.sub("unsettled=N", str(result.schedule)), frozenset(result.variant.values))


def _as_new(points: PointsCompared, result: CellResult) -> CellResult:
    return replace(result, schedule=points.as_new(result.schedule))


def _compared(before: CellResult | None, after: CellResult, old: RunInfo, new: RunInfo) -> CellCompared:
    change = change_of(before, after)
    declared = standing_of(new.known_gaps, after)
    if declared is not None and declared.standing is Standing.KNOWN and change not in {Change.SAME, Change.BY_CHANCE}:
        change = Change.KNOWN_GAP
    if before is None:
        return CellCompared(before=None, after=after, change=change, absence=absence_of(old, after))
    said = () if change is Change.SAME else tuple(differences_of(before, after))
    return CellCompared(before=before, after=after, change=change, said=said)


def _versions(old: RunInfo, new: RunInfo) -> Iterable[VersionChange]:
    for name in dict.fromkeys([*old.versions, *new.versions]):
        before, after = old.versions.get(name, ""), new.versions.get(name, "")
        if before != after:
            yield VersionChange(name=name, before=before, after=after)
