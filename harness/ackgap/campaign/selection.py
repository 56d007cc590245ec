"""Selection: which part of the matrix to run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from ackgap.errors import UsageInvalid
from ackgap.model.manner import PLAIN_KILL, FaultKind, Manner
from ackgap.model.matrix import Variant
from ackgap.model.schedule import Schedule
from ackgap.plan.exhaustive import every_point_once
from ackgap.scenario.scenario import Scenario

__all__ = ["VARIANT_LIMIT", "Selection"]

VARIANT_LIMIT = 10_000
"""More variants than that nobody means to run: each has two undisturbed runs and a cell for every crash point."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which part of the matrix to run.

    Attributes:
        variants: Partial variants; a variant is run if it agrees with one of them, every one where there is none.
        points: Globs over crash points; every point where there is none.
        schedules: Run these; every point in turn then only where `points` names some.
        faults: What is done at every point; killing, where there is none.
        unsettled: Kill also without waiting for writes in flight, in so many runs of each cell; 0 does not.
        depth: How many lives a schedule strikes at most; each recovery is struck at the points that it passed.
        orders: Let durable writes that run beside each other land in the other order as well.
        prune: Of points with the same crash state run one, and check a sample of the others.

    Raises:
        UsageInvalid: One of the schedules has no fault.
    """

    variants: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    points: tuple[str, ...] = ()
    schedules: tuple[Schedule, ...] = ()
    faults: tuple[Manner, ...] = ()
    unsettled: int = 0
    depth: int = 1
    orders: bool = False
    prune: bool = False

    def __post_init__(self) -> None:
        # Every run has that cell already: it is one of the undisturbed runs of each variant.
        if not all(schedule.faults for schedule in self.schedules):
            raise UsageInvalid(
                "a schedule without a fault need not be asked for: each variant is run undisturbed in every run, "
                "before anything is done to it",
                where="--schedule",
                next_step="name a fault, such as kill@tickets.create#1:applied, or leave the option out",
            )

    def has(self, variant: Variant) -> bool:
        """Whether a variant is to be run."""
        chosen = variant.as_mapping()
        return not self.variants or any(
            all(chosen.get(axis) in values for axis, values in partial.items()) for partial in self.variants
        )

    def variants_of(self, scenario: Scenario) -> tuple[Variant, ...]:
        """Return the variants to run, in the scenario's order; combines only the values that were asked for.

        Raises:
            UsageInvalid: There are more than `VARIANT_LIMIT`; says how many, and how to have fewer.
        """
        parts = [
            [
                [value.name for value in axis.values if value.name in partial.get(axis.name, (value.name,))]
                for axis in scenario.axes
            ]
            for partial in self.variants or ({},)
        ]
        count = sum(math.prod(map(len, part)) for part in parts)
        if count > VARIANT_LIMIT:
            sizes = ", ".join(f"{axis.name} ({len(axis.values)})" for axis in scenario.axes[:8])
            more = f", and {len(scenario.axes) - 8} more" if len(scenario.axes) > 8 else ""
            raise UsageInvalid(
                f"{count:,} variants were asked for, and each is run undisturbed twice before any crash; "
                f"{VARIANT_LIMIT:,} is the most",
                where=scenario.source or scenario.name,
                next_step=f"narrow the axes with --only AXIS=VALUE, or with a slice; the axes: {sizes}{more}",
            )
        names = [axis.name for axis in scenario.axes]
        place = {(axis.name, value.name): n for axis in scenario.axes for n, value in enumerate(axis.values)}
        found = dict.fromkeys(tuple(zip(names, values, strict=True)) for part in parts for values in product(*part))
        ordered = sorted(found, key=lambda values: [place[pair] for pair in values])
        return tuple(Variant(values=values) for values in ordered)

    @property
    def manners(self) -> tuple[Manner, ...]:
        """What is done at every point; nothing where only schedules were asked for."""
        if self.schedules and not (self.points or self.faults):
            return ()
        faults = self.faults or (PLAIN_KILL,)
        if not self.unsettled:
            return faults
        kills = [manner for manner in faults if manner.kind is FaultKind.KILL] or [PLAIN_KILL]
        return (*faults, *(replace(manner, unsettled=self.unsettled) for manner in kills if not manner.unsettled))

    def chosen(self, points: Sequence[str]) -> tuple[Schedule, ...]:
        """Return the schedules to run in a variant whose probe came to these points."""
        one_by_one = every_point_once(points, self.points, self.manners) if self.manners else ()
        return (*one_by_one, *(schedule for schedule in self.schedules if schedule not in one_by_one))
