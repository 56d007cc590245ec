"""Files of users: read only where they are plain files, and written whole or not at all."""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import json
import math
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ackgap.errors import EnvironmentLacks

__all__ = ["FileUnfit", "alone", "cache_directory", "open_plain", "parse_json", "read_text", "read_toml", "write_whole"]

TEXT_LIMIT_BYTES = 16 * 1024 * 1024
"""Largest file that a person is taken to have written."""
DEPTH_LIMIT = 64
"""How deeply tables and lists of a user's file may be nested."""

_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISDIR, "a directory"),
)


class FileUnfit(Exception):
    """A file is not what it has to be.

    Args:
        what: What is wrong with it, the rest of a sentence that begins with "it": "is not TOML: ...".
        place: Line and column, or key; empty where it is the file as a whole.
    """

    def __init__(self, what: str, *, place: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.place = place

    def where(self, file: Path) -> str:
        """Return file and place, as an error names them."""
        return f"{file}, {self.place}" if self.place else str(file)


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file for reading; never waits, whatever lies there.

    Raises:
        FileUnfit: It is a named pipe, a socket, a device or a directory.
        OSError: It is not there or cannot be opened.
    """
    try:
        _refuse_kind(path.stat().st_mode)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # a NUL byte in the name
        raise FileUnfit(f"has no name that a file can have: {error}") from None
    try:
        _refuse_kind(os.fstat(descriptor).st_mode)  # it may be another one by now
    except FileUnfit:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _refuse_kind(mode: int) -> None:
    for is_kind, name in _KINDS:
        if is_kind(mode):
            raise FileUnfit(f"is {name}, not a file")


def read_text(path: Path, *, limit_bytes: int = TEXT_LIMIT_BYTES) -> str:
    """Return the text of a file; a byte order mark at its start is left out.

    Raises:
        FileUnfit: It is no plain file, larger than `limit_bytes`, or not UTF-8.
        OSError: It is not there or cannot be read.
    """
    with open_plain(path) as stream:
        data = stream.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise FileUnfit(f"is larger than {limit_bytes // 1024 // 1024} MiB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise FileUnfit(f"is not UTF-8: {error.reason}", place=f"line {line}") from None


def parse_json(text: str | bytes) -> Any:
    """Parse JSON as the standard has it: no NaN, no infinity, nothing nested beyond what Python can hold.

    Raises:
        ValueError: It is not.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number that JSON has")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse_constant(text)
    return number


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file of a user's, of nothing but values that JSON has too, and no NUL characters.

    Raises:
        FileUnfit: It is no such file; names the line or the key.
        OSError: It is not there or cannot be read.
    """
    text = read_text(path)
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise FileUnfit("is nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        place = re.search(r"at line (\d+), column (\d+)", str(error))
        reason = str(error).partition(" (at ")[0]
        raise FileUnfit(
            f"is not TOML: {reason}", place=f"line {place[1]}, column {place[2]}" if place else "at the end"
        ) from None
    for key, what in _unfit_values(document):
        raise FileUnfit(what, place=f"key {key}")
    return document


def _unfit_values(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield key and fault of every value that cannot be used; without recursion, since depth is one of the faults."""
    waiting: list[tuple[str, int, Any]] = [("", 0, document)]
    while waiting:
        key, depth, value = waiting.pop()
        if depth > DEPTH_LIMIT:
            yield f"{key[:80]}...", f"is nested more than {DEPTH_LIMIT} deep"
        elif isinstance(value, dict):
            if any("\0" in name for name in value):
                yield key or "of the file", "has a NUL character in a key"
            waiting += [(f"{key}.{name}" if key else name, depth + 1, value[name]) for name in reversed(value)]
        elif isinstance(value, list):
            waiting += [(f"{key}[{place}]", depth + 1, value[place]) for place in reversed(range(len(value)))]
        elif isinstance(value, float) and not math.isfinite(value):
            yield key, f"has the value {value}, which is no number to reckon with"
        elif isinstance(value, str) and "\0" in value:
            yield key, "has a NUL character in a text"
        elif isinstance(value, dt.date | dt.time):
            yield key, f"has the date {value}; write it in quotes"


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep other processes that lock the same file waiting; the system frees the lock of a dead one.

    Where the file system knows no locks, nobody waits.

    Args:
        path: Of the file; made if it does not exist.

    Raises:
        OSError: It cannot be made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_whole(path: Path, parts: Iterable[str]) -> None:
    """Write a file so that whoever reads it sees the old one or the new one, never a half; leaves no other file.

    Raises:
        OSError: It cannot be written.
    """
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            stream.writelines(parts)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def cache_directory() -> Path:
    """Return where ackgap keeps what it can make again: `$ACKGAP_CACHE`, `$XDG_CACHE_HOME/ackgap`, `~/.cache/ackgap`.

    Raises:
        EnvironmentLacks: There is no home directory.
    """
    if named := os.environ.get("ACKGAP_CACHE"):
        return Path(named).absolute()
    shared = Path(os.environ.get("XDG_CACHE_HOME") or ".")
    try:
        return (shared if shared.is_absolute() else Path.home() / ".cache") / "ackgap"
    except RuntimeError:
        raise EnvironmentLacks(
            "there is no home directory to keep anything in",
            where="~/.cache/ackgap",
            next_step="set ACKGAP_CACHE to a directory",
        ) from None
