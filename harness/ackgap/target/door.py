"""Doors: the sockets at which a service can be called, some of them with TLS."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass, field

from ackgap.errors import HarnessFailed

__all__ = ["Door", "Entrance", "listen"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrance:
    """By what way a connection has come.

    Attributes:
        port: Where it was accepted.
        host: Whom its client believes to speak to; empty at the service's own address.
        tls: What the client's TLS is ended with; None where it speaks plainly.
        single: It is for one request: the next may be for somebody else.
    """

    port: int
    host: str = ""
    tls: ssl.SSLContext | None = None
    single: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class Door:
    """A socket that listens, and what is known of whoever comes through it."""

    listener: socket.socket
    entrance: Entrance
    accepting: asyncio.Task[None] | None = field(default=None)

    async def close(self) -> None:
        """Give the port back."""
        if self.accepting is not None:
            self.accepting.cancel()
            with suppress(asyncio.CancelledError):
                await self.accepting
            self.accepting = None
        self.listener.close()


def listen(name: str, host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        HarnessFailed: The port is not to be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol by name: asyncio spares an answer the wait for more (TCP_NODELAY) only where it knows it.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        raise HarnessFailed(
            f"The target {name!r} cannot listen on {host}:{port}: {error.strerror or error}.",
            where=f"targets.{name}",
            next_step="End the program that holds the port, or let ackgap choose one.",
        ) from error
    return listener
