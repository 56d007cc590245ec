"""What a run tells of itself apart from its results: the content of `run.json`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ackgap.model.boundary import CALL_PHASES, BoundaryKind, Phase
from ackgap.model.bounds import Bounds
from ackgap.model.expectation import Expectation
from ackgap.model.gap import KnownGap
from ackgap.model.manner import Manner
from ackgap.model.matrix import Variant
from ackgap.model.schedule import Schedule
from ackgap.plan.rows import merged_order, row_order
from ackgap.report.origin import Origin
from ackgap.scenario.scenario import Axis

__all__ = ["AxisInfo", "AxisValueInfo", "RowInfo", "RunInfo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisValueInfo:
    """One value of an axis, as a reader meets it."""

    name: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisInfo:
    """One axis of the scenario, as a reader meets it."""

    name: str
    title: str = ""
    about: str = ""
    values: tuple[AxisValueInfo, ...] = ()

    @classmethod
    def of(cls, axis: Axis) -> AxisInfo:
        """Return what a report shows of a scenario's axis."""
        values = tuple(AxisValueInfo(name=value.name, about=value.about) for value in axis.values)
        return cls(name=axis.name, title=axis.title, about=axis.about, values=values)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowInfo:
    """One row of the matrix: a schedule, and the point of its first fault.

    Attributes:
        label: The schedule's label; what a cell id begins with.
        name: Boundary of the first fault, empty for the undisturbed run.
        occurrence: The how-manieth of that boundary, 0 for the undisturbed run.
        phase: Phase of the first fault, None for the undisturbed run.
        boundary_kind: Call or checkpoint, None for the undisturbed run.
        noun: What one effect of the operation is called ("ticket"), empty where it has none.
        plain: The schedule is one kill in the first life, so that the row has a place on the rail.
    """

    label: str
    name: str = ""
    occurrence: int = 0
    phase: Phase | None = None
    boundary_kind: BoundaryKind | None = None
    noun: str = ""
    plain: bool = True

    @classmethod
    def of(cls, schedule: Schedule, *, noun: str = "") -> RowInfo:
        """Return the row of a schedule."""
        if not schedule.faults:
            return cls(label=schedule.label)
        point = schedule.faults[0].point
        return cls(
            label=schedule.label,
            name=point.name,
            occurrence=point.occurrence,
            phase=point.phase,
            boundary_kind=BoundaryKind.CALL if point.phase in CALL_PHASES else BoundaryKind.CHECKPOINT,
            noun=noun,
            plain=schedule.label == str(point),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What was run, apart from the results.

    Attributes:
        scenario: The scenario's name.
        title: What a reader calls it.
        about: What the worker under test does, in a sentence or two.
        versions: By name: `ackgap`, `python`, `platform`, and the libraries seen in the worker.
        started_at: ISO 8601 with offset.
        command: How the run was started, for a reader to repeat it.
        axes: In the scenario's order.
        variants: Columns, in order.
        row_order: Rows in the order of the run; the undisturbed run needs no entry.
        expectations: Yardstick by the text form of each variant.
        planned_cells: How many cells the run set out to run.
        not_applicable: How many combinations have no cell, because the variant's own probe lacks the boundary.
        notes: Shown to the reader: what was assumed, what could not be enforced.
        replay_prefix: What a cell id is appended to: `ackgap replay reports/partner-review`.
        interrupted: The run ended before all planned cells had.
        bounds: What the run was to try, and what became of it; None in results of an earlier version.
        manners: What is done at every point, in the order in which it was chosen.
        named: Schedules that were asked for by name.
        fingerprint: Equal for two runs of the same; empty in results of an earlier version.
        shard: Which part of a run this is: `2/8`; empty for a whole one.
        known_gaps: What the scenario declares of cells that are not exactly once.
        origin: Where what was run stands, for reports that point at it.
    """

    scenario: str
    title: str = ""
    about: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    started_at: str = ""
    command: str = ""
    axes: tuple[AxisInfo, ...] = ()
    variants: tuple[Variant, ...] = ()
    row_order: tuple[RowInfo, ...] = ()
    expectations: Mapping[str, Expectation] = field(default_factory=dict)
    planned_cells: int = 0
    not_applicable: int = 0
    notes: tuple[str, ...] = ()
    replay_prefix: str = "ackgap replay"
    interrupted: bool = False
    bounds: Bounds | None = None
    manners: tuple[Manner, ...] = ()
    named: tuple[Schedule, ...] = ()
    fingerprint: str = ""
    shard: str = ""
    known_gaps: tuple[KnownGap, ...] = ()
    origin: Origin = field(default_factory=Origin)

    def with_rows(self, schedules: Iterable[Schedule]) -> RunInfo:
        """Return it with the rows of some schedules, in the order of points."""
        order = merged_order(expectation.points for expectation in self.expectations.values())
        nouns = {
            name: facts.noun[0]
            for expectation in self.expectations.values()
            for name, facts in expectation.operations.items()
            if facts.effectful
        }
        rows = row_order(dict.fromkeys(schedules), order, self.manners, self.named)
        return replace(
            self,
            row_order=tuple(
                RowInfo.of(schedule, noun=nouns.get(schedule.faults[0].point.name, "") if schedule.faults else "")
                for schedule in rows
            ),
        )
