"""Gatekeeper: everyone who comes to a boundary stands before it, is written down, and is let go, held or struck.

Three doors lead here, and behind them the rule is one. Targets bring requests that they have received or applied
(*wire*); the python injector brings threads and coroutines about to send, commit, or just back from either (*python*);
a proxy in front of a store brings what is about to become durable there, or has (*store*).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from ackgap.execute.channel import Announcement, Connection
from ackgap.execute.copies import Copier
from ackgap.execute.disturbance import Disturbances
from ackgap.execute.file_gate import FileGate
from ackgap.execute.hold import HoldObservation
from ackgap.execute.life import Life
from ackgap.execute.peers import PeerUnknown, holder_of
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.store import DurableStore
from ackgap.execute.store_gate import StoreGate
from ackgap.execute.turns import Turns
from ackgap.execute.turnstile import Write
from ackgap.model.boundary import BoundaryKind, CrashPoint, Phase
from ackgap.model.event import BoundaryReached, EgressAttempted, Injector, InjectorReady, Note, WroteOutside
from ackgap.model.manner import FaultKind
from ackgap.model.schedule import Fault
from ackgap.target.ports import Severed
from ackgap.target.profiles.profile import AMBIGUOUS
from ackgap.target.service import TargetService
from ackgap.target.wire.paths import plain_path

__all__ = ["Gatekeeper"]

Strike = Callable[[Life], Coroutine[Any, Any, None]]
StrikeCall = Callable[[Life, Fault], None]
ORDER_LIMIT_S = 3.0
"""Real seconds in which another durable write has to come while one is held."""


class Gatekeeper:
    """Implements the targets' `Gate`, and the supervisor's end of the channel.

    Args:
        recorder: Keeps the history.
        store: The durable store of the cell.
        targets: Services by the host and port under which the worker reaches them.
        strike: Injects a life's fault; called once a life stands at the fault's point.
        strike_call: Takes note of a fault that is not done to the worker itself; the life goes on.
        disturbances: What is wrong with the network.
        hold: What to hold to prove a mode, in a run that is made for that.

    Attributes:
        told: What has been written down and is not to be again.
        files: Where changes of files come to.
        copier: Copies everything at each point, in a run that is made for that.
        turns: Who may pass next, while several lives begin at once.
        guests: Names the processes that may call targets although they are no life's; their calls are of life 0.
    """

    def __init__(
        self,
        *,
        recorder: HistoryRecorder,
        store: DurableStore,
        targets: dict[str, TargetService],
        strike: Strike,
        strike_call: StrikeCall,
        disturbances: Disturbances | None = None,
        hold: HoldObservation | None = None,
    ) -> None:
        self._recorder = recorder
        self._store = store
        self._targets = targets
        self._strike = strike
        self._strike_call = strike_call
        self._disturbances = disturbances or Disturbances((), None, recorder, ())
        self._hold = hold
        self._lives: dict[int, Life] = {}
        self.files = FileGate(self._committing, self._committed)
        self.stores = StoreGate(self._lives, recorder, self._committing, self._committed)
        self.told: set[str] = set()
        self.copier: Copier | None = None
        self.turns: Turns | None = None
        self.guests: Callable[[], list[int]] = list
        self.modules: tuple[str, ...] = ()

    def admit(self, life: Life) -> None:
        """A life is about to begin."""
        self._lives[life.incarnation] = life

    def life_of(self, token: str) -> int | None:
        """Return the living incarnation that has a token."""
        for life in self._lives.values():
            if life.token == token and not life.dead:
                return life.incarnation
        return None

    # ------------------------------------------------------------------ wire

    def incarnation_of(self, peer_port: int, local_port: int, peer_host: str = "127.0.0.1") -> int | None:
        """Return which life holds the other end of a connection; see `ackgap.target.ports.Gate`."""
        if at_address := [life for life in list(self._lives.values()) if peer_host == life.process.address]:
            return at_address[-1].incarnation
        living = [life for life in list(self._lives.values()) if not life.dead]  # a store asks from its own thread
        for life in living:
            try:
                if (pid := holder_of(peer_port, local_port, life.process.pids())) is not None:
                    life.sees_caller(pid)
                    return life.incarnation
            except PeerUnknown:
                return living[0].incarnation if len(living) == 1 else 0
        with contextlib.suppress(PeerUnknown):
            if holder_of(peer_port, local_port, self.guests()) is not None:
                return 0
        if self._disturbances.carry(peer_port, local_port):
            # Its connections end with a life, and a stopped one makes none: it is of the one that runs.
            return next((life.incarnation for life in reversed(living) if not life.paused.is_set()), None)
        return None

    def occurrence_of(self, incarnation: int, operation: str, method: str, path: str, peer_port: int = 0) -> int:
        """Return the occurrence of a request that has reached its target."""
        life = self._lives.get(incarnation)
        if life is None:
            return 1
        known = 0 if self._disturbances.are_before(operation.partition(".")[0]) else peer_port
        return life.arrive(operation, (operation.partition(".")[0], method, path), known)

    async def reached(
        self, *, incarnation: int, name: str, occurrence: int, phase: Phase, attempt: int
    ) -> Fault | None:
        """A request stands at `received` or `applied`, or its answer at a phase of a stream.

        Returns:
            What the target is to do to the call, if that is where the life's fault strikes.

        Raises:
            Severed: Its life is over.
        """
        life = self._lives.get(incarnation)
        if life is None:
            return None
        point = CrashPoint(name=name, occurrence=occurrence, phase=phase)
        life.attempts[name, occurrence] = attempt
        self._arrived(point)
        await self._in_turn(life)
        await self._thawed(life, point)
        self._write_down(life, point, Injector.WIRE, attempt=attempt)
        return await self._stand(life, point)

    # ---------------------------------------------------------------- python

    def greeted(self, connection: Connection, hello: Announcement) -> None:
        """A process of a life has shown its token."""
        life = self._lives[connection.incarnation]
        connection.injector = Injector(str(hello.get("injector", Injector.PYTHON)))
        if connection.injector is Injector.PRELOAD and connection.pid in life.injectors:
            return  # each thread has a connection of its own
        life.injectors[connection.pid] = connection.injector
        self._recorder.record(
            InjectorReady,
            incarnation=life.incarnation,
            pid=connection.pid,
            python=str(hello.get("python", "")),
            clock_moved=bool(hello.get("clock_moved", False)),
            injector=connection.injector,
        )

    async def announced(self, connection: Connection, message: Announcement) -> None:
        """A process of a life has something to say."""
        life = self._lives[connection.incarnation]
        if life.dead:
            return
        kind = message.get("type")
        if kind == "reach":
            with contextlib.suppress(Severed):
                then = await self._announced_reach(life, connection, message)
                connection.let_go(int(message["id"]), then=then)
        elif kind == "egress":
            host = str(message["host"])
            known = isinstance(message.get("port"), int) and f"{host}:443" in self._targets
            if known and (address := f"{host}:{message['port']}") not in self._targets:
                host = address
            self._once(f"egress {host}", EgressAttempted, life, host=host, allowed=message["allowed"])
        elif kind == "outside":
            self._once(f"outside {message['path']}", WroteOutside, life, path=message["path"])
        elif kind == "failed":
            life.turnstile.land((connection.pid, int(message["op"])))
        elif kind == "pending":
            life.turnstile.told(connection.pid, message.get("pending", ()))
        elif kind == "modules":
            self.modules = max(self.modules, tuple(str(message["names"]).split()), key=len)
        elif kind == "trouble":
            self._once(f"trouble {message['text']}", Note, life, code="injector_trouble", text=str(message["text"]))

    async def _announced_reach(self, life: Life, connection: Connection, message: Announcement) -> bool:
        """Have whoever announces himself stand; return whether he is to say when he has done what he is about to do."""
        life.turnstile.told(connection.pid, message.get("pending", ()))
        if message["kind"] == "file":
            return await self.files.heard(life, connection, message)
        phase = Phase(message["phase"])
        if message["kind"] == "call":
            await self._call(life, connection, message, phase)
        else:
            await self._checkpoint(life, connection, message, phase)
        return False

    async def _call(self, life: Life, connection: Connection, message: Announcement, phase: Phase) -> None:
        call = (connection.pid, int(message["call"]))
        if phase is Phase.SENDING:
            service = self._targets.get(str(message["host"]))
            operation = service.boundary_name(str(message["method"]), str(message["path"])) if service else None
            if operation is None or service is None:
                return
            if operation == AMBIGUOUS:
                # Its address serves several operations: the target will tell which one, once it has all of it.
                await self._in_turn(life)
                await self._thawed(life, CrashPoint(name=service.name, occurrence=1, phase=phase))
                await life.turnstile.wait_for_quiet()
                line = (service.name, str(message["method"]).upper(), plain_path(str(message["path"])))
                port = 0 if self._disturbances.are_before(service.name) else int(message.get("local_port") or 0)
                life.announce_unnamed(line, call, port)
                return
            occurrence = life.announce_call(*call, operation)
            if connection.injector is Injector.PRELOAD:
                life.open_calls.discard(call)  # it does not see a call return
            point = CrashPoint(name=operation, occurrence=occurrence, phase=phase)
            self._arrived(point)
            await self._in_turn(life)
            await self._thawed(life, point)
            overlapped = not await life.turnstile.wait_for_quiet()
            await self._thawed(life, point)
        else:
            life.open_calls.discard(call)
            unnamed = life.forget_unnamed(call)
            if call not in life.call_points:
                return
            name, occurrence = life.call_points[call]
            if unnamed and (name, occurrence) not in life.attempts:
                return  # it turned out to be a read
            point = CrashPoint(name=name, occurrence=occurrence, phase=phase)
            overlapped = False
            await self._in_turn(life)
            await self._thawed(life, point)
        attempt = life.attempts.get((point.name, point.occurrence)) if phase is Phase.RETURNED else None
        self._write_down(life, point, connection.injector, attempt=attempt, message=message, overlapped=overlapped)
        await self._stand(life, point)

    async def _checkpoint(self, life: Life, connection: Connection, message: Announcement, phase: Phase) -> None:
        write = (connection.pid, int(message["op"]))
        if phase is Phase.COMMITTED:
            await self._committed(life, write, Injector.PYTHON, message)
        else:
            await self._committing(life, write, str(message["name"]), Injector.PYTHON, message)

    # -------------------------------------------------------- durable writes

    async def _committed(self, life: Life, write: Write, source: Injector, message: Announcement | None = None) -> None:
        life.turnstile.land(write)
        if write not in life.write_points:
            return
        name, occurrence = life.write_points[write]
        point = CrashPoint(name=name, occurrence=occurrence, phase=Phase.COMMITTED)
        self._arrived(point)
        await self._in_turn(life)
        await self._thawed(life, point, lands=True)
        self._write_down(life, point, source, message=message)
        await self._stand(life, point)
        life.passed(str(point.boundary))

    async def _committing(
        self, life: Life, write: Write, name: str, source: Injector, message: Announcement | None = None
    ) -> None:
        arriving = f"{name}#1:{Phase.COMMITTING}"
        if self._hold is not None:
            self._hold.arrived(arriving)
            # Nobody else is to wait for a write that is held: that would take the time which the proof measures.
            life.turnstile.hold(write)
            await self._hold.hold(arriving, life.patience)
            life.turnstile.release(write)
        life.turnstile.arrive(write)
        ahead = life.turnstile.ahead_of(write)
        overlapped = not await life.turnstile.wait_for_quiet(before=write)
        occurrence = life.announce_write(write, name)
        point = CrashPoint(name=name, occurrence=occurrence, phase=Phase.COMMITTING)
        await self._let_another_land(life, write, point)
        await self._in_turn(life)
        await self._thawed(life, point, lands_at_call=True)
        if self._may_begin(life, point):
            life.turnstile.begin(write, point.name)
        else:
            life.turnstile.leave(write)
        beside = tuple(
            sorted(f"{other}#{n}" for other, n in (life.write_points[w] for w in ahead & {*life.write_points}))
        )
        self._write_down(life, point, source, message=message, overlapped=overlapped, beside=beside)
        await self._stand(life, point, lands_at_call=True, write=write)

    async def _let_another_land(self, life: Life, write: Write, point: CrashPoint) -> None:
        """Hold a durable write until the one that a fault names has landed."""
        fault = life.meets(point)
        if fault is None or fault.kind is not FaultKind.HOLD:
            return
        life.meet(fault)
        self._strike_call(life, fault)
        life.turnstile.hold(write)
        passed = await life.awaits_passing(fault.manner.until, rest_s=ORDER_LIMIT_S)
        life.turnstile.release(write)
        if not passed and not life.struck.is_set():
            text = f"{fault.manner.until} did not land while {point} was held, so it cannot land first"
            self._recorder.record(Note, code="order_impossible", text=text, incarnation=life.incarnation)
        await life.turnstile.wait_for_quiet(before=write)

    @staticmethod
    def _may_begin(life: Life, point: CrashPoint) -> bool:
        """A write whose `committing` is struck never begins, so nobody has to wait for it to land."""
        return life.meets(point) is None or life.struck.is_set()

    def host_asked_for(self, host: str) -> None:
        """A process of the cell asked for the address of another machine, or for a port where no target stands.

        It was told that there is none, or refused.
        """
        lives = list(self._lives.values())
        # One that was refused a port may have ended by it before anybody could look.
        living = [life for life in lives if not life.dead] or (lives if ":" in host else [])
        if living:
            self._once(f"egress {host}", EgressAttempted, living[-1], host=host, allowed=False)

    # ---------------------------------------------------------------- common

    def _arrived(self, point: CrashPoint) -> None:
        if self._hold is not None:
            self._hold.arrived(str(point))

    async def _in_turn(self, life: Life) -> None:
        """Stand until it is this life's turn, where several pass in turn; once for each announcement."""
        if self.turns is not None:
            await self.turns.take(life.incarnation)

    async def _thawed(self, life: Life, point: CrashPoint, *, lands: bool = False, lands_at_call: bool = False) -> None:
        """Stand as long as the life is frozen; durable writes that land may pass, some only if it stands at a call."""
        # Again after each thaw: whoever is woken first may have frozen the life anew.
        while life.frozen_at is not None and not life.dead:
            if lands or (lands_at_call and life.frozen_at is BoundaryKind.CALL):
                break
            life.parked.append(str(point))
            await life.freed.wait()
        if life.dead:
            raise Severed

    async def _stand(
        self, life: Life, point: CrashPoint, *, lands_at_call: bool = False, write: Write | None = None
    ) -> Fault | None:
        """Be struck if this is the point, else stand only as long as the life is frozen.

        Returns:
            What the target is to do to the call, where the fault is one of a target's.
        """
        await self._disturbances.reached(life.incarnation, point)
        fault = life.meets(point)
        if fault is not None and fault.kind is FaultKind.TOXIC and not life.struck.is_set():
            life.meet(fault)
            self._strike_call(life, fault)
            await self._disturbances.begin(fault)
            fault = None
        if fault is not None and not life.struck.is_set():
            life.meet(fault)
            if fault.kind.strikes_call:
                self._strike_call(life, fault)
                return fault
            life.struck.set()
            life.frozen_at = point.boundary.kind
            if self.turns is not None:
                self.turns.leave(life.incarnation)
            life.strike = asyncio.create_task(self._strike(life))
            await life.freed.wait()
            if life.dead:
                raise Severed
            return None
        await self._thawed(life, point, lands_at_call=lands_at_call)
        if self.copier is not None:
            await self.copier.copy(life, point, write=write, told=self.told)
        return None

    def _write_down(
        self,
        life: Life,
        point: CrashPoint,
        source: Injector,
        *,
        attempt: int | None = None,
        message: Announcement | None = None,
        overlapped: bool = False,
        beside: tuple[str, ...] = (),
    ) -> None:
        said = message or {}
        self._recorder.record(
            BoundaryReached,
            incarnation=life.incarnation,
            name=point.name,
            occurrence=point.occurrence,
            phase=point.phase,
            boundary_kind=point.boundary.kind,
            source=source,
            attempt=attempt,
            thread=str(said.get("thread", "")),
            blocks_loop=bool(said.get("blocks_loop", False)),
            overlapped=overlapped,
            beside=beside,
            store_digest=self._store.digest(),
            masked_digest=self._store.masked_digest(),
        )

    def _once(self, what: str, kind: type[EgressAttempted | WroteOutside | Note], life: Life, **values: object) -> None:
        if what not in self.told:
            self.told.add(what)
            self._recorder.record(kind, incarnation=life.incarnation, **values)
