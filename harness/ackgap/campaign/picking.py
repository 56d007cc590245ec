"""Picked cells: run on a pool of slots, in the order in which somebody wants them, and no other.

For whoever knows the cells beforehand and asks for their results one by one, as a test runner does: while one result
is waited for, the next cells run already. The variants have been probed; a campaign does that by itself.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Self

from ackgap.campaign.cell import CellTask, lost_cell, run_cell
from ackgap.campaign.pool import SlotPool, limit_of
from ackgap.campaign.stage import checked_profiles, on_ground, wants_isolation
from ackgap.errors import AckgapError, HarnessFailed
from ackgap.execute.ground import Ground
from ackgap.execute.order import Order
from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.scenario.scenario import Scenario

__all__ = ["Picked", "PickedCells"]

Picked = tuple[Variant, Schedule]
"""A cell."""

_MOST_LOST_SLOTS = 10
"""Whoever loses more has a trouble that no later cell will be spared."""


class PickedCells:
    """Runs cells of a scenario on demand. A context manager: no slot outlives it, none is there before it is needed.

    Args:
        scenario: Its environments have to be made already.
        jobs: How many slots; one, where cells share state outside of their directories.
        network: `auto`, `isolated` or `host`.
        modules: By the name of an environment (empty for none), what a warm parent of Python lives imports; lives
            start plainly where nothing is named.

    Raises:
        AckgapError: The scenario cannot be run here.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        jobs: int,
        network: str = "auto",
        modules: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._scenario = scenario
        self._profiles = checked_profiles(scenario)
        self._isolated = wants_isolation(scenario, network)
        self.shares_state = bool(scenario.worker.external_state or scenario.worker.reset)
        """Whether cells share something outside of their directories, so that only one may run at a time."""
        self._jobs = 1 if self.shares_state else max(1, jobs)
        self._modules = dict(modules or {})
        self._expectations: dict[Variant, Expectation] = {}
        self._waiting: deque[Picked] = deque()
        self._running: dict[Future[CellResult], Picked] = {}
        self._outcomes: dict[Picked, CellResult | AckgapError] = {}
        self._ground_stack = contextlib.ExitStack()
        self._ground: Ground | None = None
        self._pool: SlotPool | None = None
        self._lost_slots = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def measure(self, expectations: Mapping[Variant, Expectation]) -> None:
        """Say what the cells of some variants are measured by."""
        self._expectations |= expectations

    def want(self, cells: Iterable[Picked]) -> None:
        """Have cells run once there is room, after those that are wanted already."""
        known = {*self._waiting, *self._running.values(), *self._outcomes}
        self._waiting.extend(cell for cell in dict.fromkeys(cells) if cell not in known)

    def result(self, cell: Picked) -> CellResult:
        """Return what a cell proved, and forget it: asked for again, it is run again.

        Raises:
            AckgapError: It could not be run.
        """
        if cell not in self._outcomes and cell not in self._running.values():
            if cell in self._waiting:
                self._waiting.remove(cell)
            self._waiting.appendleft(cell)
        while cell not in self._outcomes:
            self._step()
        outcome = self._outcomes.pop(cell)
        if isinstance(outcome, AckgapError):
            raise outcome
        return outcome

    def close(self) -> None:
        """End the slots and whatever is left in them; what is still wanted begins anew when it is asked for."""
        self._close_pool()
        self._running.clear()
        self._ground = None
        self._ground_stack.close()

    def _step(self) -> None:
        """Give the slots something to do, and wait until something is done, or for a second."""
        try:
            pool = self._opened()
            # One more than there are slots, so that none waits for us.
            while self._waiting and len(self._running) < (1 if self.shares_state else self._jobs + 1):
                order = self._order(self._waiting[0])
                task = CellTask(order=order, expectation=self._expectations[order.variant])
                self._running[pool.submit(run_cell, task, limit_s=limit_of(order))] = self._waiting.popleft()
            for future in pool.wait(self._running):
                self._take(self._running.pop(future), future)
        except BrokenProcessPool:
            self._recover()

    def _take(self, cell: Picked, future: Future[CellResult]) -> None:
        error = future.exception()
        if error is not None and not isinstance(error, AckgapError):
            raise error
        self._outcomes[cell] = future.result() if error is None else error

    def _order(self, cell: Picked) -> Order:
        variant, schedule = cell
        home = self._scenario.environment_of(variant)
        return Order(
            scenario=self._scenario,
            variant=variant,
            schedule=schedule,
            profiles=self._profiles,
            warm=self._modules.get(home.name if home is not None else "", ()),
        )

    def _opened(self) -> SlotPool:
        if self._ground is None:
            self._ground = self._ground_stack.enter_context(on_ground(self._scenario))
        if self._pool is None:
            self._pool = SlotPool(self._scenario, self._ground, self._jobs, isolated=self._isolated)
        return self._pool

    def _close_pool(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            pool.__exit__(None, None, None)

    def _recover(self) -> None:
        """Give up the cells that were in lost slots, take what is done, and put the others back in line.

        Raises:
            HarnessFailed: Slots cannot be set up, or too many were lost.
        """
        assert self._pool is not None
        lost = self._pool.lost()
        self._lost_slots += len(lost)
        again = list(self._still_there(lost))
        self._running.clear()
        self._close_pool()
        self._waiting.extendleft(reversed(again))
        if not lost or self._lost_slots > _MOST_LOST_SLOTS:
            reason = next(iter(lost.values()), "a slot ended, or could not be set up")
            raise HarnessFailed(
                f"a slot died: {reason}",
                next_step="look for an out-of-memory kill in the kernel's log, or run fewer cells at a time",
            )

    def _still_there(self, lost: Mapping[Future[CellResult], str]) -> Iterator[Picked]:
        for future, cell in self._running.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                self._take(cell, future)
            elif future in lost:
                self._outcomes[cell] = lost_cell(self._order(cell), lost[future])
            else:
                yield cell
