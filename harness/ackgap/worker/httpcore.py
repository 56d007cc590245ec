"""Calls through `httpcore` and `httpcore2`, over HTTP/1.1: everything on `httpx` and `httpx2`, sync and async."""

from __future__ import annotations

from .announcer import Announcer, Call
from .replacement import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["hook_async", "hook_sync"]

_NO_BODY_STATUS = (204, 304)
_LAST_EVENT = b"data: [DONE]"
_TAIL_BYTES = 64


def hook_sync(module: Any, announcer: Announcer) -> None:
    """Announce the phases of calls made by threads."""
    connection = module.HTTP11Connection
    send, handle = connection._send_request_headers, connection.handle_request

    # Here and not on entry to `handle_request`: by now the connection is taken, so that the pool does not give it to
    # somebody else while this request stands.
    def send_headers(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        call = _call(announcer, self, request)
        if call is not None:
            call.at("sending")
        return send(self, request, *args, **kwargs)

    def handle_request(self: Any, request: Any) -> Any:
        response = handle(self, request)
        call: Call | None = request.__dict__.pop("_ackgap_call", None)
        if call is not None:
            if _has_no_body(request, response):
                call.at("returned")
            else:
                response.stream = _Body(response.stream, call, _length(response))
        return response

    connection._send_request_headers = around(send, send_headers)
    connection.handle_request = around(handle, handle_request)


def hook_async(module: Any, announcer: Announcer) -> None:
    """Announce the phases of calls made by coroutines."""
    connection = module.AsyncHTTP11Connection
    send, handle = connection._send_request_headers, connection.handle_async_request

    async def send_headers(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        call = _call(announcer, self, request)
        if call is not None:
            await call.at_async("sending")
        return await send(self, request, *args, **kwargs)

    async def handle_request(self: Any, request: Any) -> Any:
        response = await handle(self, request)
        call: Call | None = request.__dict__.pop("_ackgap_call", None)
        if call is not None:
            if _has_no_body(request, response):
                await call.at_async("returned")
            else:
                response.stream = _AsyncBody(response.stream, call, _length(response))
        return response

    connection._send_request_headers = around(send, send_headers)
    connection.handle_async_request = around(handle, handle_request)


def _call(announcer: Announcer, connection: Any, request: Any) -> Call | None:
    try:
        return _call_to_target(announcer, connection, request)
    except Exception as error:
        announcer.trouble("a request of httpcore could not be understood", error)
        return None


def _call_to_target(announcer: Announcer, connection: Any, request: Any) -> Call | None:
    url = request.url
    port = url.port or (443 if url.scheme == b"https" else 80)
    call = announcer.call(_text(url.host), port, _text(request.method), _text(url.target))
    if call is not None:
        address = connection._network_stream.get_extra_info("client_addr")
        call.local_port = address[1] if isinstance(address, tuple) else None
        request._ackgap_call = call
    return call


def _text(value: Any) -> str:
    return str(value.decode("ascii", "backslashreplace")) if isinstance(value, bytes) else str(value)


def _has_no_body(request: Any, response: Any) -> bool:
    if _text(request.method) == "HEAD" or response.status in _NO_BODY_STATUS:
        return True
    return any(name.lower() == b"content-length" and value.strip() == b"0" for name, value in response.headers)


def _length(response: Any) -> int | None:
    """Return how long the body is said to be, None where that is not known beforehand."""
    for name, value in response.headers:
        if name.lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    return None


class _Progress:
    """How much of a body its reader has taken.

    A client of server-sent events may close the stream once it has read the event that ends it (`openai` and `mcp`
    do), so that nothing but the transfer's own end mark stays behind: the body has reached it all the same.
    """

    def __init__(self, length: int | None) -> None:
        self._left = length
        self._tail = b""

    def saw(self, chunk: bytes) -> bytes:
        self._tail = (self._tail + chunk[-_TAIL_BYTES:])[-_TAIL_BYTES:]
        if self._left is not None:
            self._left -= len(chunk)
        return chunk

    @property
    def is_whole(self) -> bool:
        return self._left == 0 or self._tail.rstrip().endswith(_LAST_EVENT)


class _Body:
    """The stream of a response's body, which announces `returned` at its end."""

    def __init__(self, stream: Any, call: Call, length: int | None) -> None:
        self._stream = stream
        self._call = call
        self.progress = _Progress(length)

    def __iter__(self) -> Any:
        return _BodyIterator(iter(self._stream), self)

    def close(self) -> None:
        self._stream.close()
        if self.progress.is_whole:
            self.ended()

    def ended(self) -> None:
        self._call.at("returned")


class _BodyIterator:
    def __init__(self, chunks: Any, body: _Body) -> None:
        self._chunks = chunks
        self._body = body

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        try:
            return self._body.progress.saw(next(self._chunks))
        except StopIteration:
            self._body.ended()
            raise

    def close(self) -> None:
        self._chunks.close()


class _AsyncBody:
    """Likewise for coroutines."""

    def __init__(self, stream: Any, call: Call, length: int | None) -> None:
        self._stream = stream
        self._call = call
        self.progress = _Progress(length)

    def __aiter__(self) -> Any:
        return _AsyncBodyIterator(self._stream.__aiter__(), self)

    async def aclose(self) -> None:
        await self._stream.aclose()
        if self.progress.is_whole:
            await self.ended()

    async def ended(self) -> None:
        await self._call.at_async("returned")


class _AsyncBodyIterator:
    """Not a generator, so that there is one less whose end the event loop has to see to."""

    def __init__(self, chunks: Any, body: _AsyncBody) -> None:
        self._chunks = chunks
        self._body = body

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        try:
            return self._body.progress.saw(await self._chunks.__anext__())
        except StopAsyncIteration:
            await self._body.ended()
            raise

    async def aclose(self) -> None:
        await self._chunks.aclose()
