"""A slot: one process that runs one cell at a time, at the same paths and addresses from cell to cell.

The slot is what a pool's process becomes. It is the parent of everything that its cells start, lends them its targets,
and dies with the harness, taking everything along.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.util import Finalize
from pathlib import Path
from typing import TypeVar

from ackgap.errors import HarnessFailed
from ackgap.execute import containment, isolation, workspace
from ackgap.execute.containers.dock import Dock
from ackgap.execute.copied_runs import CopiedRuns
from ackgap.execute.copies import Beginning, Copies
from ackgap.execute.forwarder import reset_door_of
from ackgap.execute.ground import remove_ground
from ackgap.execute.interception.interceptor import Interceptor
from ackgap.execute.interposing import Interposing
from ackgap.execute.nurseries import Nurseries
from ackgap.execute.order import Order, Surroundings
from ackgap.execute.services.household import Household
from ackgap.execute.state.reading import NOTHING_READ, Reading
from ackgap.execute.supervisor import Supervisor
from ackgap.execute.witness import NameWitness
from ackgap.model.event import Event
from ackgap.model.history import History
from ackgap.scenario.container import ContainerSpec
from ackgap.scenario.services import ServiceSpec
from ackgap.target.service import TargetService

__all__ = ["MARKER_FILE", "Finished", "SlotSpec", "close_slot", "occupied", "open_slot", "run_order"]

T = TypeVar("T")

MARKER_FILE = "at-work.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSpec:
    """What all slots of a run have in common.

    Attributes:
        directory: The run's own temporary directory; each slot has one below it.
        environment: Of the run's own process.
        start_directory: Where the socket is by which slots are started; it goes with the harness.
        run_token: In the environment of every process of the run.
        target_names: Names of the scenario's targets.
        isolated: In a network of its own.
        external_state: Paths outside the cell; their saved copies are below `directory`.
        services: Servers beside the cells; each slot has its own.
        links: Names of the targets and services that the worker reaches through Toxiproxy.
        hosts: Names of targets by the host that each stands for.
        allow_hosts: Hosts that the worker may reach for real.
        container: What the worker runs in; None where it is a plain process.
        owner: The harness, as `pid:seconds`.
        reset_outside: The reset command is run by the forwarder, outside of the slots' networks.
    """

    directory: Path
    environment: Mapping[str, str]
    run_token: str
    target_names: tuple[str, ...]
    isolated: bool
    external_state: tuple[Path, ...] = ()
    services: tuple[ServiceSpec, ...] = ()
    links: tuple[str, ...] = ()
    hosts: Mapping[str, str] = field(default_factory=dict)
    allow_hosts: tuple[str, ...] = ()
    reset_outside: bool = False
    container: ContainerSpec | None = None
    owner: str = ""
    start_directory: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What came of an order.

    Attributes:
        history: What happened.
        hold_outcome: What a hold proof showed, empty without one.
        modules: Third-party modules that a Python worker had imported by the end of an undisturbed run.
        reading: What the store of an undisturbed run said at each boundary, where the order asks for states.
    """

    history: History
    hold_outcome: str
    modules: tuple[str, ...]
    reading: Reading = NOTHING_READ


class _Slot:
    def __init__(self, spec: SlotSpec, number: int) -> None:
        self._spec = spec
        self.directory = spec.directory / f"s{number}"
        self.directory.mkdir(parents=True, exist_ok=True)
        self._loop = asyncio.new_event_loop()
        self.dock = (
            None
            if spec.container is None
            else Dock(spec.container, run_token=spec.run_token, owner=spec.owner, slot=number)
        )
        host = "127.0.0.1" if self.dock is None else self.dock.gateway
        self._targets = {name: TargetService(name, host=host) for name in spec.target_names}
        self.nurseries = Nurseries()
        self._copied_runs = CopiedRuns(self.directory, self._run_copied)
        self._interposing = Interposing(spec.directory)
        self._witness = NameWitness() if spec.isolated or self.dock is not None else None
        self._interceptor = (
            Interceptor(spec.hosts, self._targets, self.directory / "authority", spec.allow_hosts)
            if spec.hosts
            else None
        )
        self._loop.run_until_complete(self._listen())
        self.household = Household(
            spec.services,
            directory=self.directory / "services",
            above=(spec.directory, self.directory),
            run_token=spec.run_token,
            label=f"{spec.run_token[:8]}_s{number}",
            dock=self.dock,
            links=spec.links,
            target_ports={name: service.port for name, service in self._targets.items()},
        )
        self._outside = (
            workspace.OutsideState(spec.external_state, spec.directory / "outside") if spec.external_state else None
        )

    async def _listen(self) -> None:
        for service in self._targets.values():
            await service.start()
        answers = False
        if self._witness is not None:
            answers = await self._witness.listen(None if self.dock is None else self.dock.gateway)
        if self._interceptor is not None:
            await self._interceptor.open(self._witness if answers else None)

    def run(self, order: Order, watch: Callable[[Event], None] | None) -> Finished:
        beginning = self._copied_runs.beginning(order) if order.copies else Beginning(why_none=order.why_not_copied)
        supervisor = Supervisor(order, self._lent_to(order), watch=watch, beginning=beginning)
        history = self._loop.run_until_complete(supervisor.run())
        return Finished(
            history=history,
            hold_outcome=supervisor.hold_outcome,
            modules=supervisor.modules,
            reading=supervisor.reading,
        )

    def _run_copied(self, order: Order, directory: Path) -> tuple[History, Copies]:
        """Run an order, and copy everything at each point that it comes to."""
        supervisor = Supervisor(order, self._lent_to(order), copies_to=directory)
        return self._loop.run_until_complete(supervisor.run()), supervisor.copies

    def _lent_to(self, order: Order) -> Surroundings:
        home = order.scenario.environment_of(order.variant)
        return Surroundings(
            directory=self.directory,
            targets=self._targets,
            run_token=self._spec.run_token,
            outside=self._outside,
            witness=self._witness,
            interposing=self._interposing,
            interceptor=self._interceptor,
            household=self.household,
            reset_door=reset_door_of(self._spec.directory, order.scenario, home) if self._spec.reset_outside else None,
            dock=self.dock,
            nursery_for=self.nurseries.get,
        )


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
    os.environ.clear()  # the process that this one was forked from may have begun with another one
    os.environ.update(spec.environment, ACKGAP_RUN=spec.run_token)
    if spec.isolated and not isolation.isolate_network():
        raise HarnessFailed(
            "a slot could not get a network of its own",
            next_step="run again with --network host; calls of workers that are not Python are then not refused",
        )
    containment.become_subreaper()
    Finalize(None, close_slot, exitpriority=10)  # where the pool lets the process end by itself
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


def occupied(number: int, function: Callable[..., T], *arguments: object) -> T:
    """Call a function, and leave word meanwhile of what this slot is at: process id, task, monotonic seconds.

    A slot that is killed or stopped can say nothing any more; its marker still tells which cell was lost with it.
    """
    assert _slot is not None, "this process is not a slot"
    marker = _slot.directory / MARKER_FILE
    with contextlib.suppress(OSError):  # a full disk; the cell itself will say so
        marker.write_text(json.dumps([os.getpid(), number, time.monotonic()]), encoding="utf-8")
    try:
        return function(*arguments)
    finally:
        with contextlib.suppress(OSError):
            marker.unlink(missing_ok=True)


def close_slot() -> None:
    """End the services of this process's slot, and kill whatever its cells have left."""
    if _slot is not None:
        _slot.household.stop()
        _slot.nurseries.close()
        if _slot.dock is not None:
            _slot.dock.close()
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
        remove_ground(spec.directory)
        if spec.start_directory is not None:  # a harness that is killed cannot do that itself
            shutil.rmtree(spec.start_directory, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="ackgap-harness-watch").start()
