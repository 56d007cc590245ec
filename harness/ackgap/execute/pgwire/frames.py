"""Frames: a stream of bytes cut into messages, of which only those that somebody reads are put together.

Rows, parameters and copied data are let through as they come, however large; nobody looks into them.
"""

from __future__ import annotations

import struct
from collections.abc import Collection

__all__ = ["PASSING", "Frames", "Misspoken", "Piece", "message"]

PASSING = 0
"""Kind of a piece that is no message of its own: bytes that nobody reads."""

Piece = tuple[int, bytes]
"""Kind of a message and all of it, its head too; or `PASSING` and some bytes."""

_HEAD = 5
_LENGTH = struct.Struct(">I")
_MOST_BYTES = 1 << 30
"""What PostgreSQL itself takes for one message."""


class Misspoken(Exception):
    """What a client sent is not PostgreSQL's protocol."""


def message(kind: bytes, body: bytes = b"") -> bytes:
    """Return a message with its head."""
    return kind + _LENGTH.pack(len(body) + 4) + body


class Frames:
    """One direction of one connection, after its beginning.

    Args:
        read: Kinds of messages that somebody reads; they come out whole.
        known: All kinds that there are; None takes any.
    """

    def __init__(self, read: Collection[int], known: Collection[int] | None = None) -> None:
        self._read = frozenset(read)
        self._known = None if known is None else frozenset(known)
        self._rest = bytearray()
        self._wanted = 0
        self._skip = 0

    def feed(self, data: bytes) -> list[Piece]:
        """Take what has come, and return what is complete of it.

        Raises:
            Misspoken: It is no message.
        """
        if self._rest:
            self._rest += data
            if len(self._rest) < self._wanted:
                return []
            data = bytes(self._rest)
            self._rest.clear()
        return self._cut(data)

    def _cut(self, data: bytes) -> list[Piece]:
        pieces: list[Piece] = []
        size = len(data)
        begin, place = 0, min(self._skip, size)
        self._skip -= place
        while place + _HEAD <= size:
            kind = data[place]
            (length,) = _LENGTH.unpack_from(data, place + 1)
            self._check(kind, length)
            end = place + 1 + length
            if kind not in self._read:
                self._skip = max(0, end - size)
                place = min(end, size)
                continue
            if begin < place:
                pieces.append((PASSING, data[begin:place]))
            begin = place
            if end > size:
                self._wanted = end - place
                break
            pieces.append((kind, data[place:end]))
            begin = place = end
        else:
            self._wanted = _HEAD
        if begin < place:
            pieces.append((PASSING, data[begin:place]))
        self._rest += data[place:]
        return pieces

    def _check(self, kind: int, length: int) -> None:
        if self._known is not None and kind not in self._known:
            raise Misspoken(f"there is no message of the kind {bytes([kind])!r}")
        if length < 4 or length > _MOST_BYTES:
            raise Misspoken(f"a message of {length} bytes cannot be")
