"""A slot: one process that runs one cell at a time, at the same paths and addresses from cell to cell.

The slot is what a pool's process becomes. It is the parent of everything that its cells start, lends them its targets,
and dies with the harness, taking everything along.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from ackgap.errors import HarnessFailed
from ackgap.execute import containment, isolation, workspace
from ackgap.execute.nursery import Nursery
from ackgap.execute.order import Order, Surroundings
from ackgap.execute.supervisor import Supervisor
from ackgap.execute.witness import NameWitness
from ackgap.model.event import Event
from ackgap.model.history import History
from ackgap.target.service import TargetService

__all__ = ["Finished", "SlotSpec", "close_slot", "open_slot", "run_order"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSpec:
    """What all slots of a run have in common.

    Attributes:
        directory: The run's own temporary directory; each slot has one below it.
        run_token: In the environment of every process of the run.
        target_names: Names of the scenario's targets.
        isolated: In a network of its own.
        external_state: Paths outside the cell; their saved copies are below `directory`.
    """

    directory: Path
    run_token: str
    target_names: tuple[str, ...]
    isolated: bool
    external_state: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What came of an order.

    Attributes:
        history: What happened.
        hold_outcome: What a hold proof showed, empty without one.
        modules: Third-party modules that a Python worker had imported by the end of an undisturbed run.
    """

    history: History
    hold_outcome: str
    modules: tuple[str, ...]


class _Slot:
    def __init__(self, spec: SlotSpec, number: int) -> None:
        self._spec = spec
        self._directory = spec.directory / f"s{number}"
        self._directory.mkdir(parents=True, exist_ok=True)
        self._loop = asyncio.new_event_loop()
        self._targets = {name: TargetService(name) for name in spec.target_names}
        self._nurseries: dict[tuple[object, ...], Nursery] = {}
        self._witness = NameWitness() if spec.isolated else None
        self._loop.run_until_complete(self._listen())
        self._outside = (
            workspace.OutsideState(spec.external_state, spec.directory / "outside") if spec.external_state else None
        )

    async def _listen(self) -> None:
        for service in self._targets.values():
            await service.start()
        if self._witness is not None:
            await self._witness.listen()

    def run(self, order: Order, watch: Callable[[Event], None] | None) -> Finished:
        supervisor = Supervisor(
            order,
            Surroundings(
                directory=self._directory,
                targets=self._targets,
                run_token=self._spec.run_token,
                outside=self._outside,
                witness=self._witness,
                nursery_for=self._nursery_for,
            ),
            watch=watch,
        )
        history = self._loop.run_until_complete(supervisor.run())
        return Finished(history=history, hold_outcome=supervisor.hold_outcome, modules=supervisor.modules)

    def _nursery_for(self, python: str, modules: tuple[str, ...], env: Mapping[str, str]) -> Nursery:
        key = (python, modules, tuple(sorted(env.items())))
        if key not in self._nurseries:
            self._nurseries[key] = Nursery(python, modules, env)
        return self._nurseries[key]


_slot: _Slot | None = None


def open_slot(spec: SlotSpec, numbers: Synchronized[int]) -> None:
    """Turn this process into a slot; the initializer of a pool.

    Args:
        spec: What all slots have in common.
        numbers: Counts slots; each takes the next.
    """
    global _slot  # noqa: PLW0603 - a process is one slot
    # Handlers, not SIG_IGN: a handler is reset by exec, an ignored signal would be inherited by the worker.
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    signal.signal(signal.SIGTERM, _end_now)
    os.environ["ACKGAP_RUN"] = spec.run_token
    if spec.isolated and not isolation.isolate_network():
        raise HarnessFailed(
            "a slot could not get a network of its own",
            next_step="run again with --network host; calls of workers that are not Python are then not refused",
        )
    containment.become_subreaper()
    _die_with_harness(spec)
    with numbers.get_lock():
        numbers.value += 1
        number = numbers.value
    _slot = _Slot(spec, number)


def run_order(order: Order, watch: Callable[[Event], None] | None = None) -> Finished:
    """Run one cell in this process's slot.

    Raises:
        AckgapError: The cell could not be run.
    """
    assert _slot is not None, "this process is not a slot"
    try:
        return _slot.run(order, watch)
    except OSError as error:
        raise HarnessFailed(
            f"a cell could not be run: {error.strerror or error}",
            where=str(error.filename or tempfile.gettempdir()),
            next_step="make room or mend the permissions there; the finished cells are kept",
        ) from error


def close_slot() -> None:
    """Kill whatever this process's cells have left."""
    containment.kill_all(lambda: containment.descendants(os.getpid(), with_spared=True), limit_s=5)


def _end_now(_number: int, _frame: object) -> None:
    close_slot()
    os._exit(128 + signal.SIGTERM)


def _die_with_harness(spec: SlotSpec) -> None:
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        wait([parent.sentinel])
        close_slot()
        with contextlib.suppress(OSError):
            workspace.remove_tree(spec.directory)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="ackgap-harness-watch").start()
