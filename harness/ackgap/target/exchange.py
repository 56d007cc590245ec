"""Exchange: the way of one attempt through a target, from the whole request to the answer, or to the drop."""

from __future__ import annotations

import asyncio
import http
import traceback
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ackgap.model.boundary import Phase
from ackgap.model.event import Decision
from ackgap.target.answer import Answer
from ackgap.target.clock import VirtualClock
from ackgap.target.connection import BODY_BYTES, Connection, RawRequest
from ackgap.target.engine import Engine, Handled
from ackgap.target.ledger import Ledger
from ackgap.target.payload import BodyTooLarge, decode_body, decode_query, digest, inflate
from ackgap.target.ports import Gate, Severed
from ackgap.target.profile import Match, plain_path
from ackgap.target.protection import sent_key
from ackgap.target.request import Request

__all__ = ["Cell", "Exchange"]


class _GaveUp(Exception):
    """The client closed its connection while its request was parked."""


@dataclass(slots=True, kw_only=True, eq=False)
class Cell:
    """One cell of one target.

    Attributes:
        drained: Lives that are dead, and whose connections are refused.
        dying: Lives that are about to be killed.
        remnants: By life: bytes that no request was made of, and whether one could have been.
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

    @property
    def in_flight(self) -> int:
        """How many requests are being worked on."""
        return len(self.exchanges)

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

    def __init__(self, cell: Cell, connection: Connection, raw: RawRequest) -> None:
        self.connection = connection
        self._cell = cell
        self._raw = raw
        self._request, self._refusal = _read(raw)
        profile = cell.engine.profile
        self._match = None if self._refusal else profile.match(self._request.method, self._request.path)
        if self._match is not None:
            self._request = replace(self._request, path_values=self._match.path_values)
        self._operation = self._name()
        operation = self._match.operation if self._match else None
        self._key = sent_key(self._request, profile, cell.engine.protection)
        self._effectful = operation is not None and cell.engine.is_effectful(operation)
        self._paid = operation is not None and operation.paid
        self._occurrence = cell.gate.occurrence_of(
            connection.incarnation, self._operation, self._request.method, self._request.path
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

    def note_if_given_up(self) -> None:
        """Record that the client gave up, if it has, while its request is parked."""
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
        except Severed:
            cell.ledger.dropped(self._attempt, self._handled)
            self.connection.sever()
        except _GaveUp:
            cell.ledger.dropped(self._attempt, self._handled)
            self.connection.sever()
        except Exception:
            # A target that fails must neither take the service down nor pass for one that answered.
            cell.ledger.note("target_failed", traceback.format_exc(limit=8), self.connection.incarnation)
            cell.ledger.dropped(self._attempt, self._handled)
            self.connection.sever()
        finally:
            if self._handled is not None:
                cell.engine.complete(self._handled)
            cell.exchanges.discard(self)

    async def _serve(self, match: Match) -> None:
        cell, incarnation = self._cell, self.connection.incarnation
        stops = self._effectful or self._paid
        if stops:
            await self._pass(Phase.RECEIVED)
        handled = cell.engine.decide(match, self._request, incarnation=incarnation, occurrence=self._occurrence)
        self._handled = handled
        if handled.effect_object_id is not None:
            cell.ledger.applied(
                handled,
                self._request,
                attempt=self._attempt,
                incarnation=incarnation,
                operation=self._operation,
                key=self._key,
                clock_s=cell.clock.now_s(),
            )
        if stops:
            await self._pass(Phase.APPLIED)
        cell.engine.complete(handled)
        await self._write(handled.answer)
        cell.ledger.answered(self._attempt, handled)

    async def _pass(self, phase: Phase) -> None:
        """Stand at a phase until the gate lets the request go on.

        Raises:
            Severed: The life is over.
            _GaveUp: The client did not wait.
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
            waiting.result()
            if connection.severed.is_set() or (connection.gone and connection.incarnation in self._cell.dying):
                raise Severed
            if connection.gone:
                self.note_if_given_up()
                raise _GaveUp
        finally:
            waiting.cancel()
            cut.cancel()
            self._parked = False

    async def _refuse(self) -> None:
        engine, request = self._cell.engine, self._request
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
        await self.connection.answer(answer, close=bool(self._raw.refusal))

    def _name(self) -> str:
        target, request = self._cell.engine.target, self._request
        if self._match is not None:
            return f"{target}.{self._match.operation.name}"
        if not request.method:
            return f"{target}.malformed"
        return self._cell.engine.profile.operation_name(target, request.method, request.path)


def _read(raw: RawRequest) -> tuple[Request, int]:
    """Return the request that was read, and the status with which it has to be refused, 0 if it need not."""
    refusal, problem, body = raw.refusal, raw.problem, raw.body
    headers: dict[str, str] = {}
    for name, value in raw.headers:
        lower = name.lower()
        headers[lower] = f"{headers[lower]}, {value}" if lower in headers else value
    try:
        body = inflate(raw.body, headers.get("content-encoding", ""), BODY_BYTES)
    except BodyTooLarge:
        refusal, problem = 413, f"the body is larger than {BODY_BYTES} bytes"
    except ValueError as error:
        refusal, problem = 400, str(error)
    decoded = decode_body(body, headers.get("content-type", ""))
    request = Request(
        method=raw.method.upper(),
        path=plain_path(raw.request_target),
        query=decode_query(raw.request_target.partition("#")[0].partition("?")[2]),
        headers=headers,
        body=body,
        payload=decoded.value,
        problem=problem or decoded.problem,
        digest=digest(raw.body),
    )
    return request, refusal
