"""ControlPort: how a running `ackgap serve` is steered and read, on a port of its own so that no fake's path is taken.

Loopback only. Requests that a web page could make a browser send are refused: whoever develops an agent has a browser
open beside it, and a page must neither read what the agent filed nor move its clock.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

from ackgap.errors import UsageInvalid
from ackgap.model.event import Json
from ackgap.serve.served import ServedTargets, base_url
from ackgap.serve.spec import seconds_of
from ackgap.target.wire.answer import Answer, json_answer
from ackgap.target.wire.connection import Connection, RawRequest
from ackgap.target.wire.tls import NotTrusted

__all__ = ["ROOT", "ControlPort"]

ROOT = "/__ackgap"
_HOST = "127.0.0.1"
_PAUSE_S = 0.05
"""Wait after a connection could not be accepted (the process is out of descriptors)."""


class _Refused(Exception):
    """A request that is not done.

    Args:
        status: HTTP status.
        problem: What is wrong with it, one sentence.
    """

    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status
        self.problem = problem


class ControlPort:
    """Answers `GET ledger`, `GET clock`, `POST clock` and `POST reset`.

    Args:
        targets: What it steers.
        port: 0 takes a free one.
    """

    def __init__(self, targets: ServedTargets, *, port: int = 0) -> None:
        self._targets = targets
        self.port = port
        self._listener: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._connections: set[Connection] = set()

    @property
    def url(self) -> str:
        """Where its paths begin."""
        return base_url(_HOST, self.port) + ROOT

    async def start(self) -> None:
        """Listen.

        Raises:
            UsageInvalid: The port is not to be had.
        """
        # The protocol by name: asyncio spares an answer the wait for more (TCP_NODELAY) only where it knows it.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((_HOST, self.port))
            listener.listen()
            listener.setblocking(False)
        except OSError as error:
            listener.close()
            raise UsageInvalid(
                f"The control port {self.port} is not to be had: {error.strerror or error}.",
                where="--control",
                next_step="Choose another, or leave it out and a free one is taken.",
            ) from error
        self.port = listener.getsockname()[1]
        self._listener = listener
        self._accepting = asyncio.get_running_loop().create_task(self._accept(listener))

    async def stop(self) -> None:
        """Drop all connections and give the port back."""
        for connection in tuple(self._connections):
            connection.sever()
        if self._accepting is not None:
            self._accepting.cancel()
            with suppress(asyncio.CancelledError):
                await self._accepting
        if self._listener is not None:
            self._listener.close()
        await asyncio.sleep(0)  # lets aborted transports close their sockets

    # what a connection needs of its owner

    def exchange(self, connection: Connection, raw: RawRequest) -> Coroutine[Any, Any, None]:
        """Answer a request; what it asks for is done at once."""
        return connection.answer(self._answer(raw), close=bool(raw.refusal))

    def connection_over(self, connection: Connection) -> None:
        """Forget a connection."""
        self._connections.discard(connection)

    def left_unread(self, connection: Connection, byte_count: int, complete_request: bool) -> None:
        """Nobody minds."""

    def not_trusted(self, connection: Connection, problem: NotTrusted) -> None:
        """Nobody speaks TLS here."""

    # inside

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, _ = await loop.sock_accept(listener)
            except OSError:
                await asyncio.sleep(_PAUSE_S)
                continue
            connection = Connection(self, sock, 0)
            self._connections.add(connection)
            with suppress(OSError):
                await loop.connect_accepted_socket(lambda made=connection: made, sock)  # type: ignore[misc]

    def _answer(self, raw: RawRequest) -> Answer:
        try:
            if raw.refusal:
                raise _Refused(raw.refusal, raw.problem)
            self._refuse_pages(raw)
            path, _, query = raw.request_target.partition("?")
            paths = self._paths()
            methods = paths.get(path.rstrip("/"))
            if methods is None:
                raise _Refused(404, f"no such path; there are {', '.join(paths)}")
            if raw.method not in methods:
                raise _Refused(405, f"{path} takes {' and '.join(methods)}")
            return json_answer(200, methods[raw.method](query, raw.body))
        except _Refused as refused:
            return json_answer(refused.status, {"error": refused.problem})

    def _refuse_pages(self, raw: RawRequest) -> None:
        headers = {name.lower(): value for name, value in raw.headers}
        host = headers.get("host", "").partition(":")[0]
        # A page that had its own name resolve to this machine would still send that name.
        if "origin" in headers or host not in {_HOST, "localhost", ""}:
            raise _Refused(403, "this port answers programs on this machine, not web pages")

    def _paths(self) -> dict[str, dict[str, Callable[[str, bytes], Json]]]:
        return {
            ROOT: {"GET": self._overview},
            f"{ROOT}/ledger": {"GET": self._ledger},
            f"{ROOT}/clock": {"GET": self._clock, "POST": self._move},
            f"{ROOT}/reset": {"POST": self._reset},
        }

    def _overview(self, query: str, body: bytes) -> Json:  # noqa: ARG002
        return {
            "targets": self._targets.urls,
            "paths": {path: list(methods) for path, methods in self._paths().items()},
        }

    def _ledger(self, query: str, body: bytes) -> Json:  # noqa: ARG002
        since = parse_qs(query).get("since", ["0"])[-1]
        if not (since.isascii() and since.isdigit() and len(since) < 20):
            raise _Refused(400, "since is the seq of the last event that you have")
        return self._targets.watch.document(int(since))

    def _clock(self, query: str = "", body: bytes = b"") -> Json:  # noqa: ARG002
        return {"now": self._targets.now, "offset_s": self._targets.offset_s}

    def _move(self, query: str, body: bytes) -> Json:  # noqa: ARG002
        try:
            asked = json.loads(body)
            forward = asked["forward"]
            seconds = seconds_of(forward if isinstance(forward, str) else json.dumps(forward))
            # What is too far in one step is too far in several.
            seconds_of(str(int(seconds + self._targets.offset_s)))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            reason = str(error) if isinstance(error, ValueError) else "no such key"
            raise _Refused(400, f'write {{"forward": "72h"}}, a duration to go forward: {reason}') from None
        self._targets.forward(seconds)
        return self._clock()

    def _reset(self, query: str, body: bytes) -> Json:  # noqa: ARG002
        self._targets.reset()
        return self._clock()
