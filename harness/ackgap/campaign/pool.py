"""The pool of slots: processes that run one cell each, looked after, so that the loss of one costs only its cell."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from multiprocessing.util import get_temp_dir
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

import psutil

from ackgap.errors import HarnessFailed
from ackgap.execute.ground import Ground, kill_left
from ackgap.execute.order import Order
from ackgap.execute.slot import MARKER_FILE, SlotSpec, occupied, open_slot
from ackgap.scenario.scenario import Scenario

__all__ = ["SlotPool", "Work", "limit_of", "with_pool"]

T = TypeVar("T")

STOPPED_LIMIT_S = 5.0
"""How long a slot may be stopped (SIGSTOP) before it is given up."""
MARGIN_S = 120.0
"""What a cell may take beyond the limits of its lives."""
_SLOT_MODULE = open_slot.__module__
_TEMPORARY_PATH_LIMIT = 70
"""Of the 107 characters that the path of a socket may have."""
_LOOK_EVERY_S = 1.0
_END_LIMIT_S = 10.0
_TOLD_TO_END = (128 + signal.SIGTERM, -signal.SIGTERM)
"""Exit codes of slots that ended because we said so."""


class Work(Protocol):
    """What is done with a pool of slots."""

    def __call__(self, pool: SlotPool, /) -> None:
        """Use the pool until the work is done."""


class SlotPool:
    """Slots of a run. A context manager; no slot outlives it.

    Args:
        scenario: Whose targets the slots have.
        ground: Of the run.
        jobs: How many slots.
        isolated: Each in a network of its own.
    """

    def __init__(self, scenario: Scenario, ground: Ground, jobs: int, *, isolated: bool) -> None:
        context = _context()
        spec = SlotSpec(
            directory=ground.directory,
            environment=dict(os.environ),
            run_token=ground.run_token,
            start_directory=Path(get_temp_dir()) if context.get_start_method() == "forkserver" else None,
            target_names=tuple(target.name for target in scenario.targets),
            isolated=isolated,
            external_state=scenario.worker.external_state,
            services=scenario.services,
            container=scenario.worker.container,
            owner=ground.owner,
            links=scenario.links,
            hosts=scenario.hosts,
            allow_hosts=scenario.worker_hosts,
            reset_outside=scenario.worker.reset is not None
            and any(target.upstream is not None for target in scenario.targets),
        )
        self._ground = ground
        self._pool = ProcessPoolExecutor(
            jobs, mp_context=context, initializer=open_slot, initargs=(spec, context.Value("i", 0))
        )
        self._slots: dict[int, BaseProcess] = {}
        self._tasks: dict[int, tuple[Future[Any], float]] = {}
        self._number = 0
        self._looked_s = 0.0
        self._stopped_since_s: dict[int, float] = {}
        self._given_up: dict[int, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        slots = list(self._slots.values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for slot in slots:
            if slot.is_alive():
                slot.terminate()
        ends_s = time.monotonic() + _END_LIMIT_S
        for slot in slots:
            slot.join(max(0.1, ends_s - time.monotonic()))
            if slot.is_alive():  # stopped, or stuck in the kernel
                slot.kill()
                slot.join(1)
        if self._given_up or any(slot.exitcode not in (0, *_TOLD_TO_END) for slot in slots):
            kill_left(self._ground)  # what a slot that was killed could not take along

    def submit(self, function: Callable[..., T], *arguments: object, limit_s: float = float("inf")) -> Future[T]:
        """Have a function called in a slot.

        Args:
            function: Of a module, so that it can be pickled by name.
            arguments: Anything that can be pickled.
            limit_s: Real seconds after which the slot counts as hung.

        Raises:
            BrokenProcessPool: A slot has died meanwhile.
        """
        self._number += 1
        with _nobodys_main():
            future = self._pool.submit(occupied, self._number, function, *arguments)
        self._tasks[self._number] = (future, limit_s)
        self._slots.update(getattr(self._pool, "_processes", None) or {})
        return future

    def wait(self, futures: Iterable[Future[T]]) -> list[Future[T]]:
        """Wait until one is done, or for a second; return those that are. Looks after the slots on the way.

        Raises:
            BrokenProcessPool: A slot has died; `lost` says what that cost.
        """
        done, _ = wait(list(futures), timeout=_LOOK_EVERY_S, return_when=FIRST_COMPLETED)
        for future in done:
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                raise error
        self._tasks = {number: task for number, task in self._tasks.items() if task[0] not in done}
        now_s = time.monotonic()
        if now_s - self._looked_s >= _LOOK_EVERY_S:
            self._looked_s = now_s
            self._look_after(now_s)
        return list(done)

    def lost(self) -> dict[Future[Any], str]:
        """After the pool broke: return each task that a slot was lost with, and what became of that slot."""
        for slot in self._slots.values():
            slot.join(_END_LIMIT_S)
        found: dict[Future[Any], str] = {}
        for pid, number, _ in self._markers():
            slot_lost = self._slots.get(pid)
            if slot_lost is None or number not in self._tasks or slot_lost.exitcode in (None, 0, *_TOLD_TO_END):
                continue
            found[self._tasks[number][0]] = self._given_up.get(pid) or _how_it_died(slot_lost.exitcode)
        return found

    def _look_after(self, now_s: float) -> None:
        """Kill each slot that is stopped or hung; the pool then breaks, and `lost` tells why."""
        for pid, number, since_s in self._markers():
            if pid not in self._slots or pid in self._given_up:
                continue
            limit_s = self._tasks[number][1] if number in self._tasks else float("inf")
            if not _is_stopped(pid):
                self._stopped_since_s.pop(pid, None)
            elif now_s - self._stopped_since_s.setdefault(pid, now_s) >= STOPPED_LIMIT_S:
                self._given_up[pid] = f"its slot was stopped from outside (SIGSTOP) for {STOPPED_LIMIT_S:g} s"
            if now_s - since_s > limit_s:
                self._given_up[pid] = f"its slot did not come back within {limit_s:g} s"
            if pid in self._given_up:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _markers(self) -> Iterator[tuple[int, int, float]]:
        """Yield process id, task and beginning (monotonic seconds) of each slot that is at work."""
        for file in self._ground.directory.glob(f"s*/{MARKER_FILE}"):
            with contextlib.suppress(OSError, ValueError):  # just being written, or gone again
                pid, number, since_s = json.loads(file.read_text(encoding="utf-8"))
                yield int(pid), int(number), float(since_s)


def _is_stopped(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_STOPPED)
    except psutil.Error:
        return False


def _how_it_died(exit_code: int | None) -> str:
    if exit_code == -signal.SIGKILL:
        return "its slot was killed from outside (SIGKILL), as the kernel does when memory runs out"
    how = f"signal {-exit_code}" if exit_code is not None and exit_code < 0 else f"exit status {exit_code}"
    return f"its slot ended with {how}"


def _context() -> BaseContext:
    """Return how slots are started: forked from a process without threads that has imported what they need.

    That process is made at the first run and serves all runs of this one. A system whose libraries do not survive a
    fork starts each slot anew, and so do we where the path of its socket would be too long.
    """
    if not sys.platform.startswith("linux") or len(tempfile.gettempdir()) > _TEMPORARY_PATH_LIMIT:
        return multiprocessing.get_context("spawn")
    server: Any = forkserver._forkserver  # else a list of the user's own would be lost
    if _SLOT_MODULE not in server._preload_modules:
        others = [name for name in server._preload_modules if name != "__main__"]
        multiprocessing.set_forkserver_preload([*others, _SLOT_MODULE])
    return multiprocessing.get_context("forkserver")


@contextlib.contextmanager
def _nobodys_main() -> Iterator[None]:
    """Keep a new slot from importing the caller's main module: it may be a script, or standard input."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def limit_of(order: Order) -> float:
    """Return how many real seconds a cell may take at most before its slot counts as hung."""
    limits = order.scenario.limits
    lives = len(order.schedule.by_life) + limits.restarts + 2
    commands = (
        2
        + len(order.scenario.checks)
        + len(order.scenario.prepare)
        + 2 * len(order.scenario.services)
        + (lives if order.scenario.worker.finished_when else 0)
    )
    once_s = lives * (2 * limits.life_s + limits.settle_s + 15) + commands * 60
    return once_s * order.schedule.repeats + MARGIN_S


def with_pool(scenario: Scenario, ground: Ground, jobs: int, *, isolated: bool, work: Work) -> None:
    """Do work with a pool of slots, and end the slots whatever happens.

    Raises:
        AckgapError: As the work raises it; HarnessFailed where a slot died.
    """
    with SlotPool(scenario, ground, jobs, isolated=isolated) as pool:
        try:
            work(pool)
        except BrokenProcessPool as error:
            reason = next(iter(pool.lost().values()), "a slot ended, or could not be set up")
            raise HarnessFailed(
                f"a slot died: {reason}",
                next_step="the finished cells are kept; look for an out-of-memory kill in the kernel's log, or use "
                "fewer --jobs",
            ) from error
