"""A proxy in front of PostgreSQL: what the worker says on the wire is understood, and parked at what makes it durable.

It runs in a thread of the slot with a loop of its own, since the slot itself stands still while commands of the user's
run that may well talk to the same database. Only connections of a life are announced; commands and checks beside the
worker pass through.

Towards the server nothing is encrypted, whatever a client does: a server without TLS offers no channel binding
(SCRAM-SHA-256-PLUS), and takes it from a client that it thinks so. Its end would lie in the proxy otherwise.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from ackgap.errors import HarnessFailed
from ackgap.execute.pgwire.session import Session
from ackgap.execute.pgwire.statements import Wanted
from ackgap.execute.pgwire.tls import tls_context
from ackgap.execute.services.postgres_relay import Relay
from ackgap.execute.services.service import Door

__all__ = ["PostgresProxy"]

_LIMIT_S = 30.0
_TROUBLES = 20

T = TypeVar("T")


class PostgresProxy:
    """Listens on a port of loopback.

    Args:
        port: Where clients come.
        server: Host and port of the server.
        authority: File for what clients check the certificate with.
        park: Statements at which to park, besides commits.

    Attributes:
        port: The same.
        server: The same.
        door: Where lives are announced; None between cells.
    """

    def __init__(self, port: int, server: tuple[str, int], *, authority: Path, park: tuple[str, ...] = ()) -> None:
        self.port = port
        self.server = server
        self.authority = authority
        self.door: Door | None = None
        self._wanted = Wanted(park)
        self._prepared: dict[str, tuple[str, ...]] = {}
        self._relays: set[Relay] = set()
        self._numbers = count(1)
        self._troubles: deque[str] = deque(maxlen=_TROUBLES)
        self._tls: ssl.SSLContext | None = None
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self._listening: asyncio.Server | None = None

    # ------------------------------------------------------- from any thread

    def start(self) -> None:
        """Begin to listen.

        Raises:
            HarnessFailed: The port, or the file, is not to be had.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="ackgap-postgres-proxy")
            self._thread.start()
        try:
            if self._tls is None:
                self._tls = tls_context(self.authority)
            self._run(self._listen())
        except OSError as error:
            raise HarnessFailed(
                f"there is no proxy in front of PostgreSQL to be had: {error}", where=f"127.0.0.1:{self.port}"
            ) from error

    def go_away(self) -> None:
        """Take no connections any more, and drop those that there are."""
        if self._thread is not None:
            self._run(self._deafen())

    def renew(self) -> None:
        """Drop whoever is still there, for the next cell."""
        if self._thread is not None:
            self._run(self._drop_all())
        self._prepared.clear()
        self._troubles.clear()

    async def drop_dead(self) -> tuple[int, ...]:
        """Drop the connections of lives that are over.

        Returns:
            Our own ports of those whose transaction is decided: it has not been asked to commit, so it never will.
        """
        if self._thread is None:
            return ()
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._drop_dead(), self._loop))

    def stop(self) -> None:
        """End it; called from any thread, and more than once."""
        if self._thread is None or not self._loop.is_running():
            return
        with suppress(TimeoutError):
            self._run(self._deafen())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_LIMIT_S)
        self._loop.close()
        self._thread = None

    @property
    def troubles(self) -> tuple[str, ...]:
        """Why connections were refused in this cell."""
        return tuple(self._troubles)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_LIMIT_S)

    # ------------------------------------------------------ in the own thread

    @property
    def tls(self) -> ssl.SSLContext:
        """For clients that want it."""
        assert self._tls is not None
        return self._tls

    def session(self) -> Session:
        """Return what understands a connection that begins."""
        return Session(self._wanted, self._prepared)

    def met(self, relay: Relay) -> None:
        """A connection begins."""
        self._relays.add(relay)

    def forget(self, relay: Relay) -> None:
        """A connection is over on both sides."""
        self._relays.discard(relay)

    def trouble(self, text: str) -> None:
        """A connection was refused."""
        self._troubles.append(text)

    async def _listen(self) -> None:
        self._listening = await asyncio.get_running_loop().create_server(
            lambda: Relay(self, next(self._numbers)), "127.0.0.1", self.port
        )

    async def _deafen(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        await self._drop_all()

    async def _drop_all(self) -> None:
        for relay in list(self._relays):
            relay.sever()
        await asyncio.sleep(0)

    async def _drop_dead(self) -> tuple[int, ...]:
        dead = [relay for relay in self._relays if relay.is_dead]
        ports = tuple(relay.port for relay in dead if relay.port and not relay.undecided)
        for relay in dead:
            relay.sever()
        await asyncio.sleep(0)
        return ports
