"""Changes of files, as the preload and trace injectors see them, become durable writes.

What is no boundary is let go on at once; the rest stands before the gatekeeper like any other durable write.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ackgap.execute.channel import Announcement, Connection
from ackgap.execute.file_calls import FileCall
from ackgap.execute.life import Life
from ackgap.execute.turnstile import Write
from ackgap.model.event import Injector
from ackgap.target.ports import Severed

__all__ = ["FileGate"]

Committing = Callable[[Life, Write, str, Injector, Announcement], Awaitable[None]]
Committed = Callable[[Life, Write, Injector, Announcement], Awaitable[None]]


class FileGate:
    """Where changes of files come to.

    Args:
        committing: Has a durable write stand before it begins.
        committed: Has it stand once it has landed.
    """

    def __init__(self, committing: Committing, committed: Committed) -> None:
        self._committing = committing
        self._committed = committed

    async def heard(self, life: Life, connection: Connection, message: Announcement) -> bool:
        """Take what the preload library says; return whether it is to say when the change is done."""
        pid, number, thread = connection.pid, int(message["op"]), str(message.get("thread", ""))
        if message["phase"] == "committing":
            call = FileCall(
                verb=str(message["verb"]),
                path=str(message["path"]).encode("latin-1").decode("utf-8", "surrogateescape"),
                offset=int(message["offset"]),
                size=int(message["size"]),
                head=bytes.fromhex(str(message["head"])),
            )
            return await self.begins(life, pid, number, call, source=connection.injector, thread=thread)
        if message["phase"] == "committed":
            await self.is_done(life, pid, number, source=connection.injector, thread=thread)
        else:
            self.failed(life, pid, number)
        return False

    async def begins(self, life: Life, pid: int, number: int, call: FileCall, *, source: Injector, thread: str) -> bool:
        """Let a change stand before it is made; return whether somebody has to say when it is done.

        Raises:
            Severed: Its life is over.
        """
        if life.dead:
            raise Severed
        step = life.file_calls.before(pid, number, call)
        if step.begins:
            await self._committing(life, (pid, number), step.begins, source, {"thread": thread})
        return bool(step.lands)

    async def is_done(self, life: Life, pid: int, number: int, *, source: Injector, thread: str) -> None:
        """Let it stand once it is done.

        Raises:
            Severed: Its life is over.
        """
        if landed := life.file_calls.over(pid, number):
            await self._committed(life, (pid, landed), source, {"thread": thread})

    def failed(self, life: Life, pid: int, number: int) -> None:
        """It could not be made after all."""
        life.turnstile.land((pid, life.file_calls.over(pid, number)))
