"""What a proxy in front of a store has seen becomes durable writes, or nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from ackgap.execute.life import Life
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.turnstile import Write
from ackgap.model.event import ClientGaveUp, Injector
from ackgap.target.ports import Severed

__all__ = ["StoreGate"]

_EXITING = 0x4
"""Among the flags of a process (Linux): it is on its way out, and its connections are closed by the kernel."""


class StoreGate:
    """Where commits to stores come to, in the slot's own loop.

    Args:
        lives: By incarnation; those that begin later are in it too.
        recorder: Keeps the history.
        committing: Has a durable write stand before it begins.
        committed: Has it stand once it has landed.
    """

    def __init__(
        self,
        lives: Mapping[int, Life],
        recorder: HistoryRecorder,
        committing: Callable[[Life, Write, str, Injector], Awaitable[None]],
        committed: Callable[[Life, Write, Injector], Awaitable[None]],
    ) -> None:
        self._lives = lives
        self._recorder = recorder
        self._committing = committing
        self._committed = committed

    def is_over(self, incarnation: int) -> bool:
        """Whether a life is over."""
        life = self._lives.get(incarnation)
        return life is None or life.dead

    async def committing(self, incarnation: int, write: Write, name: str) -> None:
        """A store is about to be asked to make something durable.

        Raises:
            Severed: The life is over.
        """
        await self._committing(self._living(incarnation), write, name, Injector.STORE)

    async def committed(self, incarnation: int, write: Write) -> None:
        """A store has said that it is durable.

        Raises:
            Severed: The life is over.
        """
        await self._committed(self._living(incarnation), write, Injector.STORE)

    def failed(self, incarnation: int, write: Write, *, gave_up: bool) -> None:
        """It will not be durable, or nobody will know.

        Args:
            incarnation: Whose it was.
            write: Which.
            gave_up: The client has closed its connection while this stood parked.
        """
        life = self._lives.get(incarnation)
        if life is None:
            return
        life.turnstile.land(write)
        if gave_up and not (life.dead or life.struck.is_set() or life.told_to_end or _is_leaving(life.process.pid)):
            name, occurrence = life.write_points.get(write, ("a commit", 1))
            self._recorder.record(ClientGaveUp, incarnation=incarnation, attempt=0, name=f"{name}#{occurrence}")

    def _living(self, incarnation: int) -> Life:
        if self.is_over(incarnation):
            raise Severed
        return self._lives[incarnation]


def _is_leaving(pid: int) -> bool:
    """Whether a process is ending or gone: what it leaves behind, it has not given up."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return True
    return fields[0] in ("Z", "X") or bool(int(fields[6]) & _EXITING)
