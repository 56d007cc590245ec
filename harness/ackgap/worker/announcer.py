"""Announcer: calls and durable writes as the hooks see them, turned into announcements on the channel.

Hooks say what is about to happen around the user's own function. Which of it is announced is decided here: only calls
to targets, and of durable writes inside one another only the outermost.
"""

from __future__ import annotations

from contextvars import ContextVar
from itertools import count

from . import surroundings
from .channel import Channel
from .config import Config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

__all__ = ["Announcer", "Call", "DurableWrite"]

_inside: ContextVar[bool] = ContextVar("ackgap_inside_durable_write", default=False)
_asked_for: ContextVar[int] = ContextVar("ackgap_asked_for", default=0)


class Announcer:
    """What hooks talk to.

    Args:
        channel: An open channel.
        config: The cell as the supervisor describes it.
    """

    def __init__(self, channel: Channel, config: Config) -> None:
        self.channel = channel
        self.config = config
        self._calls = count(1)
        self._writes = count(1)
        self._pending: dict[int, None] = {}

    def trouble(self, what: str, error: BaseException | None = None) -> None:
        """Report, once, that a hook could not do its work."""
        self.channel.trouble(what if error is None else f"{what}: {type(error).__name__}: {error}")

    # ----------------------------------------------------------------- calls

    def call(self, host: str, port: int, method: str, path: str) -> Call | None:
        """Return the call that a request to that address is, None if it does not go to a target.

        Args:
            host: Name or address that the client connects to.
            port: Likewise.
            method: HTTP method.
            path: Request target; absolute if the client talks to a proxy.
        """
        key = f"{host}:{port}".lower()
        scheme, separator, rest = path.partition("://")
        if separator and scheme.lower() in ("http", "https"):
            authority, slash, tail = rest.partition("/")
            key, path = authority.rpartition("@")[2].lower(), slash + tail or "/"
            if ":" not in key.rpartition("]")[2]:
                key += ":443" if scheme.lower() == "https" else ":80"
        if key not in self.config.targets:
            return None
        return Call(self, next(self._calls), method, key, path)

    # -------------------------------------------------------- durable writes

    def durable_write(self, name: str) -> DurableWrite:
        """Return a context, `with` or `async with`, around the durable write of that name."""
        return DurableWrite(self, name)

    @staticmethod
    def is_inside_durable_write() -> bool:
        """Whether an announced durable write is under way in this thread or task."""
        return _inside.get()

    def ask_for_write(self, submit: Callable[[], Any]) -> Any:
        """Hand a durable write to a background executor: it is pending from now until it announces itself.

        Args:
            submit: Hands it over, and returns a future. The executor must take the present context along.
        """
        number = next(self._writes)
        self._pending[number] = None
        token = _asked_for.set(number)
        try:
            future = submit()
        except BaseException:
            self._pending.pop(number, None)
            raise
        finally:
            _asked_for.reset(token)
        future.add_done_callback(lambda _: self._over(number))
        return future

    def _over(self, number: int) -> None:
        """A durable write that was handed over is over; it may have been announced by a proxy in front of its store."""
        was_pending = number in self._pending
        self._pending.pop(number, None)
        if was_pending and self.config.wire:
            self.channel.tell({"type": "pending"}, lambda message: message.update(pending=list(self._pending)))

    def number_of_write(self) -> int:
        """Return the number of a durable write that is about to begin; it is pending until it says so."""
        number = _asked_for.get()
        return number if number in self._pending else next(self._writes)

    # -------------------------------------------------------------- reaching

    def reach(self, message: dict[str, Any]) -> None:
        """Park this thread at a phase."""
        message["thread"] = surroundings.thread_name()
        message["blocks_loop"] = surroundings.blocks_loop()
        self.channel.reach(message, self._say_what_is_pending)

    async def reach_async(self, message: dict[str, Any]) -> None:
        """Park this coroutine at a phase."""
        message["thread"] = surroundings.thread_name(task=True)
        message["blocks_loop"] = False
        await self.channel.reach_async(message, self._say_what_is_pending)

    def _say_what_is_pending(self, message: dict[str, Any]) -> None:
        """Complete a message that is just being sent: what another thread says next must not contradict it."""
        if message["phase"] == "committing":
            self._pending.pop(message["op"], None)
        message["pending"] = list(self._pending)


class Call:
    """One HTTP exchange with a target; each phase is announced at most once.

    Attributes:
        local_port: The client's own port, once a hook knows it.
    """

    def __init__(self, announcer: Announcer, number: int, method: str, host: str, path: str) -> None:
        self._announcer = announcer
        self._number = number
        self._method = method
        self._host = host
        self._path = path
        self._announced: set[str] = set()
        self.local_port: int | None = None

    def at(self, phase: str) -> None:
        """Park this thread at `sending` or `returned`."""
        message = self._message(phase)
        if message is not None:
            self._announcer.reach(message)

    async def at_async(self, phase: str) -> None:
        """Park this coroutine at `sending` or `returned`."""
        message = self._message(phase)
        if message is not None:
            await self._announcer.reach_async(message)

    def _message(self, phase: str) -> dict[str, Any] | None:
        if phase in self._announced:
            return None
        self._announced.add(phase)
        return {
            "type": "reach",
            "kind": "call",
            "phase": phase,
            "call": self._number,
            "method": self._method,
            "host": self._host,
            "path": self._path,
            "local_port": self.local_port,
        }


class DurableWrite:
    """Announces `committing` on entry and `committed` on exit, or `failed` if the write ended in an exception.

    What happens inside another durable write of the same thread or task belongs to that one and is not announced.
    """

    def __init__(self, announcer: Announcer, name: str) -> None:
        self._announcer = announcer
        self._name = name
        self._number = 0
        self._token: Any = None

    def __enter__(self) -> None:
        if not _inside.get():
            self._number = self._announcer.number_of_write()
            self._announcer.reach(self._message("committing"))
            self._token = _inside.set(True)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._token is not None:
            _inside.reset(self._token)
            if error is None:
                self._announcer.reach(self._message("committed"))
            else:
                self._tell_failed(error)

    async def __aenter__(self) -> None:
        if not _inside.get():
            self._number = self._announcer.number_of_write()
            await self._announcer.reach_async(self._message("committing"))
            self._token = _inside.set(True)

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._token is not None:
            _inside.reset(self._token)
            if error is None:
                await self._announcer.reach_async(self._message("committed"))
            else:
                self._tell_failed(error)

    def _tell_failed(self, error: BaseException) -> None:
        text = f"{self._name}: {type(error).__name__}: {error}"
        self._announcer.channel.tell({"type": "failed", "op": self._number, "text": text})

    def _message(self, phase: str) -> dict[str, Any]:
        return {"type": "reach", "kind": "checkpoint", "phase": phase, "op": self._number, "name": self._name}
