"""Turns: lives that begin at once pass their boundaries in turn, so that two runs of them are alike.

Two workers that recover the same work race each other, and a race proves nothing that can be shown again. Here each
comes to its next boundary, and then one of them goes on until it stands at a boundary again, the next one, and so on.
That is one of the orders that the race could have taken. A life that does not come to a boundary because it waits for
what another one holds (a lock) is passed over once it has
rested for `OVERDUE_S`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from ackgap.execute.resting import Patience

__all__ = ["OVERDUE_S", "Turns"]

OVERDUE_S = 1.0
_BEGINNING_S = 15.0
"""An interpreter and its imports take their time before the first boundary."""


class Turns:
    """Knows who of several lives is on the way and who stands at a boundary.

    Args:
        lives: Incarnations that begin at once.
        pids: Names the processes of some of them.
    """

    def __init__(self, lives: Iterable[int], pids: Callable[[Iterable[int]], Iterable[int]] = lambda _: ()) -> None:
        self._pids = pids
        self._lives = sorted(lives)
        self._on_the_way = set(self._lives)
        self._begun: set[int] = set()
        self._standing: dict[int, list[asyncio.Future[None]]] = {life: [] for life in self._lives}
        self._last = 0
        self._timer: asyncio.Task[None] | None = None

    async def take(self, life: int) -> None:
        """Stand at a boundary until it is this life's turn; at once, for a life that takes no part."""
        if life not in self._lives:
            return
        self._begun.add(life)
        self._on_the_way.discard(life)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._standing[life].append(turn)
        self._next()
        await turn

    def leave(self, life: int) -> None:
        """Say that a life is over, or stands for good: nobody waits for it any more, and it waits for nobody."""
        if life not in self._lives:
            return
        self._lives.remove(life)
        self._on_the_way.discard(life)
        for turn in self._standing.pop(life):
            if not turn.done():
                turn.set_result(None)
        self._next()

    def _next(self, *, overdue: bool = False) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        standing = [life for life in self._lives if self._standing[life]]
        if not standing:
            return
        if self._on_the_way and not overdue:
            self._timer = asyncio.create_task(self._pass_over(frozenset(self._on_the_way)))
            return
        life = next((life for life in standing if life > self._last), standing[0])
        self._last = life
        self._on_the_way.add(life)
        turn = self._standing[life].pop(0)
        if not turn.done():
            turn.set_result(None)
        self._next()  # whoever still stands waits for this one, and not for ever

    async def _pass_over(self, on_the_way: frozenset[int]) -> None:
        limit_s = OVERDUE_S if on_the_way <= self._begun else _BEGINNING_S
        await Patience(lambda: self._pids(on_the_way)).awaits(asyncio.Event().wait(), rest_s=limit_s)
        self._timer = None  # which is this task: it must not end itself
        self._next(overdue=True)
