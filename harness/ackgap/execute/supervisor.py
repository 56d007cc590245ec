"""The supervisor: one cell in, its history out.

It runs the worker, life after life, until the work counts as finished, the worker surfaces its doubt, or the limits
are reached; it injects the schedule's faults on the way. It decides nothing about right or wrong.

    start life 1 --> (fault strikes: kill, or pause) --> drain what it left --> start life 2 --> ... --> finished

Apart from this module only `process` and `containment` touch processes, and only `gatekeeper` lets anyone go on.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shlex
import signal
from collections.abc import Callable

from ackgap.execute import workspace
from ackgap.execute.channel import Channel
from ackgap.execute.gatekeeper import Gatekeeper
from ackgap.execute.hold import HoldObservation
from ackgap.execute.launch import Launch
from ackgap.execute.life import Life
from ackgap.execute.order import Order, Surroundings
from ackgap.execute.process import WorkerProcess
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.store import DurableStore
from ackgap.model.boundary import BoundaryKind
from ackgap.model.event import (
    CheckReported,
    Event,
    FaultInjected,
    GaveUp,
    IncarnationEnded,
    IncarnationStarted,
    InDoubtSurfaced,
    Note,
    Settling,
    WorkFinished,
)
from ackgap.model.history import History
from ackgap.model.schedule import FaultKind
from ackgap.target.clock import VirtualClock
from ackgap.target.ledger import Numbering

__all__ = ["Supervisor"]

_POLL_S = 0.25
_IN_DOUBT_EXIT_LIMIT_S = 3.0


class Supervisor:
    """Runs one cell.

    Args:
        order: What to run.
        surroundings: Where.
        watch: Called with each event as it happens.
    """

    def __init__(
        self, order: Order, surroundings: Surroundings, *, watch: Callable[[Event], None] | None = None
    ) -> None:
        self._order = order
        self._spec = order.scenario.worker
        self._limits = order.scenario.limits
        self._surroundings = surroundings
        self._launch = Launch(order, surroundings)
        self._recorder = HistoryRecorder(watch)
        self._clock = VirtualClock()
        self._store = DurableStore(surroundings.work, patterns=self._spec.store, outside=self._spec.external_state)
        self._hold = HoldObservation(order.hold) if order.hold else None
        self._gatekeeper = Gatekeeper(
            recorder=self._recorder,
            store=self._store,
            targets={address: surroundings.targets[name] for address, name in surroundings.by_address().items()},
            strike=self._strike,
            hold=self._hold,
        )
        self._channel = Channel(
            surroundings.channel,
            life_of=self._gatekeeper.life_of,
            greeted=self._gatekeeper.greeted,
            announced=self._gatekeeper.announced,
        )
        self._lives: list[Life] = []

    async def run(self) -> History:
        """Run the cell and return its history.

        Raises:
            AckgapError: The worker cannot be started, or the cell not be prepared.
        """
        self._prepare()
        await self._channel.open()
        if self._surroundings.witness is not None:
            self._surroundings.witness.asked = self._gatekeeper.host_asked_for
        try:
            await self._live_on()
            await self._run_checks()
        finally:
            await self._clear_away()
        return self._recorder.history()

    @property
    def modules(self) -> tuple[str, ...]:
        """Third-party modules that the worker had imported by the end of an undisturbed run."""
        return self._gatekeeper.modules

    @property
    def hold_outcome(self) -> str:
        """What the hold proof showed: `waits`, `goes_on`, or empty."""
        return self._hold.outcome if self._hold else ""

    # ------------------------------------------------------------- preparing

    def _prepare(self) -> None:
        if self._surroundings.outside is not None:
            self._surroundings.outside.restore()
        workspace.fresh_copy(self._spec.directory, self._surroundings.work, limit_bytes=self._limits.copy_bytes)
        workspace.fresh_copy(None, self._surroundings.scratch, limit_bytes=0)
        self._launch.reset()
        values = self._order.scenario.values_of(self._order.variant)
        protections = {name: chosen for value in values for name, chosen in value.protections.items()}
        numbers = Numbering()
        for target in self._order.scenario.targets:
            profile = self._order.profiles[target.name]
            self._surroundings.targets[target.name].begin(
                profile=profile,
                protection=protections.get(target.name) or target.protection or profile.default_protection,
                settings=target.settings,
                reads=target.reads,
                recorder=self._recorder,
                gate=self._gatekeeper,
                clock=self._clock,
                drift=self._order.drift,
                numbers=numbers,
            )

    # ---------------------------------------------------------- life by life

    async def _live_on(self) -> None:
        failures = 0
        while True:
            life = self._start_life()
            if await self._live(life) == "paused":
                await self._overlap(life)
                return
            struck_dead = life.struck.is_set() and life.process.signal == signal.SIGKILL
            finished = await self._after(life)
            if finished or self._concluded():
                return
            failures = 0 if struck_dead else failures + 1
            if failures >= (1 if self._order.probe else max(1, self._limits.restarts)):
                self._give_up(life)
                return

    def _start_life(self) -> Life:
        incarnation = len(self._lives) + 1
        process = WorkerProcess(
            token=secrets.token_hex(16),
            output_bytes=self._limits.output_bytes,
            in_doubt_when=self._spec.in_doubt_when,
        )
        life = Life(
            incarnation=incarnation,
            token=process.token,
            process=process,
            fault=self._order.schedule.fault_in(incarnation),
        )
        self._gatekeeper.admit(life)
        command = self._launch.command(incarnation)
        digest = self._store.digest()
        pid, why_plain = self._launch.start(process, command, clock_offset_s=self._clock.offset_s)
        self._lives.append(life)
        alive = frozenset(other.process.pid for other in self._lives if not other.dead)
        for other in self._lives:
            other.process.lives_beside(alive - {other.process.pid})
        self._recorder.record(
            IncarnationStarted,
            incarnation=incarnation,
            pid=pid,
            command=command,
            clock_offset_s=self._clock.offset_s,
            store_digest=digest,
        )
        if why_plain:
            text = f"not forked from a warm parent: {why_plain}"
            self._recorder.record(Note, code="started_plainly", text=text, incarnation=incarnation)
        return life

    async def _live(self, life: Life) -> str:
        """Wait until the life is over, paused, finished by the user's own command, or out of time; say which."""
        exited = asyncio.ensure_future(life.process.exited.wait())
        paused = asyncio.ensure_future(life.paused.wait())
        ends_s = asyncio.get_running_loop().time() + self._limits.life_s
        poll_s = _POLL_S if self._spec.finished_when or self._spec.in_doubt_when or self._hold else self._limits.life_s
        try:
            while True:
                left_s = ends_s - asyncio.get_running_loop().time()
                await asyncio.wait(
                    (exited, paused), timeout=max(0.0, min(left_s, poll_s)), return_when=asyncio.FIRST_COMPLETED
                )
                if paused.done():
                    return "paused"
                if exited.done():
                    return "exited"
                if self._hold is not None and self._hold.concluded.is_set():
                    return "concluded"
                if life.process.in_doubt_text is not None and life.strike is None:
                    await asyncio.wait((exited,), timeout=_IN_DOUBT_EXIT_LIMIT_S)
                    return "in doubt"
                if self._spec.finished_when and await self._user_says_finished():
                    return "finished"
                if left_s <= 0:
                    life.overdue = True
                    return "overdue"
        finally:
            exited.cancel()
            paused.cancel()

    async def _after(self, life: Life) -> bool:
        """End what is left of a life, write down how it ended, and say whether the work counts as finished."""
        by_harness = not life.process.exited.is_set() or life.struck_dead
        if life.strike is not None:
            await life.strike
        left_alone = life.process.exit_code == 0 and not by_harness
        if left_alone:
            await self._tree_empty(life)
        outlived = len([pid for pid in life.process.pids() if pid != life.process.pid])
        services = self._surroundings.targets.values()
        in_flight = sum(service.requests_in_flight(life.incarnation) for service in services)
        await life.process.kill()
        await life.process.output_drained()
        await self._channel.hear_out(life.incarnation)
        life.die()
        await self._drain(life)
        self._recorder.record(
            IncarnationEnded,
            incarnation=life.incarnation,
            exit_code=life.process.exit_code,
            signal=life.process.signal,
            by_harness=by_harness,
            leftover_count=outlived or life.outlived,
            store_digest=self._store.digest(),
            output_tail=life.process.output_tail[-4000:],
        )
        if life.fault is not None and life.struck.is_set() and life.fault.down_s:
            self._clock.move(life.fault.down_s)
        return await self._finished(life, clean=left_alone and not outlived and not in_flight)

    async def _finished(self, life: Life, *, clean: bool) -> bool:
        if life.process.in_doubt_text is not None and not life.struck_dead:
            self._recorder.record(InDoubtSurfaced, incarnation=life.incarnation, text=life.process.in_doubt_text)
            return True
        if self._spec.finished_when is not None:
            if await self._user_says_finished():
                self._recorder.record(
                    WorkFinished, incarnation=life.incarnation, how=f"`{shlex.join(self._spec.finished_when)}` says so"
                )
                return True
            return False
        if clean:
            self._recorder.record(WorkFinished, incarnation=life.incarnation, how="the worker exited with status 0")
        return clean

    def _concluded(self) -> bool:
        """Whether there is nothing more to learn: the mode is proven, or a life was out of time."""
        if self._hold is not None and self._hold.concluded.is_set():
            return True
        last = self._lives[-1]
        if last.overdue:
            self._give_up(last)
        return last.overdue

    async def _tree_empty(self, life: Life) -> None:
        """Wait for children that outlive a worker which exited with status 0, within the life's time."""
        ends_s = asyncio.get_running_loop().time() + self._limits.life_s
        while any(pid != life.process.pid for pid in life.process.living()):
            if asyncio.get_running_loop().time() > ends_s:
                return
            await asyncio.sleep(0.005)

    async def _overlap(self, paused: Life) -> None:
        """A later life takes over while an earlier one is stopped; then the earlier one wakes up."""
        if paused.fault is not None and paused.fault.down_s:
            self._clock.move(paused.fault.down_s)
        failures = 0
        while True:
            heir = self._start_life()
            await self._live(heir)
            finished = await self._after(heir)
            failures += 1
            if finished or heir.overdue or failures >= max(1, self._limits.restarts):
                break
        paused.process.wake()
        paused.thaw()
        self._recorder.record(Note, code="woken", text=f"life {paused.incarnation} woke up", incarnation=1)
        await self._live(paused)
        await self._after(paused)
        if not finished:
            self._give_up(heir)

    def _give_up(self, life: Life) -> None:
        tail = life.process.output_tail.strip().splitlines()
        last_line = f"; it last printed: {tail[-1][:300]}" if tail else ""
        if life.overdue:
            reason = "waiting"
            text = f"life {life.incarnation} was still running after {self._limits.life_s:g} s{last_line}"
        else:
            reason = "crash_loop"
            code = life.process.exit_code
            how = f"exit status {code}" if code is not None else f"signal {life.process.signal}"
            count = len(self._lives)
            text = f"{count} {'life' if count == 1 else 'lives'}, the last ended by itself with {how}{last_line}"
        self._recorder.record(GaveUp, reason=reason, text=text)

    async def _drain(self, life: Life) -> None:
        await self._channel.drain(life.incarnation)
        for service in self._surroundings.targets.values():
            await service.drain(life.incarnation)

    # --------------------------------------------------------------- faults

    async def _strike(self, life: Life) -> None:
        assert life.fault is not None
        began_s = asyncio.get_running_loop().time()
        settling = await self._settle(life)
        settle_s = asyncio.get_running_loop().time() - began_s
        self._recorder.record(
            FaultInjected,
            incarnation=life.incarnation,
            fault=str(life.fault),
            settling=settling,
            settle_s=round(settle_s, 4),
            parked_siblings=tuple(life.parked),
            store_digest=self._store.digest(),
        )
        if life.fault.kind is FaultKind.PAUSE:
            life.process.pause()
            life.paused.set()
            return
        life.struck_dead = True
        for service in self._surroundings.targets.values():
            service.expect_death(life.incarnation)
        life.outlived = await life.process.kill()
        life.die()

    async def _settle(self, life: Life) -> Settling:
        """Let durable writes in flight land, where a hook can tell; else watch the store until it is quiet."""
        if life.has_injector:
            # At a call, what was asked for before it lands first; at a checkpoint, what comes after it is held.
            limit_s = self._limits.settle_s
            if life.frozen_at is BoundaryKind.CALL:
                proven = await life.turnstile.wait_for_quiet(limit_s=limit_s)
            else:
                proven = await life.turnstile.wait_until_landed(limit_s=limit_s)
            return Settling.SETTLED if proven else Settling.UNSETTLED
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + self._limits.settle_s
        digest, quiet_since_s = self._store.digest(), loop.time()
        while loop.time() < ends_s:
            await asyncio.sleep(self._limits.quiet_s / 5)
            seen = self._store.digest()
            if seen != digest:
                digest, quiet_since_s = seen, loop.time()
            elif loop.time() - quiet_since_s >= self._limits.quiet_s:
                return Settling.QUIET_OBSERVED
        return Settling.UNSETTLED

    # ------------------------------------------------- the user's own commands

    async def _user_says_finished(self) -> bool:
        assert self._spec.finished_when is not None
        code, _ = await self._launch.run(self._spec.finished_when, {})
        return code == 0

    async def _run_checks(self) -> None:
        if not self._order.scenario.checks or self._hold is not None:
            return
        path = self._surroundings.scratch / "ackgap-history.jsonl"
        lines = (json.dumps(event) for event in self._recorder.history().to_json())
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        for check in self._order.scenario.checks:
            code, text = await self._launch.run(check.command, {"ACKGAP_HISTORY": str(path)})
            passed = {0: True, 1: False}.get(code)
            self._recorder.record(
                CheckReported, name=check.name, passed=passed, text=text.strip()[-2000:], verdict=check.verdict
            )

    async def _clear_away(self) -> None:
        if self._surroundings.witness is not None:
            self._surroundings.witness.asked = None
        for life in self._lives:
            if not life.dead:
                await life.process.kill()
                life.die()
                await self._drain(life)
        await self._channel.close()
