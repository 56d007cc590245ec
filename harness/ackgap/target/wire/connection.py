"""Connection: one client's connection, read with h11 so that it can be parked, watched and dropped exactly."""

from __future__ import annotations

import asyncio
import http
import socket
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import h11

from ackgap.target.wire.answer import Answer
from ackgap.target.wire.sockets import RESET, read_now, still_reads
from ackgap.target.wire.tls import LEFT, NotTrusted, TlsEnd

__all__ = ["BODY_BYTES", "HEADER_BYTES", "Connection", "ConnectionOwner", "RawRequest"]

HEADER_BYTES = 64 * 1024
"""Largest request line and headers together."""
BODY_BYTES = 64 * 1024 * 1024
"""Largest body."""

_PIPELINE_BYTES = 1024 * 1024
"""How much a client may send ahead while its earlier request is worked on, before reading stops."""
_LINGER_S = 2.0
"""How long a refused client may go on sending, so that it can read the refusal before the connection ends."""
_BODILESS = {204, 304}
"""Statuses of answers that have no body, whatever was to be said in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRequest:
    """A whole request, or as much of one as could be read before it was refused.

    Attributes:
        refusal: HTTP status with which it has to be refused, 0 if it is whole.
        problem: Why.
    """

    method: str = ""
    request_target: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    refusal: int = 0
    problem: str = ""


class ConnectionOwner(Protocol):
    """What a connection needs from the service it belongs to."""

    def exchange(self, connection: Connection, raw: RawRequest) -> Coroutine[Any, Any, None]:
        """Take note of a request at once, and return what is left to do about it."""
        ...

    def connection_over(self, connection: Connection) -> None:
        """The connection is closed on both sides."""
        ...

    def left_unread(self, connection: Connection, byte_count: int, complete_request: bool) -> None:
        """Bytes came over the connection that nobody will read as a request."""
        ...

    def not_trusted(self, connection: Connection, problem: NotTrusted) -> None:
        """No TLS came about, or the client left before it said anything under it."""
        ...


class Connection(asyncio.Protocol):
    """One client's connection.

    Args:
        owner: Whoever answers its requests.
        sock: Its socket, which `drain` reads directly.
        incarnation: The life that holds the other end.
        tls: Our end of the client's TLS, where it speaks that.
        single: It is for one request.
    """

    def __init__(
        self,
        owner: ConnectionOwner,
        sock: socket.socket,
        incarnation: int,
        *,
        tls: TlsEnd | None = None,
        single: bool = False,
    ) -> None:
        self.incarnation = incarnation
        self._tls = tls
        self._single = single
        self.severed = asyncio.Event()
        self._gone = False
        self._half_closed = False
        self.left = asyncio.Event()
        """Set once the client has closed it."""
        self.busy = False
        """A request is being worked on."""
        self._owner = owner
        self._sock = sock
        self._transport: asyncio.Transport | None = None
        self._task: asyncio.Task[None] | None = None
        self._h11 = _new_h11()
        self._head: h11.Request | None = None
        self._body = bytearray()
        self._unread = 0  # bytes that are not part of a request that was handed over
        self._over = False
        self._flushed = asyncio.Event()
        self._flushed.set()
        self._refusing = False
        self._reading_stopped = False

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The loop reads the socket from now on."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=0)  # `pause_writing` then tells that something is left to be sent
        if self.severed.is_set():
            transport.abort()

    def data_received(self, data: bytes) -> None:
        """Bytes have come."""
        if self._refusing or self.severed.is_set():
            return
        data = self._deciphered(data)
        if not data:
            return
        self._unread += len(data)
        self._h11.receive_data(data)
        if not self.busy:
            self._read_on()
        elif self._unread > _PIPELINE_BYTES and self._transport is not None:
            self._reading_stopped = True
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """The client will send nothing more; keep the connection while a request is worked on."""
        if self.busy and still_reads(self._sock):
            self._half_closed = True
            return True
        self._gone = True
        self.left.set()
        return self.busy

    def pause_writing(self) -> None:
        """Not everything that was written has reached the kernel."""
        self._flushed.clear()

    def resume_writing(self) -> None:
        """Everything that was written has reached the kernel."""
        self._flushed.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The connection is over on both sides."""
        self._give_remnant()
        if self._tls is not None and self._tls.is_unheard and not (self._refusing or self.severed.is_set()):
            self._owner.not_trusted(self, NotTrusted(LEFT))
        self._over = self._gone = True
        self.left.set()
        self._flushed.set()
        self._owner.connection_over(self)

    # for the owner

    @property
    def peer_port(self) -> int:
        """The client's own port; 0 where there is none."""
        try:
            return int(self._sock.getpeername()[1])
        except (OSError, IndexError, TypeError):
            return 0

    @property
    def gone(self) -> bool:
        """Whether the client has closed it; one that has only said that it sends nothing more waits for its answer."""
        return self._gone or (self._half_closed and not still_reads(self._sock))

    @property
    def is_over(self) -> bool:
        """Whether it is closed on both sides."""
        return self._over

    def sever(self) -> None:
        """Drop it at once with a reset; whatever is parked on it ends."""
        if not self.severed.is_set():
            self.severed.set()
            self._give_remnant()
        if self._transport is None:
            return
        if not self._over:
            with suppress(OSError):  # closed by the peer in the meantime
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self._transport.abort()

    def take_remnant(self) -> tuple[int, bool]:
        """Read what the kernel still holds; return how many bytes are no request yet, and whether they make one."""
        if self._sock.fileno() >= 0 and not self.gone:
            data = self._deciphered(read_now(self._sock))
            self._unread += len(data)
            if data:
                self._h11.receive_data(data)
        unread, self._unread = self._unread, 0
        return unread, unread > 0 and not self._refusing and self._makes_a_request()

    @property
    def is_heard_out(self) -> bool:
        """Whether nothing has come that is not part of a request which was handed over; takes nothing away."""
        if self._unread or self.gone or self._refusing or (self._tls is not None and self._tls.is_midway):
            return False
        try:
            self._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False  # bytes are waiting, or the end

    async def finished(self) -> None:
        """Wait until no request is being worked on."""
        if self._task is not None and self._task is not asyncio.current_task():
            await asyncio.wait({self._task})

    async def answer(
        self, answer: Answer, *, close: bool = False, written: Callable[[int], Awaitable[None]] | None = None
    ) -> None:
        """Write an answer.

        Args:
            answer: What to write.
            close: It is the last one.
            written: Called each time that a part of a stream has left, with how many have so far.
        """
        if self._transport is None or self._over:
            return
        headers = [(name.encode("ascii"), value.encode("latin-1", "replace")) for name, value in answer.headers]
        bodiless = answer.status in _BODILESS
        if not answer.streamed and not bodiless and not any(name.lower() == b"content-length" for name, _ in headers):
            headers.append((b"Content-Length", str(len(answer.body)).encode()))
        if close or self._single:
            headers.append((b"Connection", b"close"))
        self._write(
            h11.Response(status_code=answer.status, headers=headers, reason=_reason(answer.status)),
        )
        if not bodiless and (self._head is None or self._head.method != b"HEAD"):
            for number, part in enumerate(answer.parts, start=1):
                if part:
                    self._write(h11.Data(data=part))
                if answer.streamed:
                    await asyncio.sleep(0)  # each part of a stream is a write of its own
                    if written is not None:
                        await self._flushed.wait()
                        await written(number)
        self._write(h11.EndOfMessage())

    # inside

    def _write(self, event: h11.Response | h11.Data | h11.EndOfMessage | h11.InformationalResponse) -> None:
        data = self._h11.send(event)
        if data and self._transport is not None and not self._over:
            self._transport.write(data if self._tls is None else self._tls.wrap(data))

    def _deciphered(self, data: bytes) -> bytes:
        """Return what bytes from the client say."""
        if self._tls is None or not data:
            return data
        problem = None
        try:
            data = self._tls.take(data)
        except NotTrusted as error:
            problem, data = error, b""
        transport = self._transport
        if transport is not None and not transport.is_closing() and (due := self._tls.due()):
            transport.write(due)
        if problem is not None:
            self._refusing = True
            if not self.severed.is_set():
                self._owner.not_trusted(self, problem)
            if transport is not None:
                transport.close()
        return data

    def _close(self) -> None:
        transport = self._transport
        assert transport is not None
        if self._tls is not None and not transport.is_closing() and (due := self._tls.farewell()):
            transport.write(due)
        transport.close()

    def _give_remnant(self) -> None:
        byte_count, complete = self.take_remnant()
        if byte_count:
            self._owner.left_unread(self, byte_count, complete)

    def _read_on(self) -> None:
        """Take events from what has come until a request is whole."""
        try:
            while not self.busy:
                event = self._h11.next_event()
                if event is h11.NEED_DATA:
                    if self._h11.they_are_waiting_for_100_continue:
                        self._write(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
                    return
                if event is h11.PAUSED:  # CONNECT, or an upgrade
                    self._refuse(http.HTTPStatus.METHOD_NOT_ALLOWED, "a change of protocol")
                elif isinstance(event, h11.Request):
                    self._begin_message(event)
                elif isinstance(event, h11.Data):
                    self._body += event.data
                    if len(self._body) > BODY_BYTES:
                        self._refuse_too_large()
                elif isinstance(event, h11.EndOfMessage):
                    self._unread = len(self._h11.trailing_data[0])
                    self._hand_over(self._raw())
                elif isinstance(event, h11.ConnectionClosed):
                    return
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint or http.HTTPStatus.BAD_REQUEST, str(error))

    def _begin_message(self, head: h11.Request) -> None:
        self._head = head
        self._body = bytearray()
        length = next((value for name, value in head.headers if name == b"content-length"), b"0")
        if head.method == b"CONNECT":
            # Whoever says yes to it speaks another protocol from then on.
            self._refuse(http.HTTPStatus.METHOD_NOT_ALLOWED, "a change of protocol")
        elif head.method == b"PRI":
            # Reserved for the first line of HTTP/2, so that whoever does not speak that does nothing about it.
            self._refuse(http.HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "HTTP/2, which is not spoken here")
        elif int(length) > BODY_BYTES:
            self._refuse_too_large()

    def _refuse_too_large(self) -> None:
        self._refuse(http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body is larger than {BODY_BYTES} bytes")

    def _refuse(self, status: int, problem: str) -> None:
        self._refusing = True
        self._unread = 0
        self._hand_over(self._raw(refusal=int(status), problem=problem))

    def _raw(self, *, refusal: int = 0, problem: str = "") -> RawRequest:
        head = self._head
        if head is None:
            return RawRequest(refusal=refusal, problem=problem)
        return RawRequest(
            method=head.method.decode("ascii", "replace"),
            request_target=head.target.decode("latin-1"),
            headers=tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers),
            body=b"" if refusal else bytes(self._body),
            refusal=refusal,
            problem=problem,
        )

    def _hand_over(self, raw: RawRequest) -> None:
        self.busy = True
        self._body = bytearray()
        rest = self._owner.exchange(self, raw)
        self._task = asyncio.get_running_loop().create_task(self._work(rest))

    async def _work(self, rest: Coroutine[Any, Any, None]) -> None:
        try:
            await rest
        finally:
            self.busy = False
        if self._transport is None or self._over or self.severed.is_set():
            return
        if self._refusing:
            self._linger()
        elif self._gone or self._h11.our_state is not h11.DONE or self._h11.their_state is not h11.DONE:
            self._close()
        else:
            self._head = None
            self._h11.start_next_cycle()
            if self._reading_stopped:
                self._reading_stopped = False
                self._transport.resume_reading()
            self._read_on()
            if self._half_closed and not self.busy:
                self._close()

    def _linger(self) -> None:
        transport = self._transport
        assert transport is not None
        if self.gone:
            transport.close()
            return
        if transport.can_write_eof():
            with suppress(OSError):  # the client has hung up
                transport.write_eof()
        asyncio.get_running_loop().call_later(_LINGER_S, transport.close)

    def _makes_a_request(self) -> bool:
        reader = self._h11
        if self.busy or reader.their_state is h11.DONE:
            reader, held = _new_h11(), reader
            reader.receive_data(held.trailing_data[0])
        try:
            while True:
                event = reader.next_event()
                if isinstance(event, h11.EndOfMessage):
                    return True
                if event is h11.NEED_DATA or event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
                    return False
        except h11.RemoteProtocolError:
            return False


def _new_h11() -> h11.Connection:
    return h11.Connection(h11.SERVER, max_incomplete_event_size=HEADER_BYTES)


def _reason(status: int) -> bytes:
    try:
        return http.HTTPStatus(status).phrase.encode()
    except ValueError:
        return b""
