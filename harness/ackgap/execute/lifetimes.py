"""Lifetimes: one life of the worker after the other is started, waited for, and ended.

What comes after a life is decided elsewhere (`succession`); here is what happens during it.
"""

from __future__ import annotations

import asyncio
import secrets
import signal
from collections.abc import Iterable

from ackgap.errors import HarnessFailed
from ackgap.execute import containment
from ackgap.execute.channel import Channel
from ackgap.execute.client import Client
from ackgap.execute.completion import Completion
from ackgap.execute.copies import ParkedCopy
from ackgap.execute.disturbance import Disturbances
from ackgap.execute.gatekeeper import Gatekeeper
from ackgap.execute.hold import HoldObservation
from ackgap.execute.launch import Launch
from ackgap.execute.life import Life
from ackgap.execute.order import Order, Surroundings
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.store import DurableStore
from ackgap.execute.trace.tracer import Tracer
from ackgap.execute.unseen import Callers, CallersWithoutHooks
from ackgap.model.event import FaultInjected, IncarnationEnded, IncarnationStarted, Injector, Note
from ackgap.target.clock import VirtualClock
from ackgap.target.wire.redaction import tail_of

__all__ = ["Lifetimes"]

_POLL_S = 0.25
_IN_DOUBT_EXIT_LIMIT_S = 3.0
_OUTPUT_LIMIT = 4000
"""How many characters of what a life printed are kept in a history."""


class Lifetimes:
    """The lives of one cell.

    Args:
        order: Which cell.
        surroundings: Where it runs.
        launch: Starts them.
        gatekeeper: Knows who they are.
        channel: What their injectors speak on.
        recorder: Keeps the history.
        store: The durable store.
        clock: Of the targets, and of lives that begin later.
        completion: Says whether the work is through.
        client: What waits for the work outside of the worker, where something does.
        hold: What is being proven, in a run that is made for that.
        disturbances: What is wrong with the network.

    Attributes:
        all: In the order in which they began.
        left_running: Processes that a command had left behind when its time was over, in words.
    """

    def __init__(
        self,
        order: Order,
        surroundings: Surroundings,
        *,
        launch: Launch,
        gatekeeper: Gatekeeper,
        channel: Channel,
        recorder: HistoryRecorder,
        store: DurableStore,
        clock: VirtualClock,
        completion: Completion,
        client: Client | None,
        hold: HoldObservation | None,
        disturbances: Disturbances,
    ) -> None:
        self._order = order
        self._spec = order.scenario.worker
        self._limits = order.scenario.limits
        self._surroundings = surroundings
        self._launch = launch
        self._gatekeeper = gatekeeper
        self._channel = channel
        self._recorder = recorder
        self._store = store
        self._clock = clock
        self._completion = completion
        self._client = client
        self._hold = hold
        self._disturbances = disturbances
        self.all: list[Life] = []
        self.left_running = ""

    def pids(self, incarnations: Iterable[int]) -> list[int]:
        """Return the processes of some lives that have begun."""
        return [
            pid for number in incarnations if number <= len(self.all) for pid in self.all[number - 1].process.pids()
        ]

    def start(self) -> Life:
        """Start the next life."""
        incarnation = len(self.all) + 1
        if self._surroundings.interceptor is not None:
            self._surroundings.interceptor.look()  # what was refused until now was refused the lives before
        process = self._launch.process(incarnation, token=secrets.token_hex(16))
        life = Life(
            incarnation=incarnation,
            token=process.token,
            process=process,
            faults=self._order.schedule.faults_in(incarnation),
        )
        self._gatekeeper.admit(life)
        self._disturbances.life_begins(incarnation)
        command = self._launch.command(incarnation)
        digest = self._store.digest()
        pid, why_plain = self._launch.start(
            process, command, clock_offset_s=self._clock.offset_s, incarnation=incarnation
        )
        self.all.append(life)
        alive = frozenset(other.process.pid for other in self.all if not other.dead)
        for other in self.all:
            if not other.dead:
                other.process.lives_beside(alive - {other.process.pid})
        self._recorder.record(
            IncarnationStarted,
            incarnation=incarnation,
            pid=pid,
            command=command,
            clock_offset_s=self._clock.offset_s,
            store_digest=digest,
        )
        self._look_into(life)
        if self._launch.allowance.why_none and incarnation == 1:
            text = f"no limit is held: {self._launch.allowance.why_none}"
            self._recorder.record(Note, code="not_limited", text=text, incarnation=incarnation)
        if why_plain:
            text = f"not forked from a warm parent: {why_plain}"
            self._recorder.record(Note, code="started_plainly", text=text, incarnation=incarnation)
        return life

    def _look_into(self, life: Life) -> None:
        """Have what looks into a life that has been started begin with that, as far as it does not by itself."""
        means, listener = self._launch.means, life.process.listener
        if listener is not None and listener.descriptor < 0:
            raise HarnessFailed(
                "the kernel would not have the worker's system calls stand",
                where="worker.injector",
                next_step="choose another injector: preload, or wire",
            )
        if listener is not None:
            life.tracer = Tracer(life, listener, self._surroundings.work, self._gatekeeper, self._recorder)
        elif means.injector is Injector.PRELOAD:
            asked_for = self._spec.injector == Injector.PRELOAD
            life.sees_caller = Callers(self._recorder, life.incarnation, asked_for=asked_for).look
        elif means.injector is Injector.PYTHON and life.process.address == "" and self._spec.python_injector:
            hooked = self._channel.is_spoken_on_by
            life.sees_caller = CallersWithoutHooks(self._recorder, life.incarnation, is_hooked=hooked).look
        if means.why_unseen and life.incarnation == 1:
            self._recorder.record(Note, code="unseen", text=means.why_unseen, incarnation=life.incarnation)

    def take_over(self, copy: ParkedCopy) -> Life:
        """Begin with a life that another run has copied while it stood parked: it is as good as killed there."""
        process = self._launch.process(1, token=secrets.token_hex(16))
        process.has_died_elsewhere(copy.output)
        life = Life(incarnation=1, token=process.token, process=process, faults=self._order.schedule.faults_in(1))
        assert life.blow is not None
        self._gatekeeper.admit(life)
        self.all.append(life)
        life.meet(life.blow)
        life.struck.set()
        life.struck_dead = True
        life.die()
        self._recorder.record(
            FaultInjected,
            incarnation=1,
            fault=str(life.blow),
            settling=copy.settling,
            settle_s=round(copy.settle_s, 4),
            parked_siblings=copy.parked,
            store_digest=copy.store_digest,
        )
        for name, parked in copy.parked_targets().items():
            service = self._surroundings.targets[name]
            if life.blow.manner.stale_s:
                service.fall_behind(life.blow.manner.stale_s)
            service.take_up(parked, copy.events, dead=1)
        self._recorder.record(
            IncarnationEnded,
            incarnation=1,
            exit_code=None,
            signal=None,
            by_harness=True,
            store_digest=self._store.digest(),
            output_tail=tail_of(process.output_tail, _OUTPUT_LIMIT),
            copied=True,
        )
        self._clock.move(life.blow.down_s)
        return life

    async def live(self, life: Life) -> str:
        """Wait until the life is over, paused, finished as the user tells, or out of time; say which."""
        exited = asyncio.ensure_future(self._gone(life))
        paused = asyncio.ensure_future(life.paused.wait())
        beside = asyncio.ensure_future(self._beside(life))
        ends_s = asyncio.get_running_loop().time() + self._limits.life_s
        polls = self._completion.has_to_be_asked or self._spec.in_doubt_when or self._hold
        poll_s = _POLL_S if polls else self._limits.life_s
        through = False
        try:
            while True:
                # A command that has sent its worker into the background is given the time that `_gone` gives it.
                left_s = ends_s - asyncio.get_running_loop().time() if not life.process.exited.is_set() else poll_s
                await asyncio.wait(
                    (exited, paused) if through else (exited, paused, beside),
                    timeout=max(0.0, min(left_s, poll_s)),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if life.paused.is_set():
                    await self._disturbances.life_is_over(life.incarnation)
                    return "paused"
                if exited.done():
                    exited.result()
                    return "exited"
                if beside.done():
                    beside.result()
                    through = True
                    if not self._completion.asks_engine or not self._client_done:
                        return "client"
                if self._hold is not None and self._hold.concluded.is_set():
                    return "concluded"
                if life.process.in_doubt_text is not None and life.strike is None:
                    await asyncio.wait((exited,), timeout=_IN_DOUBT_EXIT_LIMIT_S)
                    return "in doubt"
                if await self._completion.user_says():
                    return "finished"
                busy, alone = life.strike is not None or self._in_flight(life) > 0, self._client is None
                if await self._completion.engine_ends(life, busy=busy, left_to_worker=alone):
                    return "engine"
                if left_s <= 0:
                    life.overdue = True
                    life.disturbed = self._disturbances.words
                    return "overdue"
        finally:
            exited.cancel()
            paused.cancel()
            beside.cancel()

    async def _beside(self, life: Life) -> None:
        """Return when the client has nothing more to do beside this life; never, where there is none."""
        if self._client is None:
            await asyncio.Event().wait()
        else:
            await self._client.see_through(
                life.process,
                self._store,
                busy=lambda: bool(life.open_calls) or self._in_flight(life) > 0,
                limit_s=self._limits.settle_s,
            )

    @property
    def _client_done(self) -> bool:
        return self._client is not None and self._client.done

    def _in_flight(self, life: Life) -> int:
        services = self._surroundings.targets.values()
        return sum(service.requests_in_flight(life.incarnation) for service in services)

    async def end(self, life: Life) -> bool:
        """End what is left of a life and write down how it ended; return whether it did so by itself, and well."""
        by_harness = not life.process.exited.is_set() or life.struck_dead or life.told_to_end
        if by_harness and not life.struck.is_set():  # whoever waits may know of a write before its writer does
            await life.turnstile.wait_until_landed(limit_s=self._limits.settle_s)
        if self._client is not None and self._client.done and not life.struck_dead:
            await life.process.end(grace_s=self._client.grace_s)
        if life.strike is not None:
            await life.strike
        left_alone = life.process.exit_code == 0 and not by_harness
        if left_alone and life.struck_dead:  # the strike was under way when the main process ended
            left_alone, by_harness = False, True
        outlived = len(self._beside_main(life))
        in_flight = self._in_flight(life)
        await life.process.kill()
        await life.process.output_drained()
        await self._channel.hear_out(life.incarnation)
        life.die()
        await self._drain(life)
        self._note_limits(life)
        self._recorder.record(
            IncarnationEnded,
            incarnation=life.incarnation,
            exit_code=None if life.killed_without_main else life.process.exit_code,
            signal=signal.SIGKILL if life.killed_without_main else life.process.signal,
            by_harness=by_harness,
            leftover_count=outlived or life.outlived,
            store_digest=self._store.digest(),
            output_tail=tail_of(life.process.output_tail, _OUTPUT_LIMIT),
            out_of_memory=life.process.out_of_memory,
        )
        if life.blow is not None and life.struck.is_set() and not life.blow.kind.overlaps:
            self._clock.move(life.blow.down_s)
        return left_alone and not outlived and not in_flight

    def _note_limits(self, life: Life) -> None:
        """Write down where a life wanted more than it may have."""
        struck = self._launch.allowance.look()
        if struck.kills:
            life.process.out_of_memory = True
        if struck.refusals:
            text = f"more than {self._limits.processes} processes and threads were wanted, and refused"
            self._recorder.record(Note, code="processes_refused", text=text, incarnation=life.incarnation)

    async def _gone(self, life: Life) -> None:
        """Wait until the main process is gone, and with it what a command that ended well has left working.

        Such a command has sent its worker into the background: that is the life from then on, and faults strike it.
        What is still there when its time is over is named.
        """
        await life.process.exited.wait()
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + self._limits.life_s
        await self._struck(life)
        goes_on = not life.told_to_end and (life.process.exit_code == 0 or life.struck_without_main)
        while goes_on and not life.paused.is_set() and (left := self._beside_main(life)):
            if loop.time() > ends_s:
                life.overdue = True
                self.left_running = containment.in_words(left)
                return
            await asyncio.sleep(0.005)
        await self._struck(life)  # it may have struck a process that had outlived the main one

    @staticmethod
    async def _struck(life: Life) -> None:
        """Wait for a strike that is under way; whoever stops waiting does not stop it."""
        if life.strike is not None:
            await asyncio.shield(life.strike)

    @staticmethod
    def _beside_main(life: Life) -> list[int]:
        return [pid for pid in life.process.living() if pid != life.process.pid]

    async def _drain(self, life: Life) -> None:
        """Let nothing of a dead life be worked on any more."""
        if life.tracer is not None:
            life.tracer.close()
        await self._channel.drain(life.incarnation)
        await self._disturbances.life_is_over(life.incarnation)
        await self._disturbances.clear(alone=all(other.dead for other in self.all))
        for service in self._surroundings.targets.values():
            await service.drain(life.incarnation)
        if self._surroundings.household is not None:
            await self._surroundings.household.drain()

    async def end_all(self) -> None:
        """End every life that is still there, whatever it does."""
        for life in self.all:
            if not life.dead:
                await life.process.kill()
                life.die()
                await self._drain(life)
