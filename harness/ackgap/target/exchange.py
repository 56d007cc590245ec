"""Exchange: the way of one attempt through a target, from the whole request to the answer, or to the drop."""

from __future__ import annotations

import asyncio
import http
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ackgap.model.boundary import STREAM_PHASES, Phase
from ackgap.model.event import Decision, Event
from ackgap.model.manner import FaultKind
from ackgap.model.schedule import Fault
from ackgap.target.clock import VirtualClock
from ackgap.target.engine import Engine, Handled
from ackgap.target.ledger import Ledger
from ackgap.target.mcp.server import McpServer
from ackgap.target.parked import NotToBeCopied, ParkedTarget
from ackgap.target.ports import Gate, Severed
from ackgap.target.profiles.profile import Match
from ackgap.target.protection.keys import sent_key
from ackgap.target.upstream.interposer import Interposer
from ackgap.target.wire.answer import Answer
from ackgap.target.wire.connection import Connection, RawRequest
from ackgap.target.wire.envelope import Enveloped
from ackgap.target.wire.reading import read_request

__all__ = ["Cell", "Exchange"]


class _GaveUp(Exception):
    """The client closed its connection while its request was parked."""


class _CutOff(Exception):
    """A fault ends the connection without an answer."""


@dataclass(slots=True, kw_only=True, eq=False)
class Cell:
    """One cell of one target.

    Attributes:
        drained: Lives that are dead, and whose connections are refused.
        dying: Lives that are about to be killed.
        remnants: By life: bytes that no request was made of, and whether one could have been.
        leaving: Lives of which a fault has struck a call: what they drop is their answer to that.
        completed: Set, and made anew, each time an attempt is done.
        interposer: Decides in the engine's place, where the target stands in front of a real service.
    """

    engine: Engine
    ledger: Ledger
    gate: Gate
    clock: VirtualClock
    connections: set[Connection] = field(default_factory=set)
    exchanges: set[Exchange] = field(default_factory=set)
    drained: set[int] = field(default_factory=set)
    dying: set[int] = field(default_factory=set)
    remnants: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)
    leaving: set[int] = field(default_factory=set)
    completed: asyncio.Event = field(default_factory=asyncio.Event)
    interposer: Interposer | None = None
    mcp: McpServer = field(init=False)

    def __post_init__(self) -> None:
        self.mcp = McpServer(self.engine)

    @property
    def in_flight(self) -> int:
        """How many requests are being worked on."""
        return len(self.exchanges)

    def parked(self) -> ParkedTarget:
        """Return what another cell needs to go on from here, as if everybody who is connected were dead.

        Raises:
            NotToBeCopied: A request is on its way that nobody has read yet, or a client has given up.
        """
        if self.interposer is not None:
            raise NotToBeCopied("a real service knows what a copy would not")
        if not all(connection.is_heard_out for connection in self.connections):
            raise NotToBeCopied("a request was still on its way, or a client had given up")
        return ParkedTarget(
            state=self.engine.state,
            in_flight=tuple(sorted((exchange.at_work for exchange in self.exchanges), key=lambda work: work[0])),
            sessions=self.mcp.sessions,
        )

    def take_up(self, parked: ParkedTarget, earlier: Sequence[Event], dead: int) -> None:
        """Go on from there; whoever was connected is dead.

        Args:
            parked: For this cell alone.
            earlier: What had happened.
            dead: The life whose connections they were.
        """
        self.engine.state = parked.state
        self.mcp.sessions = parked.sessions
        self.ledger.take_up(earlier)
        for attempt, handled in parked.in_flight:
            self.ledger.dropped(attempt, handled)
            if handled is not None:
                self.complete(handled)
        self.dying.add(dead)
        self.drained.add(dead)

    def complete(self, handled: Handled) -> None:
        """Take note that an attempt is done, and wake whoever waits for that."""
        self.engine.complete(handled)
        done, self.completed = self.completed, asyncio.Event()
        done.set()

    def expect_death(self, incarnation: int) -> None:
        """From now on a connection of that life which ends, ends by its death."""
        if incarnation in self.dying:
            return
        for exchange in tuple(self.exchanges):
            if exchange.connection.incarnation == incarnation:
                exchange.note_if_given_up()
        self.dying.add(incarnation)

    def remember_remnant(self, incarnation: int, byte_count: int, complete_request: bool) -> None:
        """Keep what was left on a connection until its life is drained."""
        if byte_count:
            self.remnants.setdefault(incarnation, []).append((byte_count, complete_request))


class Exchange:
    """One attempt. It is in the ledger as soon as the exchange exists; `run` does the rest."""

    def __init__(self, cell: Cell, connection: Connection, raw: RawRequest, enveloped: Enveloped | None = None) -> None:
        self.connection = connection
        self._cell = cell
        self._raw = raw
        self._enveloped = enveloped
        profile = cell.engine.profile
        if enveloped is None:
            self._request, self._refusal = read_request(raw, profile)
            self._match = None if self._refusal else profile.match(self._request)
        else:
            self._request, self._refusal, self._match = enveloped.request, 0, enveloped.match
        if self._match is not None:
            self._request = replace(self._request, path_values=self._match.path_values)
        self._operation = self._name()
        operation = self._match.operation if self._match else None
        self._key = sent_key(self._request, profile.protections, cell.engine.protection)
        self._effectful = operation is not None and cell.engine.is_effectful(operation)
        self._paid = operation is not None and operation.paid
        self._occurrence = cell.gate.occurrence_of(
            connection.incarnation,
            self._operation,
            *(enveloped.line if enveloped else (self._request.method, self._request.path)),
            connection.peer_port,
        )
        self._handled: Handled | None = None
        self._parked = False
        self._given_up = False
        self._attempt = cell.ledger.received(
            self._request,
            incarnation=connection.incarnation,
            operation=self._operation,
            occurrence=self._occurrence,
            effectful=self._effectful,
            paid=self._paid,
            key=self._key,
        )
        cell.exchanges.add(self)

    def run(self) -> Coroutine[Any, Any, None]:
        """Return what is left to do."""
        return self._run()

    def finish(self) -> None:
        """Finish what is applied already, whether or not anyone hears the answer."""
        if self._handled is not None:
            self._cell.complete(self._handled)

    @property
    def at_work(self) -> tuple[int, Handled | None]:
        """Number of the attempt, and what has been decided about it."""
        return self._attempt, self._handled

    def note_if_given_up(self) -> None:
        """Record that the client gave up, if it has, while its request is parked."""
        if self.connection.incarnation in self._cell.leaving:
            return
        if self._parked and self.connection.gone and not self._given_up:
            self._given_up = True
            self._cell.ledger.gave_up(self._attempt, self.connection.incarnation)

    async def _run(self) -> None:
        cell = self._cell
        try:
            if self._match is None:
                await self._refuse()
            else:
                await self._serve(self._match)
        except (Severed, _GaveUp):
            cell.ledger.dropped(self._attempt, self._handled)
            self.connection.sever()
        except _CutOff as cut:
            cell.ledger.dropped(self._attempt, self._handled, str(cut))
            self.connection.sever()
        except Exception:
            # A target that fails must neither take the service down nor pass for one that answered.
            cell.ledger.note("target_failed", traceback.format_exc(limit=8), self.connection.incarnation)
            cell.ledger.dropped(self._attempt, self._handled)
            self.connection.sever()
        finally:
            if self._handled is not None:
                cell.complete(self._handled)
            cell.exchanges.discard(self)

    async def _serve(self, match: Match) -> None:
        cell = self._cell
        stops = self._effectful or self._paid
        fault = await self._pass(Phase.RECEIVED) if stops else None
        if fault is not None and fault.kind is FaultKind.FAIL:
            await self._fail(fault, None)
            return
        handled = self._handled = await self._decide(match)
        self._write_down_effect(handled, self._attempt)
        if fault is not None and fault.kind is FaultKind.TWICE:
            await self._deliver_again(match)
        fault = await self._pass(Phase.APPLIED) if stops else None
        cell.complete(handled)
        if fault is not None and fault.kind is FaultKind.FAIL:
            await self._fail(fault, handled)
            return
        if fault is not None and fault.kind is FaultKind.SLOW:
            await self._hold_back(fault)
        if handled.passes_s:
            cell.clock.move(handled.passes_s)
            said = f"{self._operation} was asked in vain: {handled.passes_s / 3600:.6g} virtual hours go by"
            cell.ledger.note("time_passed", said, self.connection.incarnation)
        await self._write(handled.answer)
        cell.ledger.answered(self._attempt, handled)

    def _write_down_effect(self, handled: Handled, attempt: int) -> None:
        if handled.effect_object_id is not None:
            self._cell.ledger.applied(
                handled,
                self._request,
                attempt=attempt,
                incarnation=self.connection.incarnation,
                operation=self._operation,
                key=self._key,
                clock_s=self._cell.clock.now_s(),
            )

    async def _fail(self, fault: Fault, handled: Handled | None) -> None:
        """Answer with an error in the place of the service's answer, or of doing anything."""
        answer = self._cell.engine.fault_answer(fault.manner.status, self._request.path)
        await self._write(answer)
        if handled is None:
            said = f"fault: {fault.manner.status} before anything was done"
            self._cell.ledger.refused(self._attempt, answer.status, Decision.REJECTED, said)
        else:
            self._cell.ledger.answered(self._attempt, handled, status=answer.status)

    async def _hold_back(self, fault: Fault) -> None:
        """Hold the answer back for the fault's time, or until the client has had enough.

        Raises:
            Severed: The life is over.
            _CutOff: The client no longer waits.
        """
        await _first_of(self.connection.left, self.connection.severed, limit_s=fault.manner.for_s)
        if self.connection.severed.is_set():
            raise Severed
        if self.connection.left.is_set():
            raise _CutOff("the client did not wait for the answer that a fault held back")

    async def _deliver_again(self, match: Match) -> None:
        """Take the request a second time, as a network does that repeats it; nobody hears that answer."""
        cell = self._cell
        assert self._handled is not None
        cell.complete(self._handled)
        attempt = cell.ledger.received(
            self._request,
            incarnation=self.connection.incarnation,
            operation=self._operation,
            occurrence=self._occurrence,
            effectful=self._effectful,
            paid=self._paid,
            key=self._key,
        )
        again = await self._decide(match)
        self._write_down_effect(again, attempt)
        cell.complete(again)
        cell.ledger.answered(attempt, again)

    async def _decide(self, match: Match) -> Handled:
        """Have the attempt decided, after its predecessor with the same key where the service makes it wait.

        Raises:
            Severed: The life is over.
        """
        engine, incarnation = self._cell.engine, self.connection.incarnation
        if self._cell.interposer is not None:
            # It is waited for even if the life is over meanwhile: what has gone on upstream will happen.
            return await self._cell.interposer.decide(
                engine,
                match,
                self._request,
                None if self._enveloped else self._raw,
                incarnation=incarnation,
                key=self._key,
                noted=lambda code, text: self._cell.ledger.note(code, text, incarnation),
            )
        while True:
            handled = engine.decide(match, self._request, incarnation=incarnation, occurrence=self._occurrence)
            if handled.waits_for is None:
                return handled
            while engine.is_working_on(handled.waits_for):
                await _first_of(self._cell.completed, self.connection.severed)
                if self.connection.severed.is_set():
                    raise Severed

    async def _pass(self, phase: Phase) -> Fault | None:
        """Stand at a phase until the gate lets the request go on; return what is to be done to it, if anything.

        Raises:
            Severed: The life is over.
            _GaveUp: The client did not wait.
            _CutOff: A fault ends the connection here.
        """
        connection = self.connection
        waiting = asyncio.ensure_future(
            self._cell.gate.reached(
                incarnation=connection.incarnation,
                name=self._operation,
                occurrence=self._occurrence,
                phase=phase,
                attempt=self._attempt,
            )
        )
        cut = asyncio.ensure_future(connection.severed.wait())
        self._parked = True
        try:
            await asyncio.wait({waiting, cut}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.done():
                waiting.cancel()
                with suppress(asyncio.CancelledError, Severed):
                    await waiting
                raise Severed
            fault = waiting.result()
            if connection.severed.is_set() or (connection.gone and connection.incarnation in self._cell.dying):
                raise Severed
            if connection.gone and phase not in STREAM_PHASES:
                # Whoever has begun to read a stream may leave it when it has heard enough.
                if connection.incarnation in self._cell.leaving:
                    raise _CutOff("the client left after a fault had struck another call")
                self.note_if_given_up()
                raise _GaveUp
            if fault is not None and fault.kind in (FaultKind.LOSE, FaultKind.RESET):
                raise _CutOff(f"fault: {fault.manner.words}")
            return fault
        finally:
            waiting.cancel()
            cut.cancel()
            self._parked = False

    async def _refuse(self) -> None:
        engine, request = self._cell.engine, self._request
        if self._enveloped is not None and self._enveloped.refused is not None:
            refused = self._enveloped.refused
            await self._write(refused.answer)
            self._cell.ledger.refused(self._attempt, refused.answer.status, refused.decision, refused.rule)
            return
        decision, status, rule = Decision.UNKNOWN_PATH, 0, "no operation has that method and path"
        if self._refusal:
            decision, status, rule = Decision.MALFORMED, self._refusal, request.problem
            name = "too_large" if status == http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE else "malformed"
            answer = engine.error(name, problem=rule, path=request.path)
            answer = replace(answer, status=status)
        else:
            methods = engine.profile.allowed_methods(request.path)
            answer = engine.error("wrong_method" if methods else "unknown_path", path=request.path)
            if methods:
                answer = replace(answer, headers=(*answer.headers, ("Allow", ", ".join(methods))))
        await self._write(answer)
        self._cell.ledger.refused(self._attempt, answer.status, decision, rule)

    async def _write(self, answer: Answer) -> None:
        if self.connection.severed.is_set():
            raise Severed
        if self._enveloped is not None:
            answer = self._enveloped.wrap(answer)
        stops = answer.streamed and (self._effectful or self._paid)
        written = self._stand_in(len(answer.parts)) if stops else None
        await self.connection.answer(answer, close=bool(self._raw.refusal), written=written)

    def _stand_in(self, part_count: int) -> Callable[[int], Awaitable[None]]:
        """Return what stands at the phases of a stream, by how many of its parts have been written."""
        marks = {
            Phase.STREAM_BEGUN: 1,
            Phase.STREAM_HALF: max(1, part_count // 2),
            Phase.STREAM_WHOLE: max(1, part_count - 1),
        }

        async def stand(written: int) -> None:
            if self.connection.severed.is_set():
                raise Severed
            for phase, mark in marks.items():
                if mark == written:
                    await self._pass(phase)

        return stand

    def _name(self) -> str:
        target, request = self._cell.engine.target, self._request
        if self._match is not None:
            return f"{target}.{self._match.operation.name}"
        if self._enveloped is not None:
            return f"{target}.{self._enveloped.name}"
        if not request.method:
            return f"{target}.malformed"
        return self._cell.engine.profile.operation_name(target, request.method, request.path)


async def _first_of(*events: asyncio.Event, limit_s: float | None = None) -> None:
    """Wait until one of several events is set, or the time is over."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waiting, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
    for each in waiting:
        each.cancel()
