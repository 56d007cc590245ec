"""PortWitness: in a network of its own, a connection to a host's address at a port where nobody listens is seen.

The kernel refuses it before anybody could accept it. A raw socket is handed a copy of each packet that comes to the
address, and a filter in the kernel lets through only those that ask for a connection: it costs calls nothing.
"""

from __future__ import annotations

import asyncio
import ctypes
import socket
import struct
from collections.abc import Callable, Collection

__all__ = ["PortWitness"]

_SO_ATTACH_FILTER = 26
_PACKET_BYTES = 128
_TCP_FLAGS, _SYN, _SYN_AND_ACK = 13, 0x02, 0x12
_LOAD_HEADER_LENGTH, _LOAD_BYTE_BEHIND_IT, _AND, _JUMP_IF_EQUAL, _RETURN = 0xB1, 0x50, 0x54, 0x15, 0x06
_ONLY_REQUESTS = (
    (_LOAD_HEADER_LENGTH, 0, 0, 0),
    (_LOAD_BYTE_BEHIND_IT, 0, 0, _TCP_FLAGS),
    (_AND, 0, 0, _SYN_AND_ACK),
    (_JUMP_IF_EQUAL, 0, 1, _SYN),
    (_RETURN, 0, 0, _PACKET_BYTES),
    (_RETURN, 0, 0, 0),
)
"""Instructions of the kernel's packet filter: operation, jump if true, jump if false, operand."""


class PortWitness:
    """Watches the addresses of hosts, as long as a slot lives.

    Args:
        served: Ports that somebody listens at.

    Attributes:
        asked: Called with `HOST:PORT` of each other port that somebody wants; None while nobody wants to know.
    """

    def __init__(self, served: Collection[int]) -> None:
        self.asked: Callable[[str], None] | None = None
        self._served = frozenset(served)
        self._sockets: dict[str, socket.socket] = {}

    def watch(self, host: str, address: str) -> None:
        """Watch one more address.

        Raises:
            OSError: It is not permitted; it always is in a network of our own that the system gives whole.
        """
        raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
        try:
            _filter(raw)
            raw.bind((address, 0))
            raw.setblocking(False)
        except OSError:
            raw.close()
            raise
        self._sockets[host] = raw
        asyncio.get_running_loop().add_reader(raw, self._look_at, host)

    def look(self) -> None:
        """Tell at once what has come and was not told yet: whoever wanted it may be gone by now."""
        for host in self._sockets:
            self._look_at(host)

    def _look_at(self, host: str) -> None:
        while True:
            try:
                packet = self._sockets[host].recv(_PACKET_BYTES)
            except OSError:  # no more
                return
            port = _port_of(packet)
            if port is not None and port not in self._served and self.asked is not None:
                self.asked(f"{host}:{port}")

    def close(self) -> None:
        """Watch no more."""
        for raw in self._sockets.values():
            asyncio.get_running_loop().remove_reader(raw)
            raw.close()
        self._sockets.clear()


def _port_of(packet: bytes) -> int | None:
    start = (packet[0] & 0x0F) * 4 if packet else 0
    return int.from_bytes(packet[start + 2 : start + 4]) if start and len(packet) >= start + 4 else None


def _filter(raw: socket.socket) -> None:
    """Have the kernel drop all packets but those that ask for a connection.

    Raises:
        OSError: The kernel has no packet filter.
    """
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in _ONLY_REQUESTS))
    where = struct.pack("HP", len(_ONLY_REQUESTS), ctypes.addressof(program))
    raw.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, where)
