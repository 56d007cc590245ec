"""Life: what the supervisor knows of one incarnation."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from ackgap.execute.file_calls import FileCalls
from ackgap.execute.process import WorkerProcess
from ackgap.execute.resting import Patience
from ackgap.execute.turnstile import Turnstile, Write
from ackgap.model.boundary import BoundaryKind, CrashPoint
from ackgap.model.event import Injector
from ackgap.model.schedule import Fault

if TYPE_CHECKING:
    from ackgap.execute.trace.tracer import Tracer

__all__ = ["Life", "Line"]

Line = tuple[str, str, str]
"""Target, method and path of a request."""


class Life:
    """One incarnation: its process, its fault, and the boundaries it has come to.

    Args:
        incarnation: From 1.
        token: Secret that its processes show.
        process: Not started yet.
        faults: What it is to meet, if anything.
    """

    def __init__(self, *, incarnation: int, token: str, process: WorkerProcess, faults: tuple[Fault, ...] = ()) -> None:
        self.incarnation = incarnation
        self.token = token
        self.process = process
        self.faults = faults
        self.blow = next((fault for fault in faults if fault.kind.strikes_worker), None)
        """The one of its faults that strikes the worker itself."""
        self.patience = Patience(process.pids)
        self.turnstile = Turnstile(self.patience, races=any(fault.manner.unsettled for fault in faults))
        self.injectors: dict[int, Injector] = {}
        """Which injector sees a process of it."""
        self.file_calls = FileCalls()
        self.sees_caller: Callable[[int], None] = lambda _pid: None
        """Told of each process of it that calls a target."""
        self.tracer: Tracer | None = None
        """Answers its system calls, where they stand."""
        self.frozen_at: BoundaryKind | None = None
        self.dead = False
        self.struck_dead = False
        self.struck_without_main = False
        self.told_to_end = False
        self._met: set[Fault] = set()
        self._passed: set[str] = set()
        self._passing: list[asyncio.Future[None]] = []
        self.overdue = False
        self.hopeless = False
        self.disturbed = ""
        """What was wrong with the network when its time was over."""
        self.outlived = 0
        self.paused = asyncio.Event()
        self.freed = asyncio.Event()
        self.struck = asyncio.Event()
        self.over = asyncio.Event()
        self.strike: asyncio.Task[None] | None = None
        self.parked: list[str] = []
        self._calls: Counter[str] = Counter()
        self._announced_calls: defaultdict[str, deque[int]] = defaultdict(deque)
        self._checkpoints: Counter[str] = Counter()
        self._unnamed: defaultdict[Line, dict[tuple[int, int], int]] = defaultdict(dict)
        self._once_unnamed: set[tuple[int, int]] = set()
        self.call_points: dict[tuple[int, int], tuple[str, int]] = {}
        self.open_calls: set[tuple[int, int]] = set()
        """Calls that were announced and have not returned, by process and number."""
        self.write_points: dict[Write, tuple[str, int]] = {}
        self.attempts: dict[tuple[str, int], int] = {}

    @property
    def has_injector(self) -> bool:
        """Whether an injector came up in a process of this life."""
        return bool(self.injectors)

    @property
    def may_write_unseen(self) -> bool:
        """Whether something that it started may write past its injector: a static program, a cleaned environment."""
        return Injector.PRELOAD in self.injectors.values()

    @property
    def killed_without_main(self) -> bool:
        """Whether a fault has killed processes that had outlived the main one, so that its status says nothing."""
        return self.struck_dead and self.struck_without_main

    def announce_call(self, pid: int, call: int, operation: str) -> int:
        """Take note of a call that is about to be sent; return its occurrence."""
        self._calls[operation] += 1
        occurrence = self._calls[operation]
        self._announced_calls[operation].append(occurrence)
        self.call_points[pid, call] = (operation, occurrence)
        self.open_calls.add((pid, call))
        return occurrence

    def arrive(self, operation: str, line: Line, port: int = 0) -> int:
        """Return the occurrence of a request that has reached its target, announced before or not.

        Args:
            operation: What it means.
            line: Its target, method and path.
            port: The worker's side of its connection; 0 where it is not known.
        """
        announced = self._announced_calls[operation]
        if announced:
            return announced.popleft()
        self._calls[operation] += 1
        occurrence = self._calls[operation]
        waiting = self._unnamed[line]
        mine = [call for call, its_port in waiting.items() if port and its_port == port]
        if not mine:
            # With several on their way nobody can tell which of them this is; then none of them has a `returned`.
            nowhere = [call for call, its_port in waiting.items() if not its_port]
            mine = nowhere if len(nowhere) == 1 else []
            for call in nowhere:
                del waiting[call]
        for call in mine:
            self.call_points[call] = (operation, occurrence)
            waiting.pop(call, None)
        return occurrence

    def announce_unnamed(self, line: Line, call: tuple[int, int], port: int = 0) -> None:
        """Take note of a call that is about to be sent, of which only the target can tell the operation."""
        self._unnamed[line][call] = port
        self._once_unnamed.add(call)

    def forget_unnamed(self, call: tuple[int, int]) -> bool:
        """Take note that a call is over; return whether it had no name when it was announced."""
        for waiting in self._unnamed.values():
            waiting.pop(call, None)
        return call in self._once_unnamed

    def announce_write(self, write: Write, name: str) -> int:
        """Take note of a durable write that is about to begin; return its occurrence."""
        self._checkpoints[name] += 1
        self.write_points[write] = (name, self._checkpoints[name])
        return self._checkpoints[name]

    def meets(self, point: CrashPoint) -> Fault | None:
        """Return the fault that waits at a point, if one does."""
        return next((fault for fault in self.faults if fault.point == point and fault not in self._met), None)

    def meet(self, fault: Fault) -> None:
        """Say that a fault has struck, so that it does not strike again."""
        self._met.add(fault)

    def passed(self, write: str) -> None:
        """Say that a durable write has landed and that its life goes on from there."""
        self._passed.add(write)
        for waiting in self._passing:
            if not waiting.done():
                waiting.set_result(None)
        self._passing.clear()

    async def awaits_passing(self, write: str, *, rest_s: float) -> bool:
        """Wait for `passed` of a write; return whether that came about before its processes had rested so long."""
        return await self.patience.awaits(self._until_passed(write), rest_s=rest_s)

    async def _until_passed(self, write: str) -> None:
        while write not in self._passed:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._passing.append(waiting)
            await waiting

    def die(self) -> None:
        """Say that it is over: whoever stands parked is let go to find that out."""
        self.dead = True
        self.over.set()
        self.freed.set()

    def freeze(self, kind: BoundaryKind) -> None:
        """Say that whoever comes to a boundary from now on stands parked there, until `thaw`."""
        self.frozen_at = kind
        if self.freed.is_set():
            self.freed = asyncio.Event()

    def thaw(self) -> None:
        """Say that a pause is over."""
        self.frozen_at = None
        self.paused.clear()
        self.freed.set()
