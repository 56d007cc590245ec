"""The supervisor's end of the private socket on which the python injector announces boundaries.

The protocol is described in `ackgap.worker`. Whoever connects has to give the token of a living life in its first
message; everybody else is cut off, so that no other process of the machine can steer a run or forge a history.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from ackgap.model.event import Json

__all__ = ["Announcement", "Channel", "Connection"]

Announcement = dict[str, Json]
_MESSAGE_BYTES = 1 << 20


class Connection:
    """One process of the worker, after it has shown its token."""

    def __init__(self, writer: asyncio.StreamWriter, incarnation: int, pid: int) -> None:
        self._writer = writer
        self.incarnation = incarnation
        self.pid = pid

    def let_go(self, announcement_id: int) -> None:
        """Tell a parked thread or coroutine to go on."""
        if not self._writer.is_closing():
            self._writer.write(b'{"id":%d,"go":true}\n' % announcement_id)

    def close(self) -> None:
        """Cut the process off."""
        self._writer.close()


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
        self._connections: dict[Connection, asyncio.Task[None] | None] = {}

    async def open(self) -> None:
        """Start listening."""
        self.path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, path=str(self.path), limit=_MESSAGE_BYTES)
        self.path.chmod(0o600)

    async def close(self) -> None:
        """Stop listening, cut everybody off and forget what was announced."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.close()
        tasks = [task for task in (*self._tasks, *self._connections.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.path.unlink(missing_ok=True)

    async def hear_out(self, incarnation: int, *, limit_s: float = 2.0) -> None:
        """Read what the processes of a life have said before they died."""
        tasks = [
            task for connection, task in self._connections.items() if connection.incarnation == incarnation and task
        ]
        if tasks:
            await asyncio.wait(tasks, timeout=limit_s)
            await asyncio.sleep(0)

    async def drain(self, incarnation: int) -> None:
        """Cut off every process of a life that is dead."""
        for connection in list(self._connections):
            if connection.incarnation == incarnation:
                connection.close()
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: Connection | None = None
        try:
            hello = await _read(reader)
            token = str((hello or {}).get("token", ""))
            incarnation = self._life_of(token)
            if hello is None or hello.get("type") != "hello" or incarnation is None:
                return
            connection = Connection(writer, incarnation, int(hello.get("pid", 0)))
            self._connections[connection] = asyncio.current_task()
            self._greeted(connection, hello)
            while (message := await _read(reader)) is not None:
                task = asyncio.ensure_future(self._announced(connection, message))
                self._tasks.add(task)
                task.add_done_callback(self._finished)
        except (OSError, ValueError, asyncio.LimitOverrunError, asyncio.CancelledError):
            return
        finally:
            if connection is not None:
                self._connections.pop(connection, None)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            asyncio.get_running_loop().call_exception_handler({"message": "announcement failed", "exception": error})


async def _read(reader: asyncio.StreamReader) -> Announcement | None:
    line = await reader.readline()
    if not line.endswith(b"\n"):
        return None
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not an announcement")
    return message
