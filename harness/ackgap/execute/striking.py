"""Striking: what a schedule's fault does to the life that stands at its point."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal
from collections.abc import Callable, Collection, Coroutine

from ackgap.execute import containment
from ackgap.execute.life import Life
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.settling import settle
from ackgap.execute.store import DurableStore
from ackgap.model.event import FaultInjected, Settling
from ackgap.model.manner import FaultKind
from ackgap.model.schedule import Fault
from ackgap.scenario.scenario import Limits
from ackgap.target.service import TargetService

__all__ = ["Striker"]

_AT_ONCE_S = 0.5
"""Real seconds of rest after which a process that was told to end has a handler for SIGTERM, or ignores it."""
_LOOK_EVERY_S = 0.01


class Striker:
    """Injects the faults of one cell.

    Args:
        recorder: Keeps the history.
        store: The durable store of the cell.
        limits: How long to wait for writes in flight.
        targets: Services of the cell.
    """

    def __init__(
        self, recorder: HistoryRecorder, store: DurableStore, limits: Limits, targets: Collection[TargetService]
    ) -> None:
        self._recorder = recorder
        self._store = store
        self._limits = limits
        self._targets = targets

    async def strike(self, life: Life) -> None:
        """Kill the life, tell it to end, or stop it, once no durable write is in flight."""
        assert life.blow is not None
        life.struck_without_main = life.process.exited.is_set()  # what stands parked is a process that has outlived it
        began_s = asyncio.get_running_loop().time()
        settling = Settling.UNSETTLED
        if not life.blow.manner.unsettled:
            settling = await settle(life, self._store, self._limits)
        if life.blow.kind is FaultKind.KILL:
            # What no hook holds goes on by itself: another thread may just be opening its file.
            life.process.stand_still()
        self._record(life, life.blow, settling, asyncio.get_running_loop().time() - began_s)
        if life.blow.kind is FaultKind.TERM:
            await self._tell_to_end(life, grace_s=life.blow.manner.for_s)
            return
        if life.blow.kind is FaultKind.DISCONNECT:
            await self._cut_off(life)
            return
        if life.blow.kind is FaultKind.OOM:
            await self._leave_no_memory(life)
            return
        if life.blow.kind is FaultKind.PAUSE:
            for service in self._targets:
                service.finish_what_is_applied(life.incarnation)
            life.process.pause()
            if life.process.living():
                life.paused.set()
            return
        await self._kill(life)

    async def _tell_to_end(self, life: Life, *, grace_s: float) -> None:
        """SIGTERM to the life where it stands, and SIGKILL to all of it once the grace is over.

        The main process gets it, as a deploy would send it. Where that has sent its worker into the background and is
        gone, everything gets it that is left. A worker without a handler dies where it stands. One with a handler is
        let go on, and may do in its grace whatever it likes, its calls and durable writes too.
        """
        life.told_to_end = True
        for service in self._targets:
            service.expect_leaving(life.incarnation)
        over: Callable[[], Coroutine[object, object, bool]] = life.process.exited.wait
        if life.process.exited.is_set():
            over = functools.partial(_all_gone, life)
            containment.signal_all(life.process.living(), signal.SIGTERM)
        else:
            life.process.tell_to_end()
        # One that dies of the signal is busy with that until it is gone, however long that takes on a busy machine.
        ended = await life.patience.awaits(over(), rest_s=min(grace_s, _AT_ONCE_S))
        if not ended:
            life.thaw()
            with contextlib.suppress(TimeoutError):
                ended = await asyncio.wait_for(over(), grace_s)
        if not ended:
            await self._kill(life)

    async def _cut_off(self, life: Life) -> None:
        """Take its network away and let it go on: what it does now it does without hearing from anybody."""
        for service in self._targets:
            service.expect_leaving(life.incarnation)
        await life.process.cut_off()
        life.thaw()
        life.paused.set()

    async def _leave_no_memory(self, life: Life) -> None:
        """Have the kernel kill what runs in it, and kill what that has left."""
        life.struck_dead = True
        for service in self._targets:
            service.expect_death(life.incarnation)
        await life.process.run_out_of_memory()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(life.process.exited.wait(), _AT_ONCE_S)
        life.outlived = await life.process.kill()
        life.die()

    async def _kill(self, life: Life) -> None:
        life.struck_dead = True
        for service in self._targets:
            service.expect_death(life.incarnation)
        life.outlived = await life.process.kill()
        life.die()

    def strike_call(self, life: Life, fault: Fault) -> None:
        """Something is about to be done to a call, a write, or the network; what else is written is not concerned."""
        self._record(life, fault, Settling.SETTLED, 0.0)
        if fault.kind is not FaultKind.HOLD:
            for service in self._targets:
                service.expect_leaving(life.incarnation)

    def _record(self, life: Life, fault: Fault, settling: Settling, settle_s: float) -> None:
        self._recorder.record(
            FaultInjected,
            incarnation=life.incarnation,
            fault=str(fault),
            settling=settling,
            settle_s=round(settle_s, 4),
            parked_siblings=tuple(life.parked),
            store_digest=self._store.digest(),
        )
        if fault.manner.stale_s:
            for service in self._targets:
                service.fall_behind(fault.manner.stale_s)


async def _all_gone(life: Life) -> bool:
    """Wait until nothing of a life is left; return True."""
    while life.process.living():  # noqa: ASYNC110 - nobody tells us of the end of a process that is no child of ours
        await asyncio.sleep(_LOOK_EVERY_S)
    return True
