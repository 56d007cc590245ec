"""Stamp: what the cells of a scenario depend on, looked at without loading it.

Equal stamps mean equal cells; different ones mean that somebody has to look closer (`ackgap.fingerprint`).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackgap import __version__
from ackgap.execute.workspace import content_digest, copied_files

__all__ = ["Inputs", "stamp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Where everything lies that cells depend on.

    Attributes:
        directories: That are copied into cells.
        files: Scenario and profiles.
        programs: That commands begin with, as they are written.
        packages: Directories of installed packages that workers import from.
    """

    directories: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Inputs:
        """Read what was kept of them."""
        return cls(**{name: tuple(document[name]) for name in ("directories", "files", "programs", "packages")})


def stamp(inputs: Inputs) -> str:
    """Return a digest of what lies there now."""
    total = hashlib.blake2b(digest_size=16)
    for piece in _pieces(inputs):
        total.update(piece)
        total.update(b"\0")
    return total.hexdigest()


def _pieces(inputs: Inputs) -> Iterator[bytes]:
    yield from _encoded([__version__, sys.version, sys.prefix])
    for directory in inputs.directories:
        yield from _encoded([directory])
        try:
            for name, file in copied_files(Path(directory)):
                yield from _encoded([name])
                yield content_digest(file)
        except OSError as error:
            yield from _encoded([str(error.strerror)])
    for file in map(Path, inputs.files):
        yield content_digest(file)
    for program in inputs.programs:
        yield from _encoded([program, shutil.which(program) or ""])
    for directory in inputs.packages:
        yield from _encoded(_installed(directory))


def _installed(directory: str) -> list[str]:
    """Return the names and versions of what is installed in a directory."""
    try:
        return sorted(
            entry.name for entry in os.scandir(directory) if entry.name.endswith((".dist-info", ".egg-info", ".pth"))
        )
    except OSError:
        return []


def _encoded(texts: Iterable[str]) -> Iterator[bytes]:
    for text in texts:
        yield text.encode("utf-8", "surrogateescape")
