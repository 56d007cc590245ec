"""DirectoryLock: one run at a time writes into a directory of results."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from ackgap.errors import ResultsInvalid

__all__ = ["LOCK_FILE", "directory_lock", "is_held"]

LOCK_FILE = ".ackgap.lock"


@contextlib.contextmanager
def directory_lock(directory: Path) -> Iterator[None]:
    """Hold a directory of results; the system lets go of it when this process dies, so no lock is ever stale.

    Where the file system knows no locks, nothing is held.

    Raises:
        ResultsInvalid: Another run holds it; names its process.
    """
    path = directory / LOCK_FILE
    descriptor = _held(path, directory)
    try:
        yield
    finally:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                path.unlink()
            os.close(descriptor)


def is_held(directory: Path) -> bool:
    """Whether a run is writing its results there; nothing is left behind by asking."""
    try:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno == errno.EWOULDBLOCK
    finally:
        os.close(descriptor)
    return False


def _held(path: Path, directory: Path) -> int | None:
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o644)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(path, descriptor):
                os.truncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode())
                return descriptor
        except OSError as error:
            if error.errno == errno.EWOULDBLOCK:
                holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
                os.close(descriptor)
                raise ResultsInvalid(
                    f"another run is writing its results here: process {holder or 'unknown'}",
                    where=str(directory),
                    next_step="wait until it has ended, or name another directory with --out",
                ) from None
            os.close(descriptor)
            return None
        os.close(descriptor)  # the one who held it has just removed the file


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
