"""Calls through `aiohttp`'s client."""

from __future__ import annotations

import sys

from .announcer import Announcer, Call
from .replacement import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["hook_aiohttp"]

_READERS = ("read", "readany", "readchunk", "readline", "readuntil", "readexactly")
_UNREAD_LIMIT = 4096


def hook_aiohttp(module: Any, announcer: Announcer) -> None:
    """Announce `sending` of each request, and `returned` when its body has been read to the end."""
    request, response = module.ClientRequest, module.ClientResponse
    send, start = request.send, response.start
    bodies = _UnreadBodies()

    async def send_request(self: Any, conn: Any, *args: Any, **kwargs: Any) -> Any:
        call = _call(announcer, self, conn)
        if call is None:
            return await send(self, conn, *args, **kwargs)
        await call.at_async("sending")
        answer = await send(self, conn, *args, **kwargs)
        answer._ackgap_call = call
        return answer

    async def start_response(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = await start(self, *args, **kwargs)
        call: Call | None = self.__dict__.pop("_ackgap_call", None)
        if call is not None:
            if self.content.at_eof():
                await call.at_async("returned")
            else:
                bodies.add(self.content, call)
        return result

    request.send = around(send, send_request)
    response.start = around(start, start_response)
    reader = sys.modules[module.__package__ + ".streams"].StreamReader
    for name in _READERS:
        if name in vars(reader):
            setattr(reader, name, _reading(getattr(reader, name), bodies))


def _call(announcer: Announcer, request: Any, connection: Any) -> Call | None:
    try:
        url = request.url
        port = url.port or (443 if url.scheme == "https" else 80)
        call = announcer.call(str(url.host), port, str(request.method), str(url.raw_path_qs))
        if call is not None and connection.transport is not None:
            address = connection.transport.get_extra_info("sockname")
            call.local_port = address[1] if isinstance(address, tuple) else None
        return call
    except Exception as error:
        announcer.trouble("a request of aiohttp could not be understood", error)
        return None


class _UnreadBodies:
    """Which call a body belongs to; a stream of `aiohttp` has no room to carry that, nor for a weak reference."""

    def __init__(self) -> None:
        self._calls: dict[int, tuple[Any, Call]] = {}

    def add(self, stream: Any, call: Call) -> None:
        while len(self._calls) >= _UNREAD_LIMIT:  # bodies that nobody read, the oldest first
            self._calls.pop(next(iter(self._calls)), None)
        self._calls[id(stream)] = (stream, call)

    def read_to_the_end(self, stream: Any) -> Call | None:
        """Return the call of a body that has just been read to its end."""
        if id(stream) not in self._calls or not stream.at_eof():
            return None
        return self._calls.pop(id(stream))[1]


def _reading(original: Any, bodies: _UnreadBodies) -> Any:
    async def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = await original(self, *args, **kwargs)
        call = bodies.read_to_the_end(self)
        if call is not None:
            await call.at_async("returned")
        return result

    return around(original, read)
