"""What a command starts, as far as its file tells: Python, a program that libraries can be loaded into, or another."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

__all__ = ["ProgramKind", "program_kind"]

_PYTHON_LAUNCHERS = frozenset({"uv", "poetry", "pipenv", "pdm", "hatch", "rye", "conda", "mamba", "micromamba"})
_HEADER_BYTES = 64
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
                file.seek(0)
                return _of_elf(file.read())
    except OSError:
        return ProgramKind.OTHER
    if head.startswith(b"#!") and depth:
        words = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace").split()
        words = [word for word in words if Path(word).name != "env" and not word.startswith("-") and "=" not in word]
        return _kind(words[0], path, directory, depth - 1) if words else ProgramKind.OTHER
    return ProgramKind.OTHER


def _of_elf(data: bytes) -> ProgramKind:
    """Read of an ELF file which loader it asks for."""
    native = 2 if struct.calcsize("P") == 8 else 1
    if len(data) < _HEADER_BYTES or data[4] != native or native != 2:
        return ProgramKind.OTHER
    order = "<" if data[5] == 1 else ">"
    try:
        (offset,) = struct.unpack_from(f"{order}Q", data, 32)
        size, count = struct.unpack_from(f"{order}HH", data, 54)
        for number in range(count):
            kind, _, start = struct.unpack_from(f"{order}IIQ", data, offset + number * size)
            (length,) = struct.unpack_from(f"{order}Q", data, offset + number * size + 32)
            if kind == _INTERPRETER:
                loader = data[start : start + length].rstrip(b"\0").decode("utf-8", "replace")
                return ProgramKind.OTHER if "musl" in loader else ProgramKind.DYNAMIC
    except struct.error:
        return ProgramKind.OTHER
    return ProgramKind.STATIC
