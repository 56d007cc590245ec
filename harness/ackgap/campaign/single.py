"""Cells one by one: of one variant, in one slot that is kept from cell to cell.

For whoever decides about the next schedule only when the last one has its verdict: a replay, a search, a stateful
test. A campaign knows its schedules beforehand, and runs them on as many slots as there are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import TypeVar

from ackgap.campaign.cell import CellTask, RawRun, lost_cell, run_cell, run_raw
from ackgap.campaign.pool import SlotPool, limit_of
from ackgap.campaign.probe import yardstick
from ackgap.campaign.stage import checked_profiles, on_ground, wants_isolation
from ackgap.errors import HarnessFailed
from ackgap.execute.ground import Ground
from ackgap.execute.order import Order
from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import UNDISTURBED, Schedule
from ackgap.scenario.scenario import Scenario

__all__ = ["SingleCells", "run_one_cell", "single_cells"]

T = TypeVar("T", CellResult, RawRun)


class SingleCells:
    """Runs schedules of one variant, one after the other: `result = cells(schedule)`.

    Made by `single_cells`, and of use only inside of it.

    Args:
        order: Whose scenario, variant and profiles every cell has.
        ground: Of the run.
        isolated: The slot is in a network of its own.
        warm: Fork Python lives from a warm parent, once a probe has told which modules that imports.
        expectation: The yardstick; None has the variant probed for it.
    """

    def __init__(
        self,
        order: Order,
        ground: Ground,
        *,
        isolated: bool,
        warm: bool = False,
        expectation: Expectation | None = None,
    ) -> None:
        self._order = order
        self._ground = ground
        self._isolated = isolated
        self._warm = warm
        self._pool: SlotPool | None = None
        self._expectation = expectation

    @property
    def expectation(self) -> Expectation:
        """The yardstick of the variant: its crash points, its effects in peace."""
        assert self._expectation is not None, "not probed yet"
        return self._expectation

    def __call__(self, schedule: Schedule) -> CellResult:
        """Run one cell and return what it proved, with its history.

        A slot that is lost on the way makes the cell inconclusive (`slot_lost`); the next cell gets another one.

        Raises:
            AckgapError: The cell could not be run.
        """
        order = replace(self._order, schedule=schedule)
        try:
            return self._in_slot(run_cell, CellTask(order=order, expectation=self.expectation), order)
        except BrokenProcessPool:
            why = self._why_lost()
            self.close()
            return lost_cell(order, why)

    def probe(self) -> None:
        """Run the variant undisturbed, twice, for its yardstick.

        Raises:
            AckgapError: The probes prove nothing, or could not be run.
        """
        try:
            order = replace(self._order, probe=True)
            first = self._in_slot(run_raw, order, order)
            if self._warm:
                self._order = replace(self._order, warm=first.modules)
            order = replace(self._order, probe=True, drift=1)
            second = self._in_slot(run_raw, order, order)
        except BrokenProcessPool:
            raise HarnessFailed(
                f"an undisturbed run was lost: {self._why_lost()}",
                next_step="run again; if memory ran out, beside fewer other programs",
            ) from None
        self._expectation = yardstick(self._order, first.history, second.history, isolated=self._isolated)

    def close(self) -> None:
        """End the slot and whatever is left in it."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            pool.__exit__(None, None, None)

    def _in_slot(self, function: Callable[..., T], argument: object, order: Order) -> T:
        if self._pool is None:
            self._pool = SlotPool(order.scenario, self._ground, 1, isolated=self._isolated)
        future = self._pool.submit(function, argument, limit_s=limit_of(order))
        while not self._pool.wait([future]):
            pass
        return future.result()

    def _why_lost(self) -> str:
        lost = {} if self._pool is None else self._pool.lost()
        return next(iter(lost.values()), "its slot ended, or could not be set up")


@contextlib.contextmanager
def single_cells(
    scenario: Scenario,
    variant: Variant,
    *,
    network: str = "auto",
    warm: bool = False,
    expectation: Expectation | None = None,
) -> Iterator[SingleCells]:
    """Lend what runs one cell after the other: inside the `with`, call it with a schedule.

    Args:
        scenario: Whose worker; its environments have to be made already.
        variant: Of the scenario.
        network: `auto`, `isolated` or `host`.
        warm: Fork Python lives from a parent that has imported their installed modules once; not with `expectation`,
            since only a probe tells which they are.
        expectation: The yardstick of an earlier run. Without one the variant is probed first, with the same checks as
            in a campaign; proofs of a mode by holding are a campaign's alone.

    Raises:
        AckgapError: The scenario cannot be run here, or its undisturbed run proves nothing.
    """
    profiles = checked_profiles(scenario)
    order = Order(scenario=scenario, variant=variant, schedule=UNDISTURBED, profiles=profiles)
    isolated = wants_isolation(scenario, network)
    with on_ground(scenario) as ground:
        cells = SingleCells(order, ground, isolated=isolated, warm=warm, expectation=expectation)
        try:
            if expectation is None:
                cells.probe()
            yield cells
        finally:
            cells.close()


def run_one_cell(
    scenario: Scenario, variant: Variant, schedule: Schedule, expectation: Expectation, *, network: str = "auto"
) -> CellResult:
    """Run one cell in a slot of its own; what `ackgap replay` does.

    Raises:
        AckgapError: The cell could not be run.
    """
    with single_cells(scenario, variant, network=network, expectation=expectation) as run:
        return run(schedule)
