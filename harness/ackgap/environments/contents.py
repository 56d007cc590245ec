"""What the local files say that requirements name: a changed one is another environment."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

__all__ = ["contents_of"]

_TAKE_FILE = ("-r", "-c", "-e", "-f")
_FILE_OPTIONS = frozenset({*_TAKE_FILE, "--requirement", "--constraint", "--editable", "--find-links"})
_ARCHIVES = (".whl", ".tar.gz", ".zip")
_AFTER_PATH = re.compile(r"(\[[^\]]*\])?\s*(;.*|#.*)?$")
_BY_PRODUCTS = frozenset({".git", "__pycache__", "build"})
"""Written while a project is installed, or beside the point."""


def contents_of(arguments: Sequence[str], folder: Path) -> dict[str, str]:
    """Return a digest of each file and folder that an installer's arguments name, by its path.

    What cannot be read is left out, since the installer will say so.

    Args:
        arguments: Requirements and options.
        folder: What paths are relative to.
    """
    return {str(path): _digest(path) for path in _paths(arguments, folder)}


def _paths(arguments: Sequence[str], folder: Path) -> Iterator[Path]:
    for before, word in zip(("", *arguments), arguments, strict=False):
        text, named = word, before in _FILE_OPTIONS
        if word.startswith("--"):
            _, _, text = word.partition("=")
            named = bool(text)
        elif word.startswith(_TAKE_FILE):
            text, named = word[2:], True
        elif " @ " in word:
            text = word.partition(" @ ")[2]
        local = text.startswith("file:")
        text = _AFTER_PATH.sub("", unquote(text.removeprefix("file:").removeprefix("//")) if local else text).strip()
        if text and (local or named or os.sep in text or text.startswith(".") or text.endswith(_ARCHIVES)):
            path = folder / text
            with contextlib.suppress(OSError, ValueError):
                if path.exists():
                    yield Path(os.path.abspath(path))  # noqa: PTH100 - follows no links


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    for file in [path] if path.is_file() else _files_below(path):
        with contextlib.suppress(OSError):
            text = file.read_bytes()
            found.update(f"{file.relative_to(path)}\0{len(text)}\0".encode())
            found.update(text)
    return found.hexdigest()


def _files_below(directory: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name not in _BY_PRODUCTS and not name.endswith(".egg-info"))
        for name in sorted(names):
            if (file := Path(place) / name).is_file():  # a pipe would be waited for
                yield file
