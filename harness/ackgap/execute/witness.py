"""NameWitness: in a network of its own, whoever asks for the address of a host is seen, in whatever language it asks.

The slot takes the addresses of the system's name servers for itself and answers that no such host exists, unless a
target stands for it. A program
that connects to a bare address of another machine is refused by the kernel all the same, but leaves no name.
"""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import cast

__all__ = ["NameWitness", "name_of_question"]

_SIOCSIFADDR = 0x8916
_SIOCSIFNETMASK = 0x891C
_NAME_PORT = 53
_NO_SUCH_NAME = 0x8183
_FOUND = 0x8180
_ADDRESS_QUESTION = 1
_QUESTION_ITSELF = 0xC00C
_HEADER_BYTES = 12


class NameWitness(asyncio.DatagramProtocol):
    """Answers name look-ups with "no such host", and tells who was asked for.

    Attributes:
        asked: Called with each host name; None while nobody wants to know.
        answers: Addresses of loopback by the host that a target stands for.
    """

    def __init__(self) -> None:
        self.asked: Callable[[str], None] | None = None
        self.answers: dict[str, str] = {}
        self._own_names = {socket.gethostname().lower(), "localhost"}
        self._transports: list[asyncio.DatagramTransport] = []

    async def listen(self, only: str | None = None) -> bool:
        """Take the name servers' addresses; return whether at least one could be taken.

        Args:
            only: Our own address that is the one name server; the system's, where it is None.
        """
        loop = asyncio.get_running_loop()
        for number, address in enumerate(_name_servers() if only is None else [only]):
            try:
                if only is None and not address.startswith("127."):
                    _add_to_loopback(address, number)
                transport, _ = await loop.create_datagram_endpoint(
                    lambda: _Door(self), local_addr=(address, _NAME_PORT)
                )
            except OSError:
                continue
            self._transports.append(transport)
        return bool(self._transports)

    def saw(self, name: str) -> None:
        """A host was asked for."""
        own = (
            name in self._own_names
            or name.split(".", maxsplit=1)[0] in self._own_names
            or name.endswith(".in-addr.arpa")
            or any(name.startswith(f"{host}.") for host in self.answers)  # with a search domain behind it
        )
        if self.asked is not None and not own:
            self.asked(name)


class _Door(asyncio.DatagramProtocol):
    def __init__(self, witness: NameWitness) -> None:
        self._witness = witness
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str | int, ...]) -> None:
        name, end = name_of_question(data)
        if name and self._transport is not None:
            question, address = data[_HEADER_BYTES:end], self._witness.answers.get(name)
            if address is None:
                self._witness.saw(name)
                answer = struct.pack(">HHHHH", _NO_SUCH_NAME, 1, 0, 0, 0) + question
            elif struct.unpack(">H", question[-4:-2]) != (_ADDRESS_QUESTION,):
                answer = struct.pack(">HHHHH", _FOUND, 1, 0, 0, 0) + question  # there is such a host, and no more
            else:
                record = struct.pack(">HHHIH", _QUESTION_ITSELF, _ADDRESS_QUESTION, 1, 0, 4) + socket.inet_aton(address)
                answer = struct.pack(">HHHHH", _FOUND, 1, 1, 0, 0) + question + record
            self._transport.sendto(data[:2] + answer, addr)


def name_of_question(packet: bytes) -> tuple[str, int]:
    """Return the host that a DNS query asks for, in lower case, and where its question ends; empty if it is none."""
    labels, place = [], _HEADER_BYTES
    while place < len(packet) and packet[place]:
        length = packet[place]
        if length > 63 or place + 1 + length > len(packet):
            return "", 0
        labels.append(packet[place + 1 : place + 1 + length].decode("ascii", "replace"))
        place += 1 + length
    end = place + 5
    return (".".join(labels).lower(), end) if labels and end <= len(packet) else ("", 0)


def _name_servers() -> list[str]:
    try:
        lines = Path("/etc/resolv.conf").read_text().splitlines()
    except OSError:
        return []
    words = [line.split() for line in lines]
    return [word[1] for word in words if len(word) > 1 and word[0] == "nameserver" and ":" not in word[1]]


def _add_to_loopback(address: str, number: int) -> None:
    """Give the loopback interface one more address; works only in a network of our own.

    Raises:
        OSError: It is not permitted.
    """
    name = f"lo:{number + 1}".encode()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for request, value in ((_SIOCSIFADDR, address), (_SIOCSIFNETMASK, "255.255.255.255")):
            packed = struct.pack("16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton(value))
            fcntl.ioctl(control, request, packed)
