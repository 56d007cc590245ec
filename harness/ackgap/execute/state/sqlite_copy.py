"""Reading a SQLite store that somebody else is writing, without a lock, a checkpoint or a file beside it."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

__all__ = ["BESIDE", "ask_copy"]

T = TypeVar("T")

_TRIES = 3
BESIDE = ("-wal", "-journal")
"""What a SQLite store keeps beside its file and cannot be read without."""


def ask_copy(file: Path, ask: Callable[[sqlite3.Connection], T]) -> T:
    """Return what can be found out from a copy of the store.

    A copy that was torn by a write in the middle of it is made again.

    Args:
        file: The store.
        ask: Given a connection to the copy.

    Raises:
        OSError: There is no such file, or no room for a copy.
        sqlite3.Error: It is no such store, or has no such table.
    """
    for left in reversed(range(_TRIES)):
        with tempfile.TemporaryDirectory(prefix="ackgap-look-") as scratch:
            copy = Path(scratch) / "copy"
            shutil.copyfile(file, copy)
            for suffix in BESIDE:
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(f"{file}{suffix}", f"{copy}{suffix}")
            try:
                with contextlib.closing(sqlite3.connect(copy)) as connection:
                    return ask(connection)
            except sqlite3.Error:
                if not left:
                    raise
    raise AssertionError("unreachable")
