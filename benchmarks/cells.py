"""Cells a second, against the script that one would write by hand: two launches and a SIGKILL for each point.

The subjects are killed at every one of their calls, when that has taken effect. The naive script does this one point
after the other; its seconds a cell are measured at the first point, the middle one and the last, before and after each
measurement of ours, in this one run. ackgap has as many slots as there are cores. Its cells include the parking, the
proof of death, the digests of the store, the history and the judging; those that begin with a copy include the
undisturbed run that is copied. What comes once for a whole run, the start of the slots and of their warm parents, is
stated apart.

Processor time is that of the whole machine meanwhile, so nothing else should run on it. Memory is the largest that the
slots, their warm parents and the workers had together (PSS, looked at ten times a second).

python benchmarks/cells.py [--write] [SUBJECT ...]
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import psutil
from measure import Interval, keep, machine
from naive_script import Subject, kill_by_hand

from ackgap.campaign.cell import CellTask, RawRun, run_cell, run_raw
from ackgap.campaign.copying import order_of_points
from ackgap.campaign.pool import SlotPool
from ackgap.campaign.probe import yardstick
from ackgap.execute.ground import Ground, clear_ground, prepare_ground
from ackgap.execute.order import Order
from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import UNDISTURBED, Schedule
from ackgap.model.verdict import VerdictKind
from ackgap.scenario.load import load_scenario
from ackgap.target.profiles.profile import load_profile

SUBJECTS_DIRECTORY = Path(__file__).resolve().parent / "subjects"
ROUNDS = 2


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A subject.

    Attributes:
        folder: Of its scenario, in `subjects`.
        variant: Of it.
        naive: The same for the naive script.
        calls: How many calls it makes, and is killed at.
        needs: Python modules.
    """

    title: str
    folder: str
    variant: str = "default"
    calls: int
    needs: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)

    @property
    def naive(self) -> Subject:
        """The subject as the naive script takes it."""
        folder = SUBJECTS_DIRECTORY / self.folder
        return Subject(
            title=self.title, folder=folder, script="worker.py", urls=("TICKETS_URL",), kill_at="/tickets", run=(),
            schedule="", env=self.env,
        )  # fmt: skip

    @property
    def points(self) -> list[str]:
        """Where it is killed."""
        return [f"tickets.create#{number}:applied" for number in range(1, self.calls + 1)]


MEASURED = (
    Measured(title="Light Python worker, 2 calls", folder="light", variant="count=2", calls=2, env={"COUNT": "2"}),
    Measured(title="Light Python worker, 10 calls", folder="light", variant="count=10", calls=10, env={"COUNT": "10"}),
    Measured(
        title="Light Python worker, 100 calls", folder="light", variant="count=100", calls=100, env={"COUNT": "100"}
    ),
    Measured(
        title="LangGraph with SQLite, 12 calls",
        folder="langgraph-steps",
        variant="steps=12",
        calls=12,
        needs=("langgraph.checkpoint.sqlite",),
        env={"STEPS": "12"},
    ),
    Measured(
        title="LangGraph with SQLite, 40 calls",
        folder="langgraph-steps",
        variant="steps=40",
        calls=40,
        needs=("langgraph.checkpoint.sqlite",),
        env={"STEPS": "40"},
    ),
)


class Slots:
    """Slots of a subject's scenario, ready to run its cells."""

    def __init__(self, subject: Measured, pool: SlotPool) -> None:
        self._pool = pool
        scenario = load_scenario(SUBJECTS_DIRECTORY / subject.folder)
        profiles = {target.name: load_profile(target.profile) for target in scenario.targets}
        variant = Variant.parse(subject.variant)
        self._order = Order(scenario=scenario, variant=variant, schedule=UNDISTURBED, profiles=profiles)
        first, second = self._probe(0), self._probe(1)
        self._expectation: Expectation = yardstick(self._order, first.history, second.history, isolated=True)
        self._modules = first.modules
        self._points = order_of_points(first.history, second.history)
        self._count = os.cpu_count() or 1

    def _probe(self, drift: int) -> RawRun:
        return self._pool.submit(run_raw, replace(self._order, probe=True, drift=drift)).result()

    def run(self, points: list[str], *, warm: bool, copies: bool) -> list[CellResult]:
        """Run cells, as many at a time as there are slots."""
        tasks = [
            CellTask(
                order=replace(
                    self._order,
                    schedule=Schedule.parse(point),
                    warm=self._modules if warm else (),
                    copies=self._points if copies else (),
                ),
                expectation=self._expectation,
            )
            for point in points
        ]
        results = [future.result() for future in [self._pool.submit(run_cell, task) for task in tasks]]
        wrong = [result.cell for result in results if result.verdict.kind is not VerdictKind.DUPLICATE]
        if wrong or any(result.copied is not copies for result in results):
            raise SystemExit(f"not what was to be measured: {wrong or 'cells that were copied, or were not'}")
        return results

    def warm_up(self) -> float:
        """Have every slot make its warm parents; return how many seconds that took."""
        began_s = time.perf_counter()
        self.run([self._points_of_calls()[0]] * (4 * self._count), warm=True, copies=False)
        return time.perf_counter() - began_s

    def _points_of_calls(self) -> list[str]:
        return [point for point in self._points if point.endswith(":applied")]


@contextmanager
def slots_for(subject: Measured) -> Iterator[Slots]:
    """Yield slots that are there."""
    scenario = load_scenario(SUBJECTS_DIRECTORY / subject.folder)
    ground: Ground = prepare_ground()
    try:
        with SlotPool(scenario, ground, os.cpu_count() or 1, isolated=True) as pool:
            yield Slots(subject, pool)
    finally:
        clear_ground(ground)


@dataclass(frozen=True)
class Cost:
    """What a cell costs.

    Attributes:
        wall_s: Real seconds, with all slots at work.
        cpu_s: Of all processors.
        memory_bytes: At most, of all of it together.
    """

    wall_s: float
    cpu_s: float
    memory_bytes: int


def cost_of(slots: Slots, points: list[str], *, copies: bool) -> Cost:
    """Run cells and return what each costs."""
    watch = _MemoryWatch()
    busy_s = _busy_s()
    with watch:
        began_s = time.perf_counter()
        slots.run(points, warm=True, copies=copies)
        wall_s = time.perf_counter() - began_s
    return Cost(wall_s / len(points), (_busy_s() - busy_s) / len(points), watch.most_bytes)


def _busy_s() -> float:
    times = psutil.cpu_times()
    return float(times.user + times.system + times.nice)


class _MemoryWatch:
    def __init__(self) -> None:
        self.most_bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.5):
            found = 0
            for process in psutil.Process().children(recursive=True):
                try:
                    found += process.memory_full_info().pss
                except psutil.Error:
                    continue
            self.most_bytes = max(self.most_bytes, found)


def naive_cell_s(subject: Measured) -> list[float]:
    """Return the naive script's seconds at the first point, the middle one and the last."""
    found = []
    for number in sorted({1, (subject.calls + 1) // 2, subject.calls}):
        began_s = time.perf_counter()
        kill_by_hand(subject.naive, number=number)
        found.append(time.perf_counter() - began_s)
    return found


def compare(subject: Measured) -> Iterator[str]:
    """Measure a subject; yield lines."""
    # A round has at least a dozen cells, or the first and the last of them would be most of it.
    points = subject.points * max(1, 24 // subject.calls)
    costs: dict[bool, list[Cost]] = {False: [], True: []}
    ratios: dict[bool, list[float]] = {False: [], True: []}
    naive: list[float] = []
    ready: list[float] = []
    for _ in range(ROUNDS):
        with slots_for(subject) as slots:
            ready.append(slots.warm_up())
            before = statistics.mean(naive_cell_s(subject))
            ours = {copies: cost_of(slots, points, copies=copies) for copies in (False, True)}
            after = statistics.mean(naive_cell_s(subject))
        for copies, cost in ours.items():
            costs[copies].append(cost)
            ratios[copies].append((before + after) / 2 / cost.wall_s)
        naive += [before, after]
    yield f"{subject.title}: {len(points)} cells, {ROUNDS} rounds"
    yield f"  naive script, one cell          {Interval.of(naive).text()} s"
    yield f"  warm parents ready, once a run  {Interval.of(ready).text()} s"
    for copies, name in ((False, "real kills"), (True, "copied cells")):
        cells = Interval.of([1 / cost.wall_s for cost in costs[copies]])
        yield f"  {name:<13} cells a second    {cells.text('8.1f')}"
        yield f"  {'':<13} naive/ackgap      {Interval.of(ratios[copies]).text('8.1f')}"
        processor = Interval.of([cost.cpu_s * 1000 for cost in costs[copies]])
        yield f"  {'':<13} processor time    {processor.text('8.0f')} ms a cell"
        yield f"  {'':<13} memory, at most   {max(cost.memory_bytes for cost in costs[copies]) / 2**20:8.0f} MB"
    yield ""


def main(arguments: list[str]) -> int:
    """Measure and print."""
    wanted = [word for word in arguments if word != "--write"]
    lines = [
        f"machine: {machine()}",
        "Median of rounds [smallest to largest]. naive/ackgap above 1: ackgap is the faster one.",
        "",
    ]
    print(*lines, sep="\n", flush=True)
    for subject in MEASURED:
        if wanted and not any(word in subject.title for word in wanted):
            continue
        missing = [name for name in subject.needs if importlib.util.find_spec(name.partition(".")[0]) is None]
        found = [f"{subject.title}: left out, {', '.join(missing)} not installed"] if missing else compare(subject)
        for line in found:
            print(line, flush=True)
            lines.append(line)
    keep(__file__, lines, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
