"""What every report shows of a run: rows with the gap, columns folded to what matters, findings in groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ackgap.model.boundary import STREAM_PHASES, BoundaryKind, Phase
from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import SEVERITY, Colour, Finding, VerdictKind
from ackgap.report.info import RowInfo, RunInfo
from ackgap.report.store import Run
from ackgap.report.view import FAULT_AXIS, Branch, Views, branch_of

__all__ = [
    "WORST_FIRST",
    "Column",
    "FindingGroup",
    "Merged",
    "Overview",
    "effectful_operations",
    "gap_labels",
    "is_order_dependent",
    "noun_of",
    "variant_gap",
]

WORST_FIRST = (
    *(kind for kind in SEVERITY if kind.colour is Colour.RED),
    VerdictKind.INCONCLUSIVE,
    VerdictKind.IN_DOUBT,
    VerdictKind.WASTED,
    VerdictKind.OK,
)
_RED_DIFFERENCE = 100
"""How much more a difference between red and not red says about an axis than one between shades."""
_AFTER_EFFECT = frozenset({Phase.APPLIED, *STREAM_PHASES, Phase.RETURNED})


def effectful_operations(info: RunInfo) -> frozenset[str]:
    """Return the operations that change the outside world in any variant."""
    return frozenset(
        name
        for yardstick in info.expectations.values()
        for name, facts in yardstick.operations.items()
        if facts.effectful
    )


def noun_of(info: RunInfo, operation: str) -> tuple[str, str]:
    """Return what one effect of an operation is called, and several."""
    for yardstick in info.expectations.values():
        facts = yardstick.operations.get(operation)
        if facts is not None:
            return facts.noun
    return (f"effect of {operation}", f"effects of {operation}") if operation else ("effect", "effects")


def gap_labels(
    rows: Sequence[RowInfo], effectful: frozenset[str], reached: frozenset[str] | None = None
) -> frozenset[str]:
    """Return the labels of the rows that lie in an acknowledgment gap.

    A gap opens where the effect of a call is real and closes at the next committed checkpoint. A gap that no
    checkpoint closes is known to be one only as long as its own call lasts.

    Args:
        rows: In the order of the run.
        effectful: Operations that change the outside world.
        reached: Rows that count; the others neither open nor close a gap, but lie in one where it passes over them.
            None for all.
    """
    gap: set[str] = set()
    waiting: list[str] | None = None
    sees_checkpoints = any(row.boundary_kind is BoundaryKind.CHECKPOINT for row in rows)
    for row in rows:
        if not row.plain or row.phase is None:
            continue
        counts = reached is None or row.label in reached
        if counts and row.boundary_kind is BoundaryKind.CALL and row.name in effectful and row.phase in _AFTER_EFFECT:
            gap.update([*(waiting or []), row.label])
            waiting = []
        elif waiting is not None and counts and row.phase is Phase.COMMITTED:
            gap.update(waiting)
            waiting = None
        elif waiting is not None and sees_checkpoints:
            waiting.append(row.label)
    return frozenset(gap)


def variant_gap(info: RunInfo, variant: Variant) -> frozenset[str]:
    """Return the rows of the gap as one variant has it: a mode that commits late has a long one."""
    yardstick = info.expectations.get(str(variant), Expectation())
    effectful = frozenset(name for name, facts in yardstick.operations.items() if facts.effectful)
    return gap_labels(info.row_order, effectful, frozenset(yardstick.points))


@dataclass(frozen=True, slots=True)
class Column:
    """One column: the variants that have these values of the axes shown."""

    values: tuple[tuple[str, str], ...]
    variants: tuple[Variant, ...]

    def __str__(self) -> str:
        return ", ".join(f"{axis} {value}" for axis, value in self.values) or "all variants"


@dataclass(frozen=True, slots=True)
class Merged:
    """What a row and a column have in common: one cell, or several of which the worst counts."""

    results: tuple[CellResult, ...]

    @property
    def kind(self) -> VerdictKind:
        """The worst verdict; a cell that proves nothing weighs more than a good one."""
        return min((result.verdict.kind for result in self.results), key=WORST_FIRST.index)

    @property
    def mixed(self) -> bool:
        """Whether the verdicts differ."""
        return len({result.verdict.kind for result in self.results}) > 1

    @property
    def mark(self) -> str:
        """A sign to go with the verdict, empty where there is nothing to say.

        `*`: cells that differ; `<`: the order of two writes decides; `~`: a rate; `=`: the state of another cell.
        """
        if self.mixed:
            return "*"
        if any(is_order_dependent(result) for result in self.results):
            return "<"
        if any(result.rate is not None for result in self.results):
            return "~"
        return "=" if all(result.equal_to for result in self.results) else ""


def is_order_dependent(result: CellResult) -> bool:
    """Whether the same crash has another verdict with two durable writes in the other order."""
    return any(finding.code == "order_dependent" for finding in result.findings)


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Cells with a finding of the same kind about the same operation, the most telling cell first."""

    kind: VerdictKind
    operation: str
    finding: Finding
    results: tuple[CellResult, ...]

    @property
    def example(self) -> CellResult:
        """The cell to look at first."""
        return self.results[0]


@dataclass(frozen=True)
class Overview:
    """A run as a reader meets it."""

    run: Run

    @cached_property
    def rows(self) -> tuple[RowInfo, ...]:
        """Rows that have cells, the undisturbed run first."""
        return self.views.rows(self.run.matrix.rows, self.run.info.row_order)

    @cached_property
    def branches(self) -> Mapping[str, Branch]:
        """How rows that hang below others differ from them, by label."""
        found = ((row.label, branch_of(Schedule.parse(row.label))) for row in self.rows if not row.plain)
        return {label: branch for label, branch in found if branch is not None}

    @cached_property
    def views(self) -> Views:
        """Where each cell stands."""
        return Views.of(self.run.cells, self.run.matrix.columns)

    @cached_property
    def _by_place(self) -> Mapping[tuple[str, Variant], CellResult]:
        return {self.views.place[result.cell]: result for result in self.run.cells}

    @cached_property
    def gap(self) -> frozenset[str]:
        """Labels of the rows in a gap, by the order of rows."""
        return gap_labels(self.rows, effectful_operations(self.run.info))

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """Variants that have cells, as they are shown: what is done is an axis, where that varies."""
        return self.views.variants

    @cached_property
    def varied(self) -> tuple[str, ...]:
        """Axes with more than one value among those variants, in the scenario's order."""
        names = [axis for axis, _ in self.variants[0].values] if self.variants else []
        return tuple(name for name in names if len({variant.as_mapping().get(name) for variant in self.variants}) > 1)

    @cached_property
    def influence(self) -> Mapping[str, int]:
        """For each varied axis, how often changing it alone changes a verdict; red against not red counts most.

        A row with which some of its variants have no cell beside a red one counts too: in one column, what is red of
        one would be said of all.
        """
        counted = dict.fromkeys(self.varied, 0)
        for axis in self.varied:
            seen: dict[tuple[str, str], list[VerdictKind]] = {}
            for result in self.run.cells:
                row, shown = self.views.place[result.cell]
                seen.setdefault((row, _others(shown, axis)), []).append(result.verdict.kind)
            alike = Counter(_others(variant, axis) for variant in self.variants)
            for (_, others), kinds in seen.items():
                red = {kind.colour is Colour.RED for kind in kinds}
                counted[axis] += len(set(kinds)) - 1 + (len(red) - 1) * _RED_DIFFERENCE
                counted[axis] += axis != FAULT_AXIS and red == {True} and len(kinds) < alike[others]
        return counted

    def shown_axes(self, limit: int) -> tuple[str, ...]:
        """Return the axes in which verdicts differ, without the least influential ones if columns exceed a limit.

        An axis that no two variants differ in alone may well be what makes the difference, so it counts as one. Where
        that would put different verdicts into one column although every variant has room for its own, all
        axes that vary are shown.
        """
        axes = [axis for axis in self.varied if self.influence[axis] or not self._varies_alone(axis)]
        if len(self.variants) <= limit and self._hides_something(axes):
            return self.varied
        while axes and self._column_count(axes) > limit:
            axes.remove(min(axes, key=lambda axis: self.influence[axis]))
        return tuple(axes)

    def columns(self, axes: Sequence[str]) -> tuple[Column, ...]:
        """Return the columns that remain if only these axes are shown."""
        kept: dict[tuple[tuple[str, str], ...], list[Variant]] = {}
        for variant in self.variants:
            kept.setdefault(tuple((axis, variant[axis]) for axis in axes), []).append(variant)
        return tuple(Column(values=values, variants=tuple(variants)) for values, variants in kept.items())

    def at(self, rows: RowInfo | Sequence[RowInfo], column: Column) -> Merged | None:
        """Return what rows and a column have in common, None where there is no cell."""
        labels = [rows.label] if isinstance(rows, RowInfo) else [row.label for row in rows]
        found = [self._by_place.get((label, variant)) for label in labels for variant in column.variants]
        results = tuple(result for result in found if result is not None)
        return Merged(results=results) if results else None

    @cached_property
    def counts(self) -> Mapping[VerdictKind, int]:
        """How many cells have each verdict, from worst to best."""
        return self.run.matrix.counts()

    def groups(self, *colours: Colour, by_cause: bool = False) -> tuple[FindingGroup, ...]:
        """Return the findings of those colours, worst first, then by how many cells have them.

        Args:
            colours: Of verdicts.
            by_cause: Keep those apart in which worker or engine did something else.
        """
        collected: dict[tuple[VerdictKind, str, str], list[tuple[Finding, CellResult]]] = {}
        for result in self.run.cells:
            for finding in _findings(result):
                if finding.kind is not None and finding.kind.colour in colours:
                    said = finding.attribution if by_cause else None
                    cause = f"{said.worker} {said.engine}" if said is not None else ""
                    collected.setdefault((finding.kind, finding.operation, cause), []).append((finding, result))
        groups = []
        for (kind, operation, _), members in collected.items():
            # The cell nearest to the effect tells the story best; an undisturbed run at fault outranks all of them.
            members.sort(key=lambda member: _telling(member[1], operation))
            results = tuple(result for _, result in members)
            groups.append(FindingGroup(kind=kind, operation=operation, finding=members[0][0], results=results))
        return tuple(sorted(groups, key=lambda group: (SEVERITY.index(group.kind), -len(group.results))))

    def _varies_alone(self, axis: str) -> bool:
        """Whether two variants agree in every other axis and differ in this one."""
        others = [tuple(pair for pair in variant.values if pair[0] != axis) for variant in self.variants]
        return len(set(others)) < len(others)

    def _hides_something(self, axes: Sequence[str]) -> bool:
        columns = self.columns(axes)
        found = (self.at(row, column) for row in self.rows for column in columns)
        return any(merged is not None and merged.mixed for merged in found)

    def _column_count(self, axes: Iterable[str]) -> int:
        return len({tuple(variant[axis] for axis in axes) for variant in self.variants})


def _others(variant: Variant, axis: str) -> str:
    return ",".join(f"{name}={value}" for name, value in variant.values if name != axis)


def _findings(result: CellResult) -> Iterator[Finding]:
    """Yield the findings of a cell that a report speaks of, one for each kind and operation."""
    if result.verdict.kind is VerdictKind.INCONCLUSIVE:
        # What else such a cell shows is not proven.
        kept = [finding for finding in result.findings if finding.kind is VerdictKind.INCONCLUSIVE][:1]
    else:
        kept = list({(item.kind, item.operation): item for item in reversed(result.findings)}.values())
    if not any(finding.kind is result.verdict.kind for finding in kept):
        kind = result.verdict.kind
        kept.append(Finding(kind=kind, code=kind.value, summary=result.verdict.headline))
    yield from kept


def _telling(result: CellResult, operation: str) -> tuple[int, int]:
    if not result.schedule.faults:
        return (0, 0)
    point = result.schedule.faults[0].point
    phases = (Phase.RETURNED, Phase.APPLIED, *reversed(STREAM_PHASES))
    near = phases.index(point.phase) if point.name == operation and point.phase in phases else len(phases)
    return (1, near)
