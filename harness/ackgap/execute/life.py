"""Life: what the supervisor knows of one incarnation."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict, deque

from ackgap.execute.process import WorkerProcess
from ackgap.execute.turnstile import Turnstile, Write
from ackgap.model.boundary import BoundaryKind
from ackgap.model.schedule import Fault

__all__ = ["Life"]


class Life:
    """One incarnation: its process, its fault, and the boundaries it has come to.

    Args:
        incarnation: From 1.
        token: Secret that its processes show.
        process: Not started yet.
        fault: What is to strike it, if anything.
    """

    def __init__(self, *, incarnation: int, token: str, process: WorkerProcess, fault: Fault | None) -> None:
        self.incarnation = incarnation
        self.token = token
        self.process = process
        self.fault = fault
        self.turnstile = Turnstile()
        self.injector_pids: set[int] = set()
        self.frozen_at: BoundaryKind | None = None
        self.dead = False
        self.struck_dead = False
        self.overdue = False
        self.outlived = 0
        self.paused = asyncio.Event()
        self.freed = asyncio.Event()
        self.struck = asyncio.Event()
        self.strike: asyncio.Task[None] | None = None
        self.parked: list[str] = []
        self._calls: Counter[str] = Counter()
        self._announced_calls: defaultdict[str, deque[int]] = defaultdict(deque)
        self._checkpoints: Counter[str] = Counter()
        self.call_points: dict[tuple[int, int], tuple[str, int]] = {}
        self.write_points: dict[Write, tuple[str, int]] = {}
        self.attempts: dict[tuple[str, int], int] = {}

    @property
    def has_injector(self) -> bool:
        """Whether the python injector came up in a process of this life."""
        return bool(self.injector_pids)

    def announce_call(self, pid: int, call: int, operation: str) -> int:
        """Take note of a call that is about to be sent; return its occurrence."""
        self._calls[operation] += 1
        occurrence = self._calls[operation]
        self._announced_calls[operation].append(occurrence)
        self.call_points[pid, call] = (operation, occurrence)
        return occurrence

    def arrive(self, operation: str) -> int:
        """Return the occurrence of a request that has reached its target, announced before or not."""
        announced = self._announced_calls[operation]
        if announced:
            return announced.popleft()
        self._calls[operation] += 1
        return self._calls[operation]

    def announce_write(self, write: Write, name: str) -> int:
        """Take note of a durable write that is about to begin; return its occurrence."""
        self._checkpoints[name] += 1
        self.write_points[write] = (name, self._checkpoints[name])
        return self._checkpoints[name]

    def die(self) -> None:
        """Say that it is over: whoever stands parked is let go to find that out."""
        self.dead = True
        self.freed.set()

    def thaw(self) -> None:
        """Say that a pause is over."""
        self.frozen_at = None
        self.paused.clear()
        self.freed.set()
