"""The campaign: probes first, then every cell they lead to, on as many slots as there are.

Results are handed on as they come, so that a run that is interrupted, or ends in an error, keeps what it has.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from typing import Any

from ackgap.campaign.accounts import bounds_of, exploration_notes
from ackgap.campaign.cell import CellTask, RawRun, judged, lost_cell, run_cell, run_raw
from ackgap.campaign.copying import CopyAudit, order_of_points, why_not_copied
from ackgap.campaign.earlier import Earlier
from ackgap.campaign.exploration import Exploration
from ackgap.campaign.listener import Listener
from ackgap.campaign.notes import assumed, seen_in_probe
from ackgap.campaign.pool import SlotPool, limit_of, with_pool
from ackgap.campaign.probe import yardstick
from ackgap.campaign.pruning import lives_alike, why_not_pruned
from ackgap.campaign.selection import Selection
from ackgap.campaign.shard import WHOLE, RowNumbers, Shard
from ackgap.campaign.stage import checked_profiles, on_ground, wants_isolation
from ackgap.campaign.upstream import begin_recordings, upstream_notes
from ackgap.errors import HarnessFailed, ProbeFailed
from ackgap.execute.order import Order
from ackgap.execute.state.mask_learning import compare_probes
from ackgap.execute.state.masks import Learned
from ackgap.model.bounds import Bounds
from ackgap.model.expectation import Expectation
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import UNDISTURBED, Schedule
from ackgap.scenario.environment import EnvironmentSpec
from ackgap.scenario.scenario import AxisValue, Scenario
from ackgap.support import cores

__all__ = ["Campaign"]


@dataclass(slots=True)
class _Column:
    """A variant on its way: waiting for its probes, then known."""

    variant: Variant
    probes: dict[int, RawRun] = field(default_factory=dict)
    planned: bool = False


_NO_ORDER = "the undisturbed runs came to their points in different orders"
Task = tuple[str, Order, Expectation | None]

_MOST_LOST_SLOTS = 10
"""A run that loses more has a trouble that no later cell will be spared."""


class Campaign:
    """Runs the cells of a scenario.

    Args:
        scenario: What to run.
        selection: Which part of it.
        listener: Told of everything as it comes.
        jobs: How many slots; None takes one for each core.
        network: `auto`, `isolated` or `host`.
        warm: Fork Python lives from a parent that has imported their third-party modules once. The first probe of
            each variant starts plainly all the same, so that the second is checked against it.
        shard: Which part of the rows to run.
        copies: Begin recoveries with copies of undisturbed runs, where that is possible, and check a sample of them.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        selection: Selection,
        listener: Listener,
        jobs: int | None = None,
        network: str = "auto",
        warm: bool = False,
        shard: Shard = WHOLE,
        copies: bool = False,
    ) -> None:
        self._scenario = scenario
        self._shard = shard
        self._rows = None if shard == WHOLE else RowNumbers(shard)
        self._earlier: Earlier | None = None
        self._listener = listener
        shared = bool(scenario.worker.external_state or scenario.worker.reset)
        self._jobs = 1 if shared else max(1, jobs or cores())
        self._profiles = checked_profiles(scenario)
        self._isolated = wants_isolation(scenario, network)
        self._columns = [_Column(variant) for variant in selection.variants_of(scenario)]
        self._waiting: deque[Task] = deque()
        self._selection = selection
        self._why_not_pruned = why_not_pruned(scenario)
        self._explored: dict[Variant, Exploration] = {}
        self._expectations: dict[Variant, Expectation] = {}
        self._masks: dict[Variant, Learned] = {}
        self._complete = False
        self._warm = warm
        self._modules: dict[EnvironmentSpec | None, tuple[str, ...]] = {}
        self._lost_slots = 0
        self._why_not_copied = why_not_copied(scenario)
        self._audit = CopyAudit() if copies else None
        self._points: dict[Variant, tuple[str, ...]] = {}

    def equip(self, environments: tuple[EnvironmentSpec, ...]) -> None:
        """Have the workers run in these environments, which have been made since."""
        self._scenario = replace(self._scenario, environments=environments)

    def resume(self, earlier: Earlier) -> None:
        """Take over what a run of the same knows that was interrupted; such cells are not run again."""
        self._earlier = earlier

    def run(self) -> None:
        """Run until every cell has its verdict.

        Raises:
            AckgapError: A probe proved nothing, or the harness failed; what had finished by then has been handed on.
            KeyboardInterrupt: As everywhere; no process is left behind.
        """
        self._listener.began([column.variant for column in self._columns], self._isolated)
        for text in upstream_notes(self._scenario):
            self._listener.noted(text)
        begin_recordings(self._scenario)
        self._plan_probes()
        try:
            with on_ground(self._scenario) as ground:
                while self._waiting:
                    with_pool(self._scenario, ground, self._jobs, isolated=self._isolated, work=self._work)
                    self._plan_audits(running=0)  # where the last of the cells was lost with its slot
            self._complete = True
        finally:
            for exploration in self._explored.values():
                for result in exploration.flush():
                    self._listener.finished(result)
            if self._audit is not None:
                for text in self._audit.notes(self._why_not_copied, complete=self._complete):
                    self._listener.noted(text)
        for text in exploration_notes(self._selection, self.bounds, self._explored, self._why_not_pruned):
            self._listener.noted(text)

    @property
    def modules(self) -> dict[str, tuple[str, ...]]:
        """What a warm parent imports, by the name of the workers' environment; empty for none."""
        return {"" if home is None else home.name: names for home, names in self._modules.items()}

    @property
    def bounds(self) -> Bounds:
        """What the run was to try, and what has become of it by now."""
        variants = [column.variant for column in self._columns]
        first = self._shard.number == 1
        return bounds_of(self._selection, variants, self._explored, complete=self._complete, counts_in_vain=first)

    # -------------------------------------------------------------- planning

    def _order(self, variant: Variant, schedule: Schedule) -> Order:
        return Order(
            scenario=self._scenario,
            variant=variant,
            schedule=schedule,
            profiles=self._profiles,
            whole_store=self._selection.prune,
        )

    @property
    def _compares_runs(self) -> bool:
        """Whether states of different runs are compared: the recoveries of a variant, with each other."""
        return self._selection.prune and self._selection.depth > 1 and not self._why_not_pruned

    def _plan_probes(self) -> None:
        for column in self._columns:
            for drift in (0, 1):
                order = replace(self._order(column.variant, UNDISTURBED), probe=True, drift=drift)
                self._waiting.append(("probe", replace(order, states=self._compares_runs), None))
            if column is self._columns[0]:  # before any other, so that the first verdicts come early
                self._plan_holds()

    def _plan_holds(self) -> None:
        for value, variant in self._values_with_hold_proof():
            order = replace(self._order(variant, UNDISTURBED), probe=True, hold=value.hold_proof)
            self._waiting.append(("hold", order, None))

    def _values_with_hold_proof(self) -> list[tuple[AxisValue, Variant]]:
        """Return each axis value that is proven by holding, with the first variant that has it."""
        found: dict[tuple[str, str], tuple[AxisValue, Variant]] = {}
        for column in self._columns:
            for axis in self._scenario.axes:
                value = axis.value(column.variant[axis.name])
                if value.hold_proof is not None:
                    found.setdefault((axis.name, value.name), (value, column.variant))
        return list(found.values())

    def _plan_ready(self) -> None:
        """Plan the cells of the variants whose probes are there; parts of a run deal rows out in one order."""
        for column in self._columns:
            if len(column.probes) == 2 and not column.planned:
                column.planned = True
                self._plan_cells(column)
            elif not column.planned and self._rows is not None:
                return

    def _plan_cells(self, column: _Column) -> None:
        first, second = column.probes[0], column.probes[1]
        for text in (*seen_in_probe(first.history), *seen_in_probe(second.history)):
            self._listener.noted(text)
        expectation = yardstick(first.order, first.history, second.history, isolated=self._isolated)
        if self._earlier is not None:
            self._earlier.check(column.variant, expectation)
        self._listener.probed(column.variant, expectation)
        for text in assumed(expectation):
            self._listener.noted(text)
        self._listener.finished(judged(first.order, expectation, first.history, first.duration_s))
        if self._audit is not None and not self._why_not_copied:
            self._points[column.variant] = order_of_points(first.history, second.history)
        exploration = Exploration(
            self._selection,
            prunes=self._selection.prune and not self._why_not_pruned,
            lives_alike=lives_alike(self._profiles),
            rows=self._rows,
        )
        self._explored[column.variant] = exploration
        self._expectations[column.variant] = expectation
        history = self._comparable(column.variant, first, second) if self._compares_runs else first.history
        fresh, known = self._apart(column.variant, exploration.begin(expectation.points, history))
        # Ahead of the probes of later variants, so that the first verdicts come early.
        self._waiting.extendleft(reversed(fresh))
        column.probes.clear()  # histories are large, and with many variants there would be many of them
        self._tell_planned()
        for result in known:
            self._take_cell(result)

    def _comparable(self, variant: Variant, first: RawRun, second: RawRun) -> History:
        """Return the history of the first probe with digests that those of other runs can be compared with."""
        compared = compare_probes(
            (first.history, first.reading),
            (second.history, second.reading),
            declared=self._scenario.worker.mask,
            now_s=time.time(),
        )
        self._masks[variant] = compared.masks
        for text in compared.notes:
            self._listener.noted(f"Not every state is recognised in another run: {text}.")
        return compared.first

    def _apart(self, variant: Variant, schedules: Iterable[Schedule]) -> tuple[list[Task], list[CellResult]]:
        """Return tasks for what is to be run, and the results of what ran before the run was interrupted."""
        fresh: list[Schedule] = []
        known: list[CellResult] = []
        for schedule in schedules:
            result = None if self._earlier is None else self._earlier.result(variant, schedule)
            if result is not None and result.copied and self._audit is None:
                result = None  # nobody would check it
            if result is None:
                fresh.append(schedule)
            else:
                known.append(result)
        return self._tasks(variant, fresh), known

    def _tasks(self, variant: Variant, schedules: Iterable[Schedule]) -> list[Task]:
        masks = self._masks.get(variant)
        orders = (
            replace(
                self._order(variant, schedule),
                states=masks is not None,
                masks=masks,
                copies=self._points.get(variant, ()),
                why_not_copied="" if self._points.get(variant, ("",)) else _NO_ORDER,
            )
            for schedule in schedules
        )
        return [("cell", order, self._expectations[variant]) for order in orders]

    def _plan_audits(self, *, running: int) -> None:
        """Once nothing else is left, plan to run cells again with a real kill that began with a copy."""
        if self._audit is None or self._waiting or running:
            return
        for variant, schedule in self._audit.due():
            _, order, expectation = self._tasks(variant, [schedule])[0]
            self._waiting.append(("audit", replace(order, copies=()), expectation))

    def _tell_planned(self) -> None:
        """Tell how many cells there will be, taking variants that are not known yet to be like those that are."""
        cells = sum(exploration.planned for exploration in self._explored.values())
        columns = len(self._columns)
        self._listener.planned(round(cells * columns / len(self._explored)) + columns)

    # --------------------------------------------------------------- running

    def _work(self, pool: SlotPool) -> None:
        running: dict[Future[CellResult | RawRun], Task] = {}
        try:
            while self._waiting or running:
                while self._waiting and len(running) < self._jobs + 1:
                    _, order, expectation = self._warmed(self._waiting[0])
                    future = pool.submit(_run, order, expectation, limit_s=limit_of(order))
                    running[future] = self._waiting.popleft()
                for future in pool.wait(running):
                    self._take(running.pop(future), future)
                self._plan_audits(running=len(running))
        except BrokenProcessPool:
            lost = pool.lost()
            self._lost_slots += len(lost)
            if not lost or self._lost_slots > _MOST_LOST_SLOTS:
                raise
            self._recover(running, lost)

    def _recover(self, running: Mapping[Future[CellResult | RawRun], Task], lost: Mapping[Future[Any], str]) -> None:
        """Give up the cells that were in the lost slots; take those that are done, and put the others back in line."""
        again: list[Task] = []
        for future, task in running.items():
            kind, order, _ = task
            if future.done() and not future.cancelled() and future.exception() is None:
                self._take(task, future)
            elif future not in lost:
                again.append(task)
            elif kind == "cell":
                self._take_cell(lost_cell(order, lost[future]))
            elif kind == "audit":
                self._check_copy(lost_cell(order, lost[future]))
            else:
                raise HarnessFailed(
                    f"an undisturbed run was lost: {lost[future]}",
                    next_step="run again; if memory ran out, with fewer --jobs",
                )
        self._waiting.extendleft(reversed(again))

    def _warmed(self, task: Task) -> Task:
        """Return the task as it is to be run, once the modules that a warm parent imports are known."""
        kind, order, expectation = task
        modules = self._modules.get(self._scenario.environment_of(order.variant))
        if not self._warm or not modules or (kind == "probe" and order.drift == 0):
            return task
        return (kind, replace(order, warm=modules), expectation)

    def _take(self, task: Task, future: Future[CellResult | RawRun]) -> None:
        kind, order, _ = task
        outcome = future.result()
        if kind == "audit":
            self._check_copy(outcome)
        elif isinstance(outcome, CellResult):
            self._take_cell(outcome)
        elif kind == "hold":
            self._check_hold(order, outcome)
        else:
            column = next(column for column in self._columns if column.variant == order.variant)
            column.probes[order.drift] = outcome
            if outcome.modules:  # another environment has other packages
                self._modules.setdefault(self._scenario.environment_of(order.variant), outcome.modules)
            if len(column.probes) == 2:
                self._plan_ready()

    def _take_cell(self, result: CellResult) -> None:
        """Hand a result on, and put what follows from it in line.

        Raises:
            HarnessFailed: Two crash states that look equal are not, so what was not run is not known.
        """
        exploration = self._explored[result.variant]
        if self._audit is not None and not self._audit.take(result):
            _, order, expectation = self._tasks(result.variant, [result.schedule])[0]
            killed = replace(order, copies=(), why_not_copied="with a copy the cell proved nothing")
            self._waiting.appendleft(("cell", killed, expectation))
            return
        step = exploration.take(result.schedule, result)
        for known in step.known:
            self._listener.finished(known)
        if step.broken:
            raise HarnessFailed(
                f"two crash points look like the same crash state and are not: {step.broken}",
                where="--prune",
                next_step="run without --prune; the worker keeps something that ackgap does not see, or is not "
                "deterministic",
            )
        fresh, again = self._apart(result.variant, step.run)
        self._waiting.extend(fresh)
        if step.run or len(step.known) != 1:
            self._tell_planned()
        for before in again:
            self._take_cell(before)

    def _check_copy(self, outcome: CellResult | RawRun) -> None:
        """Compare a real kill with the cell that had begun with a copy.

        Raises:
            HarnessFailed: They differ, so nothing is known of the other cells that began with one.
        """
        assert isinstance(outcome, CellResult)
        assert self._audit is not None
        if difference := self._audit.compare(outcome):
            self._listener.finished(outcome)  # the only thing in which the reason can be found
            raise HarnessFailed(
                f"a copy is not what a kill leaves: {difference}",
                where="--copies",
                next_step="run without --copies; what the worker does depends on something that no copy has, such as "
                "how long a recovery comes after the death. The results hold the real kill in place of the copy",
            )

    def _check_hold(self, order: Order, run: RawRun) -> None:
        proof = order.hold
        assert proof is not None
        value = next(value for value in self._scenario.values_of(order.variant) if value.hold_proof == proof)
        axis = next(axis.name for axis in self._scenario.axes if value in axis.values)
        words = {"waits": "the worker waited", "goes_on": "the worker went on", "": "it was never reached"}
        seen = f"{proof.hold} was held, and {words[run.hold_outcome]}"
        if run.hold_outcome != proof.expect:
            check_probe_of_hold = f"{self._scenario.source or self._scenario.name}, axes.{axis}.values.{value.name}"
            raise ProbeFailed(
                f"nothing shows that {axis}={value.name} took effect: {seen}",
                where=f"{check_probe_of_hold}.hold_proof",
                next_step="check that the worker hands the value on to its engine",
            )
        self._listener.noted(f"{axis}={value.name} is in force: {seen}.")


def _run(order: Order, expectation: Expectation | None) -> CellResult | RawRun:
    """Run in the slot that this process is: judged where there is a yardstick."""
    if expectation is None:
        return run_raw(order)
    return run_cell(CellTask(order=order, expectation=expectation))
