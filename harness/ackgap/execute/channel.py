"""The supervisor's end of the private socket on which the python injector announces boundaries.

The protocol is described in `ackgap.worker`. Whoever connects has to give the token of a living life in its first
message; everybody else is cut off, so that no other process of the machine can steer a run or forge a history.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from ackgap.model.event import Injector, Json

__all__ = ["Announcement", "Channel", "Connection"]

Announcement = dict[str, Json]
_MESSAGE_BYTES = 1 << 20


class Connection(asyncio.Protocol):
    """One process of the worker, once it has shown its token.

    Args:
        channel: That it has come to.

    Attributes:
        incarnation: Whose token it has shown; 0 before that.
        pid: Of the process.
        injector: That speaks there.
        over: Done once the process has said its last.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._transport: asyncio.Transport | None = None
        self._unread = b""
        self.incarnation = 0
        self.pid = 0
        self.injector = Injector.PYTHON
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def let_go(self, announcement_id: int, *, then: bool = False) -> None:
        """Tell a parked thread or coroutine to go on, and whether to say when it has done what it is about to do."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b'{"id":%d,"go":true%s}\n' % (announcement_id, b',"then":true' if then else b""))

    def close(self) -> None:
        """Cut the process off."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody has come; he has to say who he is."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._channel.met(self)

    def data_received(self, data: bytes) -> None:
        """Take what has been said as soon as a line of it is whole."""
        *lines, self._unread = (self._unread + data).split(b"\n")
        try:
            if len(self._unread) > _MESSAGE_BYTES:
                raise ValueError("too long for an announcement")
            for line in lines:
                self._channel.heard(self, _message(line))
        except (TypeError, ValueError):
            self.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The process is over, or has been cut off."""
        self._channel.lost(self)
        if not self.over.done():
            self.over.set_result(None)


class Channel:
    """Listens on a socket file that only this user can open.

    Args:
        path: Of the socket file; short, since the system limits it to about 100 characters.
        life_of: Returns the incarnation of a token, None if no living life has it.
        announced: Called with each message after the first, as a task of its own.
        greeted: Called with the first message once its token has been accepted.
    """

    def __init__(
        self,
        path: Path,
        *,
        life_of: Callable[[str], int | None],
        greeted: Callable[[Connection, Announcement], None],
        announced: Callable[[Connection, Announcement], Awaitable[None]],
    ) -> None:
        self.path = path
        self._life_of = life_of
        self._greeted = greeted
        self._announced = announced
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: set[Connection] = set()

    async def open(self) -> None:
        """Start listening."""
        self.path.unlink(missing_ok=True)
        loop = asyncio.get_running_loop()
        self._server = await loop.create_unix_server(lambda: Connection(self), path=str(self.path))
        self.path.chmod(0o600)

    async def close(self) -> None:
        """Stop listening, cut everybody off and forget what was announced."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.path.unlink(missing_ok=True)

    async def hear_out(self, incarnation: int, *, limit_s: float = 2.0) -> None:
        """Read what the processes of a life have said before they died."""
        ends = [connection.over for connection in self._connections if connection.incarnation == incarnation]
        if ends:
            await asyncio.wait(ends, timeout=limit_s)
            await asyncio.sleep(0)

    async def drain(self, incarnation: int) -> None:
        """Cut off every process of a life that is dead."""
        for connection in list(self._connections):
            if connection.incarnation == incarnation:
                connection.close()
        await asyncio.sleep(0)

    def is_spoken_on_by(self, pid: int) -> bool:
        """Whether a process has shown its token and can still say something: not once it runs another program."""
        return any(connection.incarnation and connection.pid == pid for connection in list(self._connections))

    def met(self, connection: Connection) -> None:
        """Somebody has come who may be a process of a life."""
        self._connections.add(connection)

    def heard(self, connection: Connection, message: Announcement) -> None:
        """Take a message.

        Raises:
            ValueError: It is not what one has to say here.
        """
        if connection.incarnation:
            task = asyncio.ensure_future(self._announced(connection, message))
            self._tasks.add(task)
            task.add_done_callback(self._finished)
            return
        incarnation = self._life_of(str(message.get("token", "")))
        if message.get("type") != "hello" or incarnation is None:
            raise ValueError("nobody that belongs here")
        connection.incarnation, connection.pid = incarnation, int(message.get("pid", 0))
        self._greeted(connection, message)

    def lost(self, connection: Connection) -> None:
        """A process says nothing any more."""
        self._connections.discard(connection)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            asyncio.get_running_loop().call_exception_handler({"message": "announcement failed", "exception": error})


def _message(line: bytes) -> Announcement:
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not an announcement")
    return message
