"""The campaign: probes first, then every cell they lead to, on as many slots as there are.

Results are handed on as they come, so that a run that is interrupted, or ends in an error, keeps what it has.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import types
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from typing import Protocol

from ackgap.campaign.cell import CellTask, RawRun, judged, run_cell, run_raw
from ackgap.campaign.probe import check_probe, check_state, expectation_of
from ackgap.errors import HarnessFailed, ProbeFailed
from ackgap.execute.ground import Ground, clear_ground, prepare_ground
from ackgap.execute.isolation import can_isolate
from ackgap.execute.order import Order
from ackgap.execute.slot import SlotSpec, open_slot
from ackgap.execute.workspace import OutsideState
from ackgap.model.event import EgressAttempted, InjectorReady
from ackgap.model.expectation import Expectation
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import UNDISTURBED, Schedule
from ackgap.plan.exhaustive import every_point_once
from ackgap.scenario.scenario import AxisValue, Scenario
from ackgap.target.profile import Profile, load_profile

__all__ = ["Campaign", "Listener", "Selection", "run_one_cell"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which part of the matrix to run.

    Attributes:
        variants: Partial variants; a variant is run if it agrees with one of them, every one where there is none.
        points: Globs over crash points; every point where there is none.
        schedules: Run these; the kills at every point then only where `points` names some.
    """

    variants: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    points: tuple[str, ...] = ()
    schedules: tuple[Schedule, ...] = ()

    def has(self, variant: Variant) -> bool:
        """Whether a variant is to be run."""
        chosen = variant.as_mapping()
        return not self.variants or any(
            all(chosen.get(axis) in values for axis, values in partial.items()) for partial in self.variants
        )

    def chosen(self, points: Sequence[str]) -> tuple[Schedule, ...]:
        """Return the schedules to run in a variant whose probe came to these points."""
        kills = every_point_once(points, self.points) if self.points or not self.schedules else ()
        return (*kills, *(schedule for schedule in self.schedules if schedule not in kills))


class Listener(Protocol):
    """Whoever follows a campaign. Called in the campaign's own thread, between cells."""

    def began(self, variants: Sequence[Variant], isolated: bool) -> None:
        """Nothing has run yet; the variants are known, and whether the workers get a network of their own."""

    def probed(self, variant: Variant, expectation: Expectation) -> None:
        """A variant's yardstick is known."""

    def planned(self, cells: int) -> None:
        """How many cells there will be, as far as is known."""

    def noted(self, text: str) -> None:
        """Something that a reader of the results should know."""

    def finished(self, result: CellResult) -> None:
        """A cell, or the undisturbed run of a variant, has its verdict."""


@dataclass(slots=True)
class _Column:
    """A variant on its way: waiting for its probes, then known."""

    variant: Variant
    probes: dict[int, RawRun] = field(default_factory=dict)


Task = tuple[str, Order, Expectation | None]


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
    ) -> None:
        self._scenario = scenario
        self._selection = selection
        self._listener = listener
        shared = bool(scenario.worker.external_state or scenario.worker.reset)
        self._jobs = 1 if shared else max(1, jobs or os.cpu_count() or 1)
        self._profiles: dict[str, Profile] = {spec.name: load_profile(spec.profile) for spec in scenario.targets}
        self._isolated = wants_isolation(scenario, network)
        self._columns = [_Column(variant) for variant in scenario.variants() if selection.has(variant)]
        self._waiting: deque[Task] = deque()
        self._cells = 0
        self._known = 0
        self._warm = warm
        self._modules: tuple[str, ...] = ()

    def run(self) -> None:
        """Run until every cell has its verdict.

        Raises:
            AckgapError: A probe proved nothing, or the harness failed; what had finished by then has been handed on.
            KeyboardInterrupt: As everywhere; no process is left behind.
        """
        self._listener.began([column.variant for column in self._columns], self._isolated)
        ground = prepare_ground()
        outside = OutsideState(self._scenario.worker.external_state, ground.directory / "outside")
        outside.save()
        try:
            self._plan_probes()
            with_pool(self._scenario, ground, self._jobs, isolated=self._isolated, work=self._work)
        finally:
            outside.restore()
            clear_ground(ground)

    # -------------------------------------------------------------- planning

    def _order(self, variant: Variant, schedule: Schedule) -> Order:
        return Order(scenario=self._scenario, variant=variant, schedule=schedule, profiles=self._profiles)

    def _plan_probes(self) -> None:
        for value, variant in self._values_with_hold_proof():
            order = replace(self._order(variant, UNDISTURBED), probe=True, hold=value.hold_proof)
            self._waiting.append(("hold", order, None))
        for column in self._columns:
            for drift in (0, 1):
                order = replace(self._order(column.variant, UNDISTURBED), probe=True, drift=drift)
                self._waiting.append(("probe", order, None))

    def _values_with_hold_proof(self) -> list[tuple[AxisValue, Variant]]:
        """Return each axis value that is proven by holding, with the first variant that has it."""
        found: dict[tuple[str, str], tuple[AxisValue, Variant]] = {}
        for column in self._columns:
            for axis in self._scenario.axes:
                value = axis.value(column.variant[axis.name])
                if value.hold_proof is not None:
                    found.setdefault((axis.name, value.name), (value, column.variant))
        return list(found.values())

    def _plan_cells(self, column: _Column) -> None:
        first, second = column.probes[0], column.probes[1]
        check_state(first.history, second.history, self._scenario, column.variant)
        for probe in (first, second):
            self._note_egress(probe.history)
            self._note_unseen(probe.history)
            check_probe(probe.history, self._scenario, column.variant, isolated=self._isolated)
        expectation = expectation_of(self._scenario, column.variant, self._profiles, first.history, second.history)
        self._listener.probed(column.variant, expectation)
        self._note_assumptions(expectation)
        self._listener.finished(judged(first.order, expectation, first.history, first.duration_s))
        schedules = self._selection.chosen(expectation.points)
        cells = [("cell", self._order(column.variant, schedule), expectation) for schedule in schedules]
        # Ahead of the probes of later variants, so that the first verdicts come early.
        self._waiting.extendleft(reversed(cells))
        self._cells += len(cells)
        self._known += 1
        self._listener.planned(round(self._cells * len(self._columns) / self._known) + len(self._columns))

    def _note_egress(self, history: History) -> None:
        for event in history.of(EgressAttempted):
            outcome = "allowed" if event.allowed else "refused"
            self._listener.noted(f"The worker tried to reach {event.host}, which is not this machine: {outcome}.")

    def _note_unseen(self, history: History) -> None:
        if not history.of(InjectorReady):
            self._listener.noted(
                "No injector came up in the worker, so it was killed only where the targets see it: requests received "
                "and applied. What it writes to its own store was not told apart; that takes a Python worker."
            )

    def _note_assumptions(self, expectation: Expectation) -> None:
        for facts in expectation.operations.values():
            if facts.identity_learned and facts.effectful:
                same = ", ".join(facts.identity) or "nothing"
                differing = ", ".join(facts.content_learned) or "nothing"
                self._listener.noted(
                    f"{facts.name}: nobody described this operation, so its identity is assumed: the same in both "
                    f"undisturbed runs: {same}; different: {differing}. --read and --expect override it."
                )
        for text in expectation.nondeterministic:
            self._listener.noted(f"Not deterministic: {text}.")

    # --------------------------------------------------------------- running

    def _work(self, pool: ProcessPoolExecutor) -> None:
        running: dict[Future[CellResult | RawRun], Task] = {}
        while self._waiting or running:
            while self._waiting and len(running) < self._jobs + 1:
                task = self._waiting.popleft()
                running[_submit(pool, self._warmed(task))] = task
            done, _ = wait(list(running), timeout=1.0, return_when=FIRST_COMPLETED)
            for future in done:
                self._take(running.pop(future), future)

    def _warmed(self, task: Task) -> Task:
        """Return the task as it is to be run, once the modules that a warm parent imports are known."""
        kind, order, expectation = task
        if not self._warm or not self._modules or (kind == "probe" and order.drift == 0):
            return task
        return (kind, replace(order, warm=self._modules), expectation)

    def _take(self, task: Task, future: Future[CellResult | RawRun]) -> None:
        kind, order, _ = task
        outcome = future.result()
        if isinstance(outcome, CellResult):
            self._listener.finished(outcome)
        elif kind == "hold":
            self._check_hold(order, outcome)
        else:
            column = next(column for column in self._columns if column.variant == order.variant)
            column.probes[order.drift] = outcome
            self._modules = self._modules or outcome.modules
            if len(column.probes) == 2:
                self._plan_cells(column)

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


def _submit(pool: ProcessPoolExecutor, task: Task) -> Future[CellResult | RawRun]:
    _, order, expectation = task
    with _nobodys_main():
        return pool.submit(_run, order, expectation)


@contextlib.contextmanager
def _nobodys_main() -> Iterator[None]:
    """Keep a new slot from importing the caller's main module: it may be a script, or standard input."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _run(order: Order, expectation: Expectation | None) -> CellResult | RawRun:
    """Run in the slot that this process is: judged where there is a yardstick."""
    if expectation is None:
        return run_raw(order)
    return run_cell(CellTask(order=order, expectation=expectation))


def wants_isolation(scenario: Scenario, network: str) -> bool:
    """Return whether the workers are to get a network of their own.

    Raises:
        HarnessFailed: It was asked for and is not to be had.
    """
    if network == "host" or (network == "auto" and scenario.worker.allow_hosts):
        return False
    possible = can_isolate()
    if network == "isolated" and not possible:
        raise HarnessFailed(
            "this machine does not let ackgap make a network namespace",
            where="--network isolated",
            next_step="run as root, or enable unprivileged user namespaces, or use --network host",
        )
    return possible


class Work(Protocol):
    """What is done with a pool of slots."""

    def __call__(self, pool: ProcessPoolExecutor, /) -> None:
        """Use the pool until the work is done."""


def with_pool(scenario: Scenario, ground: Ground, jobs: int, *, isolated: bool, work: Work) -> None:
    """Do work with a pool of slots, and end the slots whatever happens.

    Raises:
        AckgapError: As the work raises it; HarnessFailed where a slot died.
    """
    context = multiprocessing.get_context("spawn")
    spec = SlotSpec(
        directory=ground.directory,
        run_token=ground.run_token,
        target_names=tuple(target.name for target in scenario.targets),
        isolated=isolated,
        external_state=scenario.worker.external_state,
    )
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=open_slot, initargs=(spec, context.Value("i", 0)))
    try:
        work(pool)
        pool.shutdown(wait=True)
    except BrokenProcessPool as error:
        raise HarnessFailed(
            "a slot died: it was killed, ran out of memory, or could not be set up",
            next_step="the finished cells are kept; look for an out-of-memory kill in the kernel's log, or use fewer "
            "--jobs",
        ) from error
    finally:
        _end_slots(pool)


def _end_slots(pool: ProcessPoolExecutor) -> None:
    processes = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        if process.is_alive():
            process.terminate()
    for process in processes:
        process.join(10)


def run_one_cell(
    scenario: Scenario, variant: Variant, schedule: Schedule, expectation: Expectation, *, network: str = "auto"
) -> CellResult:
    """Run one cell in a slot of its own; what `ackgap replay` does.

    Raises:
        AckgapError: The cell could not be run.
    """
    profiles = {spec.name: load_profile(spec.profile) for spec in scenario.targets}
    order = Order(scenario=scenario, variant=variant, schedule=schedule, profiles=profiles)
    results: list[CellResult] = []

    def work(pool: ProcessPoolExecutor, /) -> None:
        with _nobodys_main():
            future = pool.submit(run_cell, CellTask(order=order, expectation=expectation))
        results.append(future.result())

    ground = prepare_ground()
    outside = OutsideState(scenario.worker.external_state, ground.directory / "outside")
    outside.save()
    try:
        with_pool(scenario, ground, 1, isolated=wants_isolation(scenario, network), work=work)
    finally:
        outside.restore()
        clear_ground(ground)
    return results[0]
