"""Upstream: a real service that a target stands in front of, asked over HTTP.

A request goes on as it came, byte for byte, except for what concerns only one connection. It is sent once: a request
that may have had an effect is never sent again by us, whatever becomes of its answer.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from ackgap.target.wire.connection import BODY_BYTES, RawRequest
from ackgap.target.wire.payload import BodyTooLarge, inflate
from ackgap.target.wire.request import Request

if TYPE_CHECKING:
    import httpx

__all__ = ["Asked", "LiveUpstream", "Said", "UpstreamFailed", "asked_of", "split_stream"]

_CONNECT_LIMIT_S = 15.0
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_OURS = frozenset({"host", "content-length", "expect", "accept-encoding"})
"""Headers of a request that are made anew for the next connection."""
_READABLE_ENCODINGS = frozenset({"gzip", "x-gzip", "deflate", "identity"})
_STREAMS = frozenset({"text/event-stream", "application/x-ndjson", "application/jsonl", "application/json-seq"})
_STREAM_PART = re.compile(rb".*?(?:\r\n\r\n|\n\n|\r\r)|.+\Z", re.DOTALL)
_LINE = re.compile(rb".*?\n|.+\Z", re.DOTALL)


class UpstreamFailed(Exception):
    """The upstream gave no answer, or not all of one. Whether it did something is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request on its way to the upstream.

    Attributes:
        target: Path and query, as sent.
        headers: As sent, without what concerns only the connection that it came over.
    """

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the upstream answered.

    Attributes:
        headers: Without those that only concern the connection that they came over.
        parts: The body, as it is to be handed on; the parts of a stream are its events.
        plain: The body without its `Content-Encoding`.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    parts: tuple[bytes, ...]
    streamed: bool
    plain: bytes

    def header(self, name: str) -> str:
        """Return a header by its lower-case name; empty where there is none."""
        return next((value for other, value in self.headers if other.lower() == name), "")


def asked_of(request: Request, raw: RawRequest | None) -> Asked:
    """Return what is handed on of a request.

    Args:
        request: As the target read it.
        raw: As it came over the connection; None where it came in another protocol's envelope.
    """
    if raw is None:
        query = urlencode(request.query, doseq=True)
        headers = tuple(header for header in request.headers.items() if header[0] != "content-encoding")
        return Asked(
            method=request.method,
            target=f"{request.path}?{query}" if query else request.path,
            headers=_for_the_way(headers),
            body=request.body,
        )
    target = raw.request_target
    if not target.startswith("/"):
        target = "/" + target.partition("://")[2].partition("/")[2]
    return Asked(method=raw.method, target=target.partition("#")[0], headers=_for_the_way(raw.headers), body=raw.body)


def split_stream(body: bytes, content_type: str) -> tuple[bytes, ...]:
    """Return the parts of a stream: events, or lines; the same ones however the network has cut it."""
    pattern = _STREAM_PART if content_type.partition(";")[0].strip().lower() == "text/event-stream" else _LINE
    return tuple(match[0] for match in pattern.finditer(body) if match[0])


class LiveUpstream:
    """The service itself. It keeps no connection open: one that had gone stale would fail a request for nothing.

    Args:
        url: Its base URL.
        limit_s: Real seconds for one answer, from the first byte sent to the last one read.
        door: Unix socket that leads to its host, where that cannot be reached from here.
    """

    def __init__(self, url: str, *, limit_s: float, door: Path | None = None) -> None:
        self.url = url.rstrip("/")
        self.limit_s = limit_s
        self._door = door
        self._transport: httpx.AsyncHTTPTransport | None = None

    async def ask(self, asked: Asked) -> Said:
        """Hand a request on and return the whole answer.

        Raises:
            UpstreamFailed: There is none: no connection, none in time, or it broke off.
        """
        import httpx

        base = httpx.URL(self.url)
        target = base.raw_path.rstrip(b"/") + asked.target.encode("latin-1", "replace")
        limits = {"connect": _CONNECT_LIMIT_S, "read": self.limit_s, "write": self.limit_s, "pool": self.limit_s}
        request = httpx.Request(
            asked.method,
            base,
            headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in asked.headers],
            content=asked.body if asked.body or asked.method in {"POST", "PUT", "PATCH"} else None,
            extensions={"target": target, "timeout": limits},
        )
        try:
            async with asyncio.timeout(self.limit_s):
                response = await self._opened().handle_async_request(request)
                try:
                    return await self._read(asked, response)
                finally:
                    await response.aclose()
        except TimeoutError:
            raise UpstreamFailed(f"{self.url} did not end its answer within {self.limit_s:g} s") from None
        except (httpx.HTTPError, httpx.StreamError, ssl.SSLError, OSError) as error:
            raise UpstreamFailed(f"{self.url}: {self._why(error)}") from error

    def _opened(self) -> httpx.AsyncHTTPTransport:
        if self._transport is None:
            import httpx

            door = None if self._door is None else str(self._door)
            self._transport = httpx.AsyncHTTPTransport(uds=door, limits=httpx.Limits(max_keepalive_connections=0))
        return self._transport

    def _why(self, error: Exception) -> str:
        if self._door is not None:
            try:
                return self._door.with_suffix(".problem").read_text(encoding="utf-8") or str(error)
            except OSError:
                pass
        return str(error) or type(error).__name__

    async def _read(self, asked: Asked, response: httpx.Response) -> Said:
        import httpx

        body = bytearray()
        assert isinstance(response.stream, httpx.AsyncByteStream)
        async for piece in response.stream:
            body += piece
            if len(body) > BODY_BYTES:
                raise UpstreamFailed(f"the answer of {self.url} is larger than {BODY_BYTES} bytes")
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, value in response.headers.raw
            if not _is_hop_by_hop(name.decode("latin-1"), response.headers.get("connection", ""))
            and (name.lower() != b"content-length" or asked.method == "HEAD")
        )
        return _said(response.status_code, headers, bytes(body))


def _said(status: int, headers: tuple[tuple[str, str], ...], body: bytes) -> Said:
    by_name = {name.lower(): value for name, value in headers}
    kind, encoding = by_name.get("content-type", ""), by_name.get("content-encoding", "")
    try:
        plain = inflate(body, encoding, BODY_BYTES)
    except (BodyTooLarge, ValueError):
        plain = body
    streamed = kind.partition(";")[0].strip().lower() in _STREAMS
    if streamed and plain is not body:  # its parts have to be told apart
        headers = tuple(header for header in headers if header[0].lower() != "content-encoding")
    parts = split_stream(plain, kind) if streamed else (body,) if body else ()
    return Said(status=status, headers=headers, parts=parts, streamed=streamed, plain=plain)


def _for_the_way(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers of a request for the next connection; the answer has to be one that we can read."""
    named = next((value for name, value in headers if name.lower() == "connection"), "")
    kept = [header for header in headers if not _is_hop_by_hop(header[0], named) and header[0].lower() not in _OURS]
    wanted = [value for name, value in headers if name.lower() == "accept-encoding"]
    encodings = [
        coding
        for coding in (part.strip() for value in wanted for part in value.split(","))
        if coding.partition(";")[0].strip().lower() in _READABLE_ENCODINGS
    ]
    return (*kept, ("Accept-Encoding", ", ".join(encodings) or "identity"))


def _is_hop_by_hop(name: str, named_by_connection: str) -> bool:
    lower = name.lower()
    return lower in _HOP_BY_HOP or lower in {part.strip().lower() for part in named_by_connection.split(",")}
