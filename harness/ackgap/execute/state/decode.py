"""Reading what workers store, as scalars and where they stand, without running anything of it.

A store's content is compared between runs by what it says. So what is packed is opened: JSON, msgpack, pickles (their
operations are read, none is carried out), and each of these inside text, base64 or the other.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import pickletools
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import msgpack

__all__ = ["Leaf", "leaves", "leaves_of_bytes"]

_DEPTH_LIMIT = 60
_SHORT_BYTES = 64
_BASE64 = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")
_IDENTIFIER = re.compile(r"[A-Za-z_]{1,40}[0-9]{0,2}")
"""What a field is called; a random id that begins with a letter is not."""
_PICKLE_NOISE = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP", "MARK"})


@dataclass(frozen=True, slots=True)
class Leaf:
    """One scalar.

    Attributes:
        path: Where it stands: `.steps[0].name`.
        value: As JSON, so that 1 and "1" differ.
    """

    path: str
    value: str


_PICKLE_NAMES = frozenset({"GET", "GLOBAL", "INST", "EXT1", "EXT2", "EXT4", "PERSID"})


class _Undecodable(Exception):
    """The bytes are something else."""


def leaves(value: object, path: str = "", depth: int = 0) -> Iterator[Leaf]:
    """Yield the scalars of a value in the order of its lists and of the names of its fields.

    Args:
        value: What JSON, msgpack or SQLite give: dictionaries, lists, text, numbers, bytes, None.
        path: Where it stands.
        depth: How deep that is.
    """
    if depth > _DEPTH_LIMIT:
        yield Leaf(path, repr(value))
    elif isinstance(value, dict) and value:
        for key in sorted(value, key=str):
            yield from leaves(value[key], f"{path}.{key}", depth + 1)
    elif isinstance(value, msgpack.Timestamp):
        yield from leaves(msgpack.ExtType(-1, value.to_bytes()), path, depth)
    elif isinstance(value, msgpack.ExtType):  # a tuple as well
        yield Leaf(f"{path}~ext", str(value.code))
        yield from leaves_of_bytes(value.data, f"{path}~ext", depth + 1)
    elif isinstance(value, (list, tuple)) and value:
        for number, item in enumerate(value):
            yield from leaves(item, f"{path}[{number}]", depth + 1)
    elif isinstance(value, str):
        yield from _leaves_of_text(value, path, depth)
    elif isinstance(value, bytes):
        yield from leaves_of_bytes(value, path, depth)
    else:
        yield Leaf(path, json.dumps(value, default=repr))


def leaves_of_bytes(data: bytes, path: str = "", depth: int = 0) -> Iterator[Leaf]:
    """Yield the scalars of packed data, or the bytes themselves as the only one."""
    if depth > _DEPTH_LIMIT:
        yield Leaf(path, _hex(data))
        return
    pickled = _unpickled(data, f"{path}~pickle", depth)
    if pickled is not None:
        yield from pickled
        return
    try:
        unpacked = _unpacked(data)
    except _Undecodable:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            yield Leaf(f"{path}~bytes", _hex(data))
        else:
            yield from _leaves_of_text(text, f"{path}~bytes", depth + 1)
    else:
        yield from leaves(unpacked, f"{path}~msgpack", depth + 1)


def _hex(data: bytes) -> str:
    """Return short data as they are, and of long ones a digest, which differs where they do."""
    return data.hex() if len(data) <= _SHORT_BYTES else hashlib.blake2b(data, digest_size=12).hexdigest()


def _leaves_of_text(text: str, path: str, depth: int) -> Iterator[Leaf]:
    if text[:1] in ("{", "[") and depth < _DEPTH_LIMIT:
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            pass
        else:
            yield from leaves(document, f"{path}~json", depth + 1)
            return
    if len(text) % 4 == 0 and _BASE64.fullmatch(text):
        try:
            pickled = _unpickled(base64.b64decode(text, validate=True), f"{path}~pickle", depth)
        except binascii.Error:
            pickled = None
        if pickled is not None:
            yield from pickled
            return
    yield Leaf(path, json.dumps(text, ensure_ascii=False))


def _unpickled(data: bytes, path: str, depth: int) -> list[Leaf] | None:
    """Return the operations of a pickle that carry a value or make something, each named by the last name before it."""
    if len(data) < 3 or data[0] != 0x80 or data[1] > 5 or data[-1:] != b".":
        return None
    found: list[Leaf] = []
    name = ""
    try:
        for operation, argument, position in pickletools.genops(data):
            if operation.name == "STOP" and position != len(data) - 1:
                return None
            if operation.name in _PICKLE_NOISE:
                continue
            place = f"{path}.{name}"
            if isinstance(argument, bytes):
                found += leaves_of_bytes(argument, place, depth + 1)
                continue
            # How long a number or text is decides which operation packs it, and says nothing itself.
            verb = operation.name.removeprefix("LONG_").removeprefix("BIN")
            verb = verb if argument is None or verb in _PICKLE_NAMES else type(argument).__name__
            found.append(Leaf(place, f"{verb} {json.dumps(argument, default=repr, ensure_ascii=False)}"))
            if isinstance(argument, str) and _IDENTIFIER.fullmatch(argument):
                name = argument
    except (ValueError, IndexError, KeyError, OverflowError, struct.error):
        return None
    return found


def _unpacked(data: bytes) -> object:
    """Return what msgpack data says, where all of it is one map, list or extension.

    Raises:
        _Undecodable: It is not. Single scalars do not count, since any byte is one.
    """
    first = data[0] if data else 0
    if not (0x80 <= first <= 0x9F or 0xC7 <= first <= 0xC9 or 0xD4 <= first <= 0xD8 or 0xDC <= first <= 0xDF):
        raise _Undecodable
    try:
        value: object = msgpack.unpackb(data, ext_hook=msgpack.ExtType, strict_map_key=False)
    except (ValueError, TypeError, RecursionError) as error:  # TypeError: a map with a list as a key
        raise _Undecodable from error
    return value
