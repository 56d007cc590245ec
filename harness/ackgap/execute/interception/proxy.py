"""ConnectProxy: a proxy that leads to targets in the place of hosts, and to nobody else.

It reads no more of a connection than whom it is for, and hands the socket itself on: the service sees the worker's own
connection, and there is no hop in between.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from ackgap.target.door import Entrance, listen
from ackgap.target.wire.sockets import reset

__all__ = ["ConnectProxy"]

_HEAD_BYTES = 16 * 1024
_HEAD_LIMIT_S = 10.0
"""Real seconds from the first byte of a client to the last one that says whom it wants."""
_LOOK_EVERY_S = 0.01
_ACCEPT_PAUSE_S = 0.05
_CONNECT = re.compile(rb"CONNECT +\[?([^\s\]]+?)\]?:(\d+) +HTTP/1\.[01]\r?\n")
_PLAIN = re.compile(rb"[A-Za-z-]+ +http://(?:[^\s/@]*@)?\[?([^\s/\]:]+)\]?(:\d+)?(?:/\S*)? +HTTP/1\.[01]\r?\n")
_ENDS = (b"\r\n\r\n", b"\n\n")

Receive = Callable[[socket.socket, tuple[str, int], Entrance], Awaitable[None]]
EntranceFor = Callable[[str, int, bool], Entrance]


class ConnectProxy:
    """Listens at a free port of loopback.

    Args:
        hosts: Who takes connections for a host.
        entrance: What is said of one, by host, our own port, and whether its client is about to speak TLS.

    Attributes:
        port: Where it listens, once it is open.
        asked: Called with each host that it does not lead to; with `HOST:PORT` where only the port is another one.
    """

    def __init__(self, hosts: Mapping[str, Receive], entrance: EntranceFor) -> None:
        self.port = 0
        self.asked: Callable[[str], None] | None = None
        self._hosts = hosts
        self._entrance = entrance
        self._listener: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self._reading: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen.

        Raises:
            HarnessFailed: There is no port.
        """
        self._listener = listen("proxy", "127.0.0.1", 0)
        self.port = self._listener.getsockname()[1]
        self._accepting = asyncio.get_running_loop().create_task(self._accept(self._listener))

    async def drop(self) -> None:
        """Drop every connection that has not been handed on."""
        for task in tuple(self._reading):
            task.cancel()
        if self._reading:
            await asyncio.wait(tuple(self._reading))

    async def close(self) -> None:
        """Give the port back."""
        await self.drop()
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait({self._accepting})
        if self._listener is not None:
            self._listener.close()

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, peer = await loop.sock_accept(listener)
            except OSError:
                await asyncio.sleep(_ACCEPT_PAUSE_S)
                continue
            task = loop.create_task(self._lead(sock, (peer[0], peer[1])))
            self._reading.add(task)
            task.add_done_callback(self._reading.discard)

    async def _lead(self, sock: socket.socket, peer: tuple[str, int]) -> None:
        try:
            await self._hand_on(sock, peer, await _head(sock))
        except OSError:  # the client was quicker
            reset(sock)
        except asyncio.CancelledError:
            reset(sock)
            raise

    async def _hand_on(self, sock: socket.socket, peer: tuple[str, int], head: bytes) -> None:
        loop = asyncio.get_running_loop()
        tunnel, plain = _CONNECT.match(head), _PLAIN.match(head)
        found = tunnel or plain
        if found is None:
            if head:
                text = "This is a proxy: send it CONNECT, or an absolute address."
                await _refuse(sock, head, "400 Bad Request", text)
            else:
                sock.close()
            return
        host = found[1].decode("latin-1").lower().rstrip(".")
        usual = (b"443",) if tunnel else (None, b":80")
        receive = self._hosts.get(host)
        if receive is None or found[2] not in usual:
            if self.asked is not None:
                self.asked(host if receive is None else f"{host}:{(found[2] or b'').decode().removeprefix(':')}")
            text = f"ackgap lets no connection leave the machine: no target stands for {host} at that port."
            await _refuse(sock, head, "403 Forbidden", text)
            return
        if tunnel:
            sock.recv(len(head))
            await loop.sock_sendall(sock, b"HTTP/1.1 200 Connection established\r\n\r\n")
        await receive(sock, peer, self._entrance(host, self.port, tunnel is not None))


async def _head(sock: socket.socket) -> bytes:
    """Look at the head of what a client sends, and leave it where it is; empty if none comes."""
    await _readable(sock)
    ends_s = time.monotonic() + _HEAD_LIMIT_S
    while True:
        seen = sock.recv(_HEAD_BYTES, socket.MSG_PEEK)
        ends = [seen.index(end) + len(end) for end in _ENDS if end in seen]
        if not seen or ends or len(seen) >= _HEAD_BYTES or time.monotonic() > ends_s:
            return seen[: min(ends, default=len(seen))]
        if not seen.startswith(b"CONNECT") and b"\n" in seen:
            return seen  # the line that names the host is there
        await asyncio.sleep(_LOOK_EVERY_S)


async def _readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(sock, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(sock)


async def _refuse(sock: socket.socket, head: bytes, status: str, text: str) -> None:
    body = text.encode() + b"\n"
    answer = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    with suppress(OSError):
        sock.recv(len(head))
        await asyncio.get_running_loop().sock_sendall(sock, answer.encode() + body)
        sock.shutdown(socket.SHUT_WR)
    sock.close()
