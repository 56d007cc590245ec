"""Variant, Cell and Matrix: which runs there are, and what they proved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ackgap.model.event import Json
from ackgap.model.rate import Rate
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind

__all__ = ["CellResult", "Matrix", "Variant", "cell_id"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One combination of the scenario's axes, in the scenario's order; no axes make one variant, `default`."""

    values: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return ",".join(f"{axis}={value}" for axis, value in self.values) or "default"

    def __getitem__(self, axis: str) -> str:
        return dict(self.values)[axis]

    def as_mapping(self) -> dict[str, str]:
        """Return axis -> value."""
        return dict(self.values)

    @classmethod
    def parse(cls, text: str) -> Variant:
        """Read the text form.

        Raises:
            ValueError: The text is not `axis=value,...`.
        """
        if text == "default":
            return cls()
        pairs = [part.partition("=") for part in text.split(",")]
        if any(not axis or not equals or not value for axis, equals, value in pairs):
            raise ValueError(f"{text!r} is not a variant; write axis=value,axis=value, or default")
        if len({axis for axis, _, _ in pairs}) < len(pairs):
            raise ValueError(f"{text!r} names an axis twice")
        return cls(values=tuple((axis, value) for axis, _, value in pairs))


def cell_id(schedule: Schedule, variant: Variant) -> str:
    """Return the cell's name, stable over runs: `tickets.create#1:applied@durability=sync,key=none`."""
    return f"{schedule.label}@{variant}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CellResult:
    """What one run proved.

    Attributes:
        scenario: The scenario's name.
        effects: Number of effects by operation.
        incarnations: How many lives there were.
        duration_s: Real seconds.
        settling: How sure it is that no durable write was in flight when the fault struck; empty without a fault.
        history: The events as JSON; kept beside the result, not in its line.
        kept_directory: Where the cell's files were kept, empty where they were not.
        equal_to: The cell whose result this is, where it was not run because its crash state is the same.
        copied: Nothing was killed: the recovery began with a copy of an undisturbed run that stood parked at the point.
        rate: How often each verdict came out, where the schedule races the worker and was run several times.
    """

    scenario: str
    variant: Variant
    schedule: Schedule
    verdict: Verdict
    incarnations: int
    effects: Mapping[str, int] = field(default_factory=dict)
    duration_s: float = 0.0
    settling: str = ""
    history: tuple[Mapping[str, Json], ...] = ()
    kept_directory: str = ""
    equal_to: str = ""
    copied: bool = False
    rate: Rate | None = None

    @property
    def cell(self) -> str:
        """The cell's name."""
        return cell_id(self.schedule, self.variant)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the oracles saw."""
        return self.verdict.findings


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Crash points by variants, filled with verdicts."""

    rows: tuple[Schedule, ...]
    columns: tuple[Variant, ...]
    cells: Mapping[str, CellResult]

    @classmethod
    def of(cls, results: Iterable[CellResult], *, row_order: Iterable[str] = ()) -> Matrix:
        """Arrange results.

        Args:
            results: In any order.
            row_order: Labels of schedules in the order of the run; what it does not name comes last, in order of
                appearance.
        """
        kept = {result.cell: result for result in results}
        schedules = {result.schedule.label: result.schedule for result in kept.values()}
        order = {label: place for place, label in enumerate(row_order)}
        rows = sorted(schedules, key=lambda label: order.get(label, len(order)))
        return cls(
            rows=tuple(schedules[label] for label in rows),
            columns=tuple(dict.fromkeys(result.variant for result in kept.values())),
            cells=kept,
        )

    def at(self, schedule: Schedule, variant: Variant) -> CellResult | None:
        """Return the result of a cell, None where the boundary is not applicable to the variant."""
        return self.cells.get(cell_id(schedule, variant))

    def counts(self) -> dict[VerdictKind, int]:
        """Return how many cells have each verdict, from worst to best."""
        counted = Counter(result.verdict.kind for result in self.cells.values())
        return {kind: counted[kind] for kind in VerdictKind if counted[kind]}
