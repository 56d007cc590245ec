"""TargetService: a fake service on a port of its own, from cell to cell."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import traceback
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ackgap.model.event import Event, Json
from ackgap.target.clock import VirtualClock
from ackgap.target.door import Door, Entrance, listen
from ackgap.target.engine import Engine
from ackgap.target.exchange import Cell, Exchange
from ackgap.target.ledger import Ledger, Numbering
from ackgap.target.mcp.server import speaks_mcp
from ackgap.target.parked import NotToBeCopied, ParkedTarget
from ackgap.target.ports import Gate, Recorder
from ackgap.target.profiles.facts import chosen_protection, chosen_settings
from ackgap.target.profiles.profile import AMBIGUOUS, Profile
from ackgap.target.upstream.interposer import Interposer
from ackgap.target.wire.answer import Answer
from ackgap.target.wire.connection import Connection, RawRequest
from ackgap.target.wire.paths import plain_path
from ackgap.target.wire.sockets import read_now, reset
from ackgap.target.wire.tls import NotTrusted, TlsEnd

__all__ = ["Numbering", "TargetService"]

_ACCEPT_PAUSE_S = 0.05
"""Wait after a connection could not be accepted (the process is out of descriptors)."""
_DRAIN_LIMIT_S = 5.0


class TargetService:
    """An instrumented fake service. It keeps its port for its lifetime and its state for one cell.

    Args:
        name: The scenario's name for it; prefix of its operations.
        host: Address to listen on; loopback unless a private network is meant.
        port: Port to listen on; 0 takes a free one.
    """

    def __init__(self, name: str, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.name = name
        self.host = host
        self.port = port
        self._doors: list[Door] = []
        self._late: set[asyncio.Task[None]] = set()
        self._cell: Cell | None = None

    @property
    def url(self) -> str:
        """Base URL, without a slash at the end."""
        return f"http://{self.host}:{self.port}"

    @property
    def ledger(self) -> Ledger | None:
        """What it counted in the present cell."""
        return self._cell.ledger if self._cell else None

    async def start(self) -> int:
        """Listen, and return the port.

        Raises:
            HarnessFailed: The port is not to be had.
        """
        listener = listen(self.name, self.host, self.port)
        self.port = listener.getsockname()[1]
        self._open(Door(listener=listener, entrance=Entrance(port=self.port)))
        return self.port

    async def stand_for(self, host: str, address: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Listen at one more address, in the place of a host, and return the port.

        Args:
            host: Its name.
            address: Where its clients are led.
            port: Likewise; 0 takes a free one.
            tls: With the certificate of that host, where its clients speak TLS at that port.

        Raises:
            HarnessFailed: The port is not to be had.
        """
        listener = listen(self.name, address, port)
        port = listener.getsockname()[1]
        self._open(Door(listener=listener, entrance=Entrance(port=port, host=host, tls=tls)))
        return port

    def _open(self, door: Door) -> None:
        self._doors.append(door)
        door.accepting = asyncio.get_running_loop().create_task(self._accept(door))

    def begin(
        self,
        *,
        profile: Profile,
        protection: str | None,
        settings: Mapping[str, Json],
        reads: tuple[str, ...],
        recorder: Recorder,
        gate: Gate,
        clock: VirtualClock,
        drift: int,
        numbers: Numbering,
        interposer: Interposer | None = None,
    ) -> None:
        """Begin a cell with fresh state. Connections of an earlier one are dropped and can record nothing more.

        Args:
            profile: What the service does.
            protection: How it treats repeats, by name; None takes the profile's default.
            settings: What the scenario sets.
            reads: Globs of operations that are reads although the profile says otherwise.
            recorder: Takes the events.
            gate: Decides when a request may go on.
            clock: Virtual time.
            drift: Shifts the wording of scripted models.
            numbers: Numbers attempts and effects over all targets of the cell.
            interposer: Asks a real service, or what was recorded of it, in the profile's place.

        Raises:
            ScenarioInvalid: The profile has no such protection or setting.
        """
        engine = Engine(
            profile=profile,
            target=self.name,
            protection=chosen_protection(profile, self.name, protection),
            settings=chosen_settings(profile, self.name, settings),
            reads=reads,
            clock=clock,
            drift=drift,
        )
        self._end_cell()
        self._cell = Cell(
            engine=engine, ledger=Ledger(self.name, recorder, numbers), gate=gate, clock=clock, interposer=interposer
        )

    def operation_name(self, method: str, path: str) -> str:
        """Return the name that a request has in the present cell, for whoever sees it before it is sent.

        Raises:
            RuntimeError: No cell has begun.
        """
        if self._cell is None:
            raise RuntimeError("no cell has begun")
        return self._cell.engine.profile.operation_name(self.name, method, path)

    def boundary_name(self, method: str, request_target: str) -> str | None:
        """Return the name of the boundary that a request line announces.

        None where nothing changes or costs money, `AMBIGUOUS` where the address serves several operations of which
        some do: the request will tell once it is here.
        """
        if self._cell is None:
            return None
        engine = self._cell.engine
        if speaks_mcp(engine.profile, method.upper(), request_target):
            changes = any(each.paid or engine.is_effectful(each) for each in engine.profile.operations)
            return AMBIGUOUS if changes and method.upper() == "POST" else None
        found = engine.profile.candidates(method.upper(), plain_path(request_target))
        stops = [match.operation for match in found if match.operation.paid or engine.is_effectful(match.operation)]
        if not stops:
            return None
        if any(match.operation.match for match in found):
            return AMBIGUOUS
        return f"{self.name}.{stops[0].name}"

    def expect_death(self, incarnation: int) -> None:
        """Tell it, just before the kill, that connections of that life which end from now on end by its death.

        A connection that its client had closed before, while its request was parked, is recorded as given up.
        Without this call a client that gives up is told apart from one that died by what the gate does next.
        """
        if self._cell is not None:
            self._cell.expect_death(incarnation)

    def expect_leaving(self, incarnation: int) -> None:
        """Tell it that a fault has struck one of a life's calls: what the life does to others is its answer to that."""
        if self._cell is not None:
            self._cell.leaving.add(incarnation)

    def finish_what_is_applied(self, incarnation: int) -> None:
        """Finish the attempts of a life that is about to be stopped: a service does not wait for its client's ears."""
        if self._cell is not None:
            for exchange in tuple(self._cell.exchanges):
                if exchange.connection.incarnation == incarnation:
                    exchange.finish()

    def parked(self) -> ParkedTarget:
        """Return what another cell needs to go on from here, as if everybody who is connected were dead.

        Raises:
            NotToBeCopied: Something is under way that a copy would not have.
            RuntimeError: No cell has begun.
        """
        if self._cell is None:
            raise RuntimeError("no cell has begun")
        waiting = select.poll()
        for door in self._doors:
            waiting.register(door.listener, select.POLLIN)
        if waiting.poll(0):
            raise NotToBeCopied("a connection had not been accepted yet")
        return self._cell.parked()

    def take_up(self, parked: ParkedTarget, earlier: Sequence[Event], *, dead: int) -> None:
        """Have the cell that has just begun go on from what was parked.

        Args:
            parked: For this cell alone.
            earlier: What had happened by then.
            dead: The life that was connected; later connections of it are refused.

        Raises:
            RuntimeError: No cell has begun.
        """
        if self._cell is None:
            raise RuntimeError("no cell has begun")
        self._cell.take_up(parked, earlier, dead)

    def fall_behind(self, seconds: float) -> None:
        """From now on lookups do not see objects that are younger than so many virtual seconds."""
        if self._cell is not None:
            self._cell.engine.stale_s = seconds

    async def drain(self, incarnation: int) -> None:
        """Drop every connection of a life that is dead, and record what it had sent and nobody has read.

        When this returns, nothing of that life is worked on any more. Later connections of it are refused.
        """
        cell = self._cell
        if cell is None:
            return
        cell.dying.add(incarnation)
        cell.drained.add(incarnation)
        for door in self._doors:
            self._sweep_backlog(door, cell, incarnation)
        mine = [connection for connection in cell.connections if connection.incarnation == incarnation]
        for connection in mine:
            connection.sever()
        # What has gone on to a real service comes back, and its effect is still counted.
        upstream_s = cell.interposer.limit_s if cell.interposer is not None else 0.0
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_LIMIT_S + upstream_s):
                for connection in mine:
                    await connection.finished()
        for byte_count, complete in cell.remnants.pop(incarnation, ()):
            cell.ledger.discarded(incarnation, byte_count, complete)

    def open_connections(self, incarnation: int) -> int:
        """Return how many connections of a life are open."""
        if self._cell is None:
            return 0
        return sum(connection.incarnation == incarnation for connection in self._cell.connections)

    def requests_in_flight(self, incarnation: int | None = None) -> int:
        """Return how many requests are being worked on, of one life or of all."""
        if self._cell is None:
            return 0
        return sum(
            connection.busy
            for connection in self._cell.connections
            if incarnation is None or connection.incarnation == incarnation
        )

    async def stop(self) -> None:
        """Drop all connections and give the port back."""
        self._end_cell()
        while self._doors:
            await self._doors.pop().close()
        await asyncio.sleep(0)  # lets aborted transports close their sockets

    def _end_cell(self) -> None:
        cell, self._cell = self._cell, None
        if cell is None:
            return
        cell.ledger.close()
        for connection in tuple(cell.connections):
            connection.sever()

    async def _accept(self, door: Door) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, peer = await loop.sock_accept(door.listener)
            except OSError:
                await asyncio.sleep(_ACCEPT_PAUSE_S)
                continue
            await self.receive(sock, peer, door.entrance)

    async def receive(self, sock: socket.socket, peer: tuple[str, int], entrance: Entrance) -> None:
        """Serve a connection that has been accepted, here or by somebody who has sent it on unread.

        Args:
            sock: Its socket; ours from now on.
            peer: The client's address and port.
            entrance: By what way it has come.
        """
        connection = self._adopt(sock, peer[0], peer[1], entrance)
        if connection is not None:
            with suppress(OSError):
                await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, sock)

    def _adopt(self, sock: socket.socket, peer_host: str, peer_port: int, entrance: Entrance) -> Connection | None:
        """Decide whose connection it is, once and for all; None if it is nobody's."""
        cell = self._cell
        if cell is None:
            reset(sock)
            return None
        incarnation = cell.gate.incarnation_of(peer_port, entrance.port, peer_host)
        dying = cell.dying - cell.drained
        if incarnation is None and len(dying) == 1:
            # Nobody holds it, and a life is just being killed: its process has died while this was in the backlog.
            (dead,) = dying
            cell.remember_remnant(dead, *_connection(cell, sock, dead, entrance).take_remnant())
            reset(sock)
            return None
        if incarnation is None or incarnation in cell.drained:
            waiting = len(read_now(sock))
            reset(sock)
            holder = "a life that is over" if incarnation is not None else "no process of the worker"
            cell.ledger.note(
                "connection_refused",
                f"{self.name}: refused a connection from port {peer_port}, held by {holder}; "
                f"{waiting} bytes were waiting on it",
                incarnation or 0,
            )
            return None
        connection = _connection(cell, sock, incarnation, entrance)
        cell.connections.add(connection)
        return connection

    def _sweep_backlog(self, door: Door, cell: Cell, incarnation: int) -> None:
        """Take the connections that nobody has accepted yet: a dead life may be behind them."""
        while True:
            try:
                sock, peer = door.listener.accept()
            except OSError:
                return
            sock.setblocking(False)
            holder = cell.gate.incarnation_of(peer[1], door.entrance.port, peer[0])
            # A peer that nobody holds any more, right after a death, is the one that died.
            connection = _connection(cell, sock, incarnation if holder is None else holder, door.entrance)
            if connection.incarnation != incarnation:
                cell.connections.add(connection)
                late = asyncio.get_running_loop().create_task(self._serve_late(connection, sock))
                self._late.add(late)
                late.add_done_callback(self._late.discard)
                continue
            cell.remember_remnant(incarnation, *connection.take_remnant())
            reset(sock)

    async def _serve_late(self, connection: Connection, sock: socket.socket) -> None:
        with suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(lambda: connection, sock)


def _connection(cell: Cell, sock: socket.socket, incarnation: int, entrance: Entrance) -> Connection:
    tls = None if entrance.tls is None else TlsEnd(entrance.tls)
    return Connection(_Owner(cell, entrance.host), sock, incarnation, tls=tls, single=entrance.single)


class _Owner:
    """Ties a connection to the cell in which it was accepted."""

    def __init__(self, cell: Cell, host: str) -> None:
        self._cell = cell
        self._host = host

    def exchange(self, connection: Connection, raw: RawRequest) -> Coroutine[Any, Any, None]:
        try:
            mcp = self._cell.mcp
            opened = mcp.open(raw) if mcp.serves(raw) else None
            if isinstance(opened, Answer):
                return _say(connection, opened)
            return Exchange(self._cell, connection, raw, opened).run()
        except Exception:
            # A mistake of ours must not pass for a crash of the worker, nor take other connections along.
            self._cell.ledger.note("target_failed", traceback.format_exc(limit=8), connection.incarnation)
            return _sever(connection)

    def connection_over(self, connection: Connection) -> None:
        self._cell.connections.discard(connection)

    def left_unread(self, connection: Connection, byte_count: int, complete_request: bool) -> None:
        self._cell.remember_remnant(connection.incarnation, byte_count, complete_request)

    def not_trusted(self, connection: Connection, problem: NotTrusted) -> None:
        life = connection.incarnation
        if life in self._cell.dying or life in self._cell.leaving:
            return
        text = f"a client of life {life} came to no agreement with {self._host} on TLS: {problem}"
        if problem.by_certificate:
            text = (
                f"a client of life {life} did not trust the certificate of {self._host} that was made here: {problem}"
            )
        self._cell.ledger.note("tls_refused", text, life)


async def _say(connection: Connection, answer: Answer) -> None:
    """Answer what is no attempt at anything: it leaves no trace in the ledger."""
    if not connection.severed.is_set():
        await connection.answer(answer)


async def _sever(connection: Connection) -> None:
    connection.sever()
