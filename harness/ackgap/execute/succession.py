"""Succession: which life comes after which, until the work counts as finished or nothing more is to be hoped for.

    start --> (a fault strikes) --> what went with it --> start the next, or several at once --> ... --> finished

A paused life is followed like a dead one. Once its successors are through it wakes up, and lives on to its end.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ackgap.execute.client import Client
from ackgap.execute.completion import Completion
from ackgap.execute.copies import ParkedCopy
from ackgap.execute.engines.engine import Engine
from ackgap.execute.gatekeeper import Gatekeeper
from ackgap.execute.launch import Launch
from ackgap.execute.life import Life
from ackgap.execute.lifetimes import Lifetimes
from ackgap.execute.order import Order, Surroundings
from ackgap.execute.outage import Outage
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.turns import Turns
from ackgap.model.event import Note
from ackgap.model.manner import FaultKind
from ackgap.model.schedule import Fault
from ackgap.target.clock import VirtualClock

__all__ = ["Succession"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """What came of a life, or of several at once.

    Attributes:
        life: The one that says how it went on.
        lives: All of them.
        finished: The work counts as finished.
        struck: A fault ended it, so that it does not count as a failure of the worker's own.
        final: No further life starts, whatever came of it.
    """

    life: Life
    lives: tuple[Life, ...]
    finished: bool
    struck: bool = False
    final: bool = False


class Succession:
    """Runs the lives of one cell, one after the other and, where a fault says so, beside each other.

    Args:
        order: Which cell.
        surroundings: Where it runs.
        lifetimes: Starts and ends them.
        gatekeeper: Lets lives that begin at once pass in turn.
        launch: Knows the releases.
        completion: Says whether the work is through.
        recorder: Keeps the history.
        clock: Of the targets.
        engine: What the worker is built on, where the scenario says so.
        client: What waits for the work outside of the worker, where something does.
        concluded: Whether what the run is made for is known already.
        copy: Where the cell begins, instead of with a first life.
    """

    def __init__(
        self,
        order: Order,
        surroundings: Surroundings,
        *,
        lifetimes: Lifetimes,
        gatekeeper: Gatekeeper,
        launch: Launch,
        completion: Completion,
        recorder: HistoryRecorder,
        clock: VirtualClock,
        engine: Engine | None,
        client: Client | None,
        concluded: Callable[[], bool],
        copy: ParkedCopy | None = None,
    ) -> None:
        self._order = order
        self._surroundings = surroundings
        self._lifetimes = lifetimes
        self._gatekeeper = gatekeeper
        self._launch = launch
        self._completion = completion
        self._recorder = recorder
        self._clock = clock
        self._engine = engine
        self._client = client
        self._concluded = concluded
        self._copy = copy
        self._outage: Outage | None = None
        self._restarts = 1 if order.probe else max(1, order.scenario.limits.restarts)

    async def run(self) -> None:
        """Run lives until the work is finished or given up."""
        step = await self._follow(())
        if not step.finished and not self._concluded():
            lives, left_running = len(self._lifetimes.all), self._lifetimes.left_running
            self._completion.give_up(step.life, lives=lives, left_running=left_running)

    async def close(self) -> None:
        """End what still goes on because of a fault."""
        if self._outage is not None:
            await self._outage.end()

    async def _follow(self, before: Sequence[Life]) -> _Step:
        """Run the lives that come after some, until the work is finished or nothing more is to be hoped for."""
        failures = 0
        while True:
            step = await self._next(before)
            if step.final:
                return step
            await self._aftermath(step.lives, finished=step.finished)
            if step.finished or self._concluded() or step.life.overdue or step.life.hopeless:
                return step
            if self._client is not None and self._client.problem:
                return step
            failures = 0 if step.struck else failures + 1
            if failures >= self._restarts:
                return step
            before = step.lives

    async def _next(self, before: Sequence[Life]) -> _Step:
        """Run what comes after a life, or after several at once: one, or several at once."""
        if not before and self._copy is not None:
            life = self._lifetimes.take_over(self._copy)
            finished = await self._completion.finished(life, clean=False)
            return _Step(life=life, lives=(life,), finished=finished, struck=True)
        heirs = max((blow.manner.heirs for blow in _blows(before)), default=1)
        if heirs > 1:
            return await self._beside_each_other(heirs)
        life = self._lifetimes.start()
        if await self._lifetimes.live(life) == "paused":
            return await self._overlap(life)
        clean = await self._lifetimes.end(life)
        finished = await self._completion.finished(life, clean=clean)
        return _Step(life=life, lives=(life,), finished=finished, struck=_ended_by_fault(life))

    async def _overlap(self, paused: Life) -> _Step:
        """Later lives take over while an earlier one is stopped; then the earlier one wakes up. Nobody follows both."""
        assert paused.blow is not None
        self._clock.move(paused.blow.down_s)
        self._launch.renew(paused.blow.manner.release)
        heirs = await self._follow([paused])
        await self._wake_to_its_end(paused)
        clean = await self._lifetimes.end(paused)
        finished = await self._completion.finished(paused, clean=clean)
        return _Step(life=heirs.life, lives=heirs.lives, finished=finished or heirs.finished, final=True)

    async def _wake_to_its_end(self, paused: Life) -> None:
        paused.process.wake()
        paused.thaw()
        cut_off = paused.blow is not None and paused.blow.kind is FaultKind.DISCONNECT
        text = f"life {paused.incarnation} {'is connected again' if cut_off else 'woke up'}"
        self._recorder.record(Note, code="woken", text=text, incarnation=paused.incarnation)
        await self._lifetimes.live(paused)

    async def _beside_each_other(self, count: int) -> _Step:
        """Run several lives that begin at once, and pass their boundaries in turn."""
        first = len(self._lifetimes.all) + 1
        turns = self._gatekeeper.turns = Turns(range(first, first + count), self._lifetimes.pids)
        lives = [self._lifetimes.start() for _ in range(count)]
        try:
            clean = await asyncio.gather(*(self._to_its_end(life, lives, turns) for life in lives))
        finally:
            self._gatekeeper.turns = None
        well = next((life for life, by_itself in zip(lives, clean, strict=True) if by_itself), lives[-1])
        finished = await self._completion.finished(well, clean=any(clean))
        return _Step(life=well, lives=tuple(lives), finished=finished, struck=any(map(_ended_by_fault, lives)))

    async def _to_its_end(self, life: Life, lives: Sequence[Life], turns: Turns) -> bool:
        """Run one of several lives that began at once to its end; one that is paused sleeps until the others are over.

        Returns:
            Whether it ended by itself, and well.
        """
        how = await self._lifetimes.live(life)
        turns.leave(life.incarnation)
        if how == "paused":
            assert life.blow is not None
            self._clock.move(life.blow.down_s)
            self._launch.renew(life.blow.manner.release)
            await asyncio.gather(*(other.over.wait() for other in lives if not other.paused.is_set()))
            await self._wake_to_its_end(life)
        return await self._lifetimes.end(life)

    async def _aftermath(self, lives: Sequence[Life], *, finished: bool) -> None:
        """Let what went with faults end, or begin, before the next life."""
        if self._outage is not None:
            outage, self._outage = self._outage, None
            await outage.end()
        deaths = [blow.manner for blow in _blows(lives) if not blow.kind.overlaps]
        if finished or not deaths:
            return
        if self._engine is not None and self._order.scenario.hurries:
            await self._engine.hurry()
        for manner in deaths:
            self._launch.renew(manner.release)
        household = self._surroundings.household
        without = next((manner for manner in deaths if manner.without), None)
        if without is not None and household is not None:
            self._outage = Outage(household, without.without, limit_s=without.for_s, recorder=self._recorder)


def _blows(lives: Sequence[Life]) -> list[Fault]:
    """Return what struck some lives."""
    return [life.blow for life in lives if life.blow is not None and life.struck.is_set()]


def _ended_by_fault(life: Life) -> bool:
    by_kill = life.struck.is_set() and life.process.signal == signal.SIGKILL
    return by_kill or life.killed_without_main or life.told_to_end
