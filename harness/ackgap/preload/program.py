"""What a command starts, as far as its file tells: Python, a program that libraries can be loaded into, or another."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

__all__ = ["ProgramKind", "program_kind"]

_PYTHON_LAUNCHERS = frozenset({"uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba"})
_HEADER_BYTES = 64
_OF_64_BITS = 2
_INTERPRETER = 3
_SHEBANG_DEPTH = 3
_LINE_BYTES = 512


class ProgramKind(StrEnum):
    """What a program is to an injector."""

    PYTHON = "python"
    """A Python interpreter, a script of one, or what starts it."""
    DYNAMIC = "dynamic"
    """Linked to the system's C library when it starts, so that another library can come along."""
    STATIC = "static"
    """A program that loads nothing when it starts, as Go makes them."""
    OTHER = "other"
    """Not to be read, or linked to another C library than this machine's own."""


def program_kind(command: Sequence[str], *, path: str | None = None, directory: Path | None = None) -> ProgramKind:
    """Return what a command starts; `env` and its assignments are passed over.

    Args:
        command: Argument vector.
        path: Where programs are looked for; the process's own PATH where it is None.
        directory: Where the command is run.
    """
    words = list(command)
    while words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return _kind(words[0], path, directory, _SHEBANG_DEPTH) if words else ProgramKind.OTHER


def _kind(program: str, path: str | None, directory: Path | None, depth: int) -> ProgramKind:
    name = Path(program).name
    if name.startswith("python") or name in _PYTHON_LAUNCHERS:
        return ProgramKind.PYTHON
    found = shutil.which(program, path=path) or (str(directory / program) if directory is not None else program)
    try:
        with Path(found).open("rb") as file:
            head = file.read(_LINE_BYTES)
            if head.startswith(b"\x7fELF"):
                return _of_elf(file)
    except (OSError, OverflowError):
        return ProgramKind.OTHER
    if head.startswith(b"#!") and depth:
        words = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
        words = [word for word in words if Path(word).name != "env" and not word.startswith("-") and "=" not in word]
        return _kind(words[0], path, directory, depth - 1) if words else ProgramKind.OTHER
    return ProgramKind.OTHER


def _of_elf(file: BinaryIO) -> ProgramKind:
    """Read of an ELF file which loader it asks for."""
    head = _at(file, 0, _HEADER_BYTES)
    if len(head) < _HEADER_BYTES or head[4] != _OF_64_BITS or struct.calcsize("P") != 8:
        return ProgramKind.OTHER
    order = "<" if head[5] == 1 else ">"
    (offset,) = struct.unpack_from(f"{order}Q", head, 32)
    size, count = struct.unpack_from(f"{order}HH", head, 54)
    table = _at(file, offset, size * count)
    try:
        for number in range(count):
            kind, _, start, _, _, length = struct.unpack_from(f"{order}IIQQQQ", table, number * size)
            if kind == _INTERPRETER:
                loader = _at(file, start, min(length, _LINE_BYTES)).rstrip(b"\0").decode("utf-8", "replace")
                return ProgramKind.OTHER if "musl" in loader else ProgramKind.DYNAMIC
    except struct.error:
        return ProgramKind.OTHER
    return ProgramKind.STATIC


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    file.seek(offset)
    return file.read(size)
