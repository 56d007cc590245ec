"""The first packet of a connection, which has no kind: who asks for what, before anybody may say anything else."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum

from ackgap.execute.pgwire.frames import Misspoken, message

__all__ = ["TLS_HELLO", "Opening", "Wish", "opening_of", "refusal"]

TLS_HELLO = 0x16
"""First byte of a client that speaks TLS at once, as libpq of PostgreSQL 17 can."""

_CANCEL, _TLS, _GSS = 80877102, 80877103, 80877104
_MOST_BYTES = 10_000
"""What PostgreSQL itself takes for a first packet."""


class Wish(Enum):
    """What a first packet asks for."""

    TLS = "tls"
    GSS = "gss"
    CANCEL = "cancel"
    SESSION = "session"
    REPLICATION = "replication"


@dataclass(frozen=True, slots=True)
class Opening:
    """A first packet.

    Attributes:
        wish: What it asks for.
        packet: All of it.
        rest: What came after it.
    """

    wish: Wish
    packet: bytes
    rest: bytes


def opening_of(data: bytes) -> Opening | None:
    """Read a first packet; None as long as it is not complete.

    Raises:
        Misspoken: It is none.
    """
    if len(data) < 8:
        return None
    length, code = struct.unpack_from(">II", data)
    if not 8 <= length <= _MOST_BYTES:
        raise Misspoken(f"a first packet of {length} bytes cannot be")
    if len(data) < length:
        return None
    packet, rest = data[:length], data[length:]
    wishes = {_TLS: Wish.TLS, _GSS: Wish.GSS, _CANCEL: Wish.CANCEL}
    if code in wishes:
        if code != _CANCEL and rest:
            # Whoever is between could have put them there, to be taken for what is said under TLS.
            raise Misspoken("bytes came after a request for encryption, before it was answered")
        return Opening(wishes[code], packet, rest)
    if code >> 16 != 3:
        raise Misspoken(f"the version {code >> 16}.{code & 0xFFFF} of the protocol is not spoken here, only 3")
    words = packet[8:].split(b"\0")
    given = dict(zip(words[::2], words[1::2], strict=False))
    replicates = given.get(b"replication", b"").lower() not in (b"", b"false", b"off", b"no", b"0")
    return Opening(Wish.REPLICATION if replicates else Wish.SESSION, packet, rest)


def refusal(text: str, code: str = "08P01") -> bytes:
    """Return the message by which a connection is ended, as a server would send it."""
    fields = {"S": "FATAL", "V": "FATAL", "C": code, "M": text}
    return message(b"E", b"".join(f"{name}{value}\0".encode() for name, value in fields.items()) + b"\0")
