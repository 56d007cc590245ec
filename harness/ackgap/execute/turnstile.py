"""Turnstile: the durable writes of one life, let through one at a time in the order in which they were asked for.

An engine that writes in the background has several durable writes, or a write and a call, under way at once; which
lands first is a race. Every order that the turnstile makes is one that the engine could have taken, and it is the
same one in every run. Writes that wait for each other (`OVERLAP_LIMIT_S` in which the life rests) are let through
together, and the history says `overlapped`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from ackgap.execute.resting import Patience

__all__ = ["OVERLAP_LIMIT_S", "Turnstile", "Write"]

OVERLAP_LIMIT_S = 0.5

Write = tuple[int, int]
"""Process id, and number of a durable write in that process in the order in which the engine asked for it."""


class Turnstile:
    """Knows which durable writes are asked for and which are under way.

    Args:
        patience: With the life.
        races: Nobody waits here for his turn: the engine's own timing is what is to be seen.
    """

    def __init__(self, patience: Patience | None = None, *, races: bool = False) -> None:
        self._patience = patience or Patience()
        self._races = races
        self._held: set[Write] = set()
        self._under_way: dict[Write, str] = {}
        self._asked_for: dict[int, frozenset[int]] = {}
        self._at_the_bar: set[Write] = set()
        self._waiters: set[asyncio.Future[None]] = set()

    @property
    def under_way(self) -> tuple[str, ...]:
        """Names of the durable writes that have begun and not landed."""
        return tuple(self._under_way.values())

    def told(self, pid: int, pending: Iterable[int]) -> None:
        """Take note of the writes that a process has handed to a background executor and not begun."""
        numbers = frozenset(pending)
        if self._asked_for.get(pid, frozenset()) != numbers:
            self._asked_for[pid] = numbers
            self._wake_waiters()

    def arrive(self, write: Write) -> None:
        """A write is about to begin and waits for its turn."""
        self._at_the_bar.add(write)

    def leave(self, write: Write) -> None:
        """A write that waited for its turn will not begin: its life is over, or it is held for good."""
        self._at_the_bar.discard(write)
        self._wake_waiters()

    def hold(self, write: Write) -> None:
        """A write waits for one that was asked for after it, so nobody is to wait for this one."""
        self._held.add(write)
        self._at_the_bar.discard(write)
        self._wake_waiters()

    def release(self, write: Write) -> None:
        """A write that was held is in line again."""
        self._held.discard(write)
        self._at_the_bar.add(write)

    def ahead_of(self, write: Write) -> frozenset[Write]:
        """Return the writes that have been asked for before this one and have not landed."""
        asked_for = {(pid, number) for pid, numbers in self._asked_for.items() for number in numbers}
        earlier = {one for one in asked_for | self._at_the_bar if one[0] == write[0] and one[1] < write[1]}
        return frozenset((earlier | set(self._under_way)) - {write})

    def begin(self, write: Write, name: str) -> None:
        """A write has been let through."""
        self._at_the_bar.discard(write)
        self._under_way[write] = name

    def land(self, write: Write) -> None:
        """A write has landed."""
        if self._under_way.pop(write, None) is not None:
            self._wake_waiters()

    def is_quiet(self, *, before: Write | None = None) -> bool:
        """Whether no durable write is under way or asked for; with `before`, none that was asked for earlier."""
        if any(write != before for write in self._under_way):
            return False
        asked_for = {(pid, number) for pid, numbers in self._asked_for.items() for number in numbers}
        return not any(
            before is None or (write[0] == before[0] and write[1] < before[1])
            for write in (asked_for | self._at_the_bar) - self._held
            if write != before
        )

    def nothing_under_way(self, *, but: Write | None = None) -> bool:
        """Whether every durable write that has begun has landed; `but` is one that has been let through and waits."""
        return all(write == but for write in self._under_way)

    async def wait_for_quiet(self, *, before: Write | None = None, limit_s: float = OVERLAP_LIMIT_S) -> bool:
        """Wait until `is_quiet`; return whether that came about before the life had rested for `limit_s`."""
        if self._races:
            return self.is_quiet(before=before)
        return await self._until(lambda: self.is_quiet(before=before), limit_s)

    async def wait_until_landed(self, *, limit_s: float, but: Write | None = None) -> bool:
        """Wait until `nothing_under_way`; return whether that came about before the life had rested for `limit_s`."""
        return await self._until(lambda: self.nothing_under_way(but=but), limit_s)

    async def _until(self, true: Callable[[], bool], limit_s: float) -> bool:
        while not true():  # again, as another one may have gone through before we were told
            if not await self._patience.awaits(self._wait(true), rest_s=limit_s):
                return False
        return True

    async def _wait(self, true: Callable[[], bool]) -> None:
        while not true():
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.add(waiter)
            try:
                await waiter
            finally:
                self._waiters.discard(waiter)

    def _wake_waiters(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
