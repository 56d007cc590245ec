"""Relay: one connection of a client's to PostgreSQL, with a session's steps carried out between the two sides."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Iterator
from typing import TYPE_CHECKING, Any

from ackgap.execute.pgwire.beginning import TLS_HELLO, Opening, Wish, opening_of, refusal
from ackgap.execute.pgwire.frames import Misspoken
from ackgap.execute.pgwire.session import Session
from ackgap.execute.pgwire.steps import Boundary, Failed, Forward, Park, Step
from ackgap.execute.pgwire.tls import TlsEnd
from ackgap.execute.services.service import Door
from ackgap.target.ports import Severed

if TYPE_CHECKING:
    from ackgap.execute.services.postgres_proxy import PostgresProxy

__all__ = ["Relay"]

_HEARD = 16
"""Pieces that are taken of a client that stands parked."""


class Relay(asyncio.Protocol):
    """Faces the client; `_ServerSide` faces the server.

    Args:
        proxy: That it belongs to.
        number: Of the connection; no other of the proxy's has it.
    """

    def __init__(self, proxy: PostgresProxy, number: int) -> None:
        self._proxy = proxy
        self._number = number
        self._door: Door | None = None
        self._incarnation = 0
        self._client: asyncio.Transport | None = None
        self._server: asyncio.Transport | None = None
        self._tls: TlsEnd | None = None
        self._opening = b""
        self._session: Session | None = None
        self._asking = _Way()
        self._answering = _Way()
        self._writes: dict[Boundary, tuple[int, int]] = {}
        self._landed: tuple[int, int] | None = None
        self._count = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    # ---------------------------------------------------------- for the proxy

    @property
    def is_dead(self) -> bool:
        """Whether the life that it belonged to is over."""
        return self._door is not None and self._incarnation > 0 and self._door.is_over(self._incarnation)

    @property
    def undecided(self) -> bool:
        """Whether the server is at something that may become durable."""
        return self._session is not None and self._session.undecided

    @property
    def port(self) -> int:
        """Our port of the connection to the server; 0 where there is none."""
        return int(self._server.get_extra_info("sockname")[1]) if self._server is not None else 0

    def sever(self, *, gave_up: bool = False) -> None:
        """Drop both sides.

        Args:
            gave_up: The client has done so.
        """
        for transport in (self._client, self._server):
            if transport is not None:
                transport.abort()
        self._over(gave_up=gave_up)

    def _over(self, *, gave_up: bool = False) -> None:
        self._closed = True
        if self._door is not None:
            for write in self._writes.values():
                self._door.failed(self._incarnation, write, gave_up=gave_up)
        self._writes.clear()
        if self._server is None or self._server.is_closing():
            self._proxy.forget(self)

    # ------------------------------------------------------------- the client

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody has come: who it is stays so for the whole connection."""
        assert isinstance(transport, asyncio.Transport)
        self._client = transport
        self._proxy.met(self)
        self._door = self._proxy.door
        if self._door is not None:
            peer, own = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
            self._incarnation = self._door.incarnation_of(peer[1], own[1]) or 0

    def data_received(self, data: bytes) -> None:
        """Take what the client says."""
        if self.is_dead:
            self.sever()
            return
        try:
            if self._tls is not None:
                data = self._tls.take(data)
                self._send_due()
            self._asking.heard.append(data)
            self._advance()
            if self._asking.parked:
                self._listen()
        except Misspoken as error:
            self._refuse(str(error))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The client is gone. The server is told so, and carries out what it has been asked for."""
        if self._answering.parked and self._landed is not None and self._door is not None:
            self._door.failed(self._incarnation, self._landed, gave_up=True)
        if self.is_dead or self._server is None or self._asking.parked:
            self.sever(gave_up=True)
        elif not self._server.is_closing():
            self._closed = True
            self._server.write_eof()

    def pause_writing(self) -> None:
        """The client does not keep up."""
        self._answering.full = True
        self._listen()

    def resume_writing(self) -> None:
        """It does again."""
        self._answering.full = False
        self._listen()

    def _refuse(self, text: str, code: str = "08P01") -> None:
        self._proxy.trouble(text)
        self._write(refusal(f"ackgap: {text}", code))
        if self._client is not None:
            self._client.close()
        if self._server is not None:
            self._server.abort()
        self._over()

    def _write(self, data: bytes) -> None:
        """Give something to the client."""
        if self._client is None or self._client.is_closing():
            return
        if sent := data if self._tls is None else self._tls.wrap(data):
            self._client.write(sent)

    def _send_due(self) -> None:
        assert self._tls is not None
        assert self._client is not None
        if (due := self._tls.due()) and not self._client.is_closing():
            self._client.write(due)

    # ---------------------------------------------------------- the beginning

    def _open(self, data: bytes) -> None:
        """Take a first packet, or the part of one that has come."""
        self._opening += data
        if self._tls is None and self._opening[:1] == bytes([TLS_HELLO]):
            hello, self._opening = self._opening, b""
            self._tls = TlsEnd(self._proxy.tls)
            said = self._tls.take(hello)
            self._send_due()
            self._asking.heard.append(said)
            return
        opening = opening_of(self._opening)
        if opening is None:
            return
        self._opening = b""
        match opening.wish:
            case Wish.TLS if self._tls is None:
                self._write(b"S")
                self._tls = TlsEnd(self._proxy.tls)
            case Wish.TLS | Wish.GSS:
                self._write(b"N")
            case _:
                self._asking.parked = True
                self._listen()
                self._start(self._connect(opening))

    async def _connect(self, opening: Opening) -> None:
        try:
            loop = asyncio.get_running_loop()
            server, _ = await loop.create_connection(lambda: _ServerSide(self), *self._proxy.server)
        except OSError as error:
            self._refuse(f"the server cannot be reached: {error}", "57P03")
            return
        self._server = server
        if self._closed:
            self.sever()
            return
        server.write(opening.packet)
        if opening.wish is Wish.SESSION:
            self._session = self._proxy.session()
        if opening.rest:
            self._asking.heard.appendleft(opening.rest)
        self._goes_on(self._asking)

    # -------------------------------------------------------------- the steps

    def _advance(self) -> None:
        """Carry out what the client has said, until something has to be waited for."""
        way = self._asking
        while not way.parked and not self._closed:
            if way.steps is None:
                if not way.heard:
                    return
                data = way.heard.popleft()
                if self._server is None:
                    self._open(data)
                elif self._session is None:
                    self._server.write(data)
                else:
                    way.steps = self._session.said_by_client(data)
                continue
            step = next(way.steps, None)
            if step is None:
                way.steps = None
            elif isinstance(step, Forward):
                if self._server is not None and not self._server.is_closing():
                    self._server.write(step.data)
            elif isinstance(step, Park) and self._incarnation:
                self._stand(way, self._committing(step.boundary))

    def answered(self, data: bytes) -> None:
        """Take what the server says."""
        if self._session is None:
            self._write(data)
            return
        self._answering.heard.append(data)
        self._give()

    def _give(self) -> None:
        """Carry out what the server has said, until something has to be waited for."""
        way = self._answering
        while not way.parked:
            if way.steps is None:
                if not way.heard or self._session is None:
                    return
                way.steps = self._session.said_by_server(way.heard.popleft())
            step = next(way.steps, None)
            if step is None:
                way.steps = None
            elif isinstance(step, Forward):
                self._write(step.data)
            elif not isinstance(step, Park) and step.boundary in self._writes:
                write = self._landed = self._writes.pop(step.boundary)
                assert self._door is not None
                if isinstance(step, Failed):
                    self._door.failed(self._incarnation, write)
                else:
                    self._stand(way, self._door.committed(self._incarnation, write))

    def hung_up(self) -> None:
        """The server is gone."""
        if self._session is not None and not self._closed:
            self._answering.steps = self._session.ended()
            self._answering.heard.clear()
            self._give()
        if self._client is not None:
            self._client.close()
        self._over()
        self._proxy.forget(self)

    async def _committing(self, boundary: Boundary) -> None:
        assert self._door is not None
        self._count += 1
        write = self._writes[boundary] = (-self._number, self._count)
        await self._door.committing(self._incarnation, write, boundary.name)
        if self._closed:
            self._door.failed(self._incarnation, write)

    def _stand(self, way: _Way, announcing: Coroutine[Any, Any, None]) -> None:
        way.parked = True
        self._listen()
        self._start(self._until_let_go(way, announcing))

    async def _until_let_go(self, way: _Way, announcing: Coroutine[Any, Any, None]) -> None:
        try:
            await announcing
        except Severed:
            self.sever()
            return
        self._goes_on(way)

    def _goes_on(self, way: _Way) -> None:
        way.parked = False
        try:
            self._advance() if way is self._asking else self._give()
        except Misspoken as error:
            self._refuse(str(error))
        self._listen()

    def _listen(self) -> None:
        """Read from each side as long as the other one takes it, and nobody stands parked on the way.

        A client is heard a while longer: it may go away, which only who reads is told.
        """
        for transport, way, most in ((self._client, self._asking, _HEARD), (self._server, self._answering, 0)):
            if transport is not None and not transport.is_closing():
                if way.full or (way.parked and len(way.heard) >= most):
                    transport.pause_reading()
                else:
                    transport.resume_reading()

    def server_full(self, full: bool) -> None:
        """The server does not keep up, or does so again."""
        self._asking.full = full
        self._listen()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _Way:
    """What goes one way: heard and not taken yet, and whether it has to wait."""

    def __init__(self) -> None:
        self.heard: deque[bytes] = deque()
        self.steps: Iterator[Step] | None = None
        self.parked = False
        self.full = False


class _ServerSide(asyncio.Protocol):
    def __init__(self, relay: Relay) -> None:
        self._relay = relay

    def data_received(self, data: bytes) -> None:
        self._relay.answered(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._relay.hung_up()

    def pause_writing(self) -> None:
        self._relay.server_full(full=True)

    def resume_writing(self) -> None:
        self._relay.server_full(full=False)
