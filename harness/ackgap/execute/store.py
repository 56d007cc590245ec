"""The digest of the durable store: whether anything was written between two moments.

Files are read as the kernel would give them to the next life, page cache included, since that is what a process
death leaves behind. SQLite's `-shm` file is left out: it is an index over the write-ahead log that every opener
rebuilds, and it changes through a memory map without a change of time stamps.
"""

from __future__ import annotations

import asyncio
import fnmatch
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ackgap.execute.state.marks import Mark, mark_of
from ackgap.execute.state.reading import StateReader

__all__ = ["DurableStore"]

_IGNORED_SUFFIXES = ("-shm", ".pyc")
_LOG_SUFFIX = ".log"
_LOOKS = 5
_IGNORED_DIRECTORIES = frozenset(
    {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "node_modules", ".venv"}
)


class DurableStore:
    """What the worker leaves to its next life, as a digest.

    Args:
        directory: The cell's directory.
        patterns: Globs, relative to the directory, of what belongs to the store; none means everything but logs.
        outside: Further files or directories.
        beside: Returns a digest of what is kept elsewhere, in services.
        has_unhooked: Whether some of that is written where no hook in the worker sees it.
        reader: Finds out what the store says, where somebody wants to know.
        whole: Whatever a next life could read counts, logs and what no pattern names too.

    Attributes:
        has_unhooked: The same.
    """

    def __init__(
        self,
        directory: Path,
        *,
        patterns: Iterable[str] = (),
        outside: Iterable[Path] = (),
        beside: Callable[[], str] | None = None,
        has_unhooked: bool = False,
        reader: StateReader | None = None,
        whole: bool = False,
    ) -> None:
        self._whole = whole
        self.has_unhooked = has_unhooked
        self._beside = beside
        self._reader = reader
        self._directory = directory
        self._patterns = tuple(patterns)
        self._outside = tuple(outside)
        self._known: dict[str, tuple[Mark, bytes]] = {}

    def digest(self) -> str:
        """Return a digest of names and contents; equal digests mean that nothing durable differs."""
        total = hashlib.blake2b(digest_size=12)
        for name, path in self._files():
            content = self._content(path)
            if content is not None:
                total.update(name.encode("utf-8", "surrogateescape"))
                total.update(b"\0")
                total.update(content)
        if self._beside is not None:
            total.update(self._beside().encode())
        return total.hexdigest()

    def masked_digest(self) -> str:
        """Return a digest of what the store says, time stamps and random ids masked: equal in two runs of one work.

        It is empty where nobody asked for it, where something is stored in services, or where it cannot be read.
        """
        return "" if self._reader is None else self._reader.digest(self._files())

    async def quiet(self, *, for_s: float, limit_s: float, busy: Callable[[], bool] = lambda: False) -> bool:
        """Wait until nothing has been written for so many real seconds; return whether that came about in time.

        Args:
            for_s: How long; each look counts for one pause at most, however late it comes.
            limit_s: How long to wait for that.
            busy: Whether somebody is about to go on, which is no quiet.
        """
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + limit_s
        digest, quiet_looks = self.digest(), 0
        while loop.time() < ends_s:
            await asyncio.sleep(for_s / _LOOKS)
            seen = self.digest()
            if seen != digest or busy():
                digest, quiet_looks = seen, 0
                continue
            quiet_looks += 1
            if quiet_looks >= _LOOKS:
                return True
        return False

    def _content(self, path: str) -> bytes | None:
        try:
            status = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - this runs at every boundary
            if not stat.S_ISREG(status.st_mode):
                return None
            mark = mark_of(status)
            known = self._known.get(path)
            if known is not None and known[0] == mark:
                return known[1]
            with open(path, "rb") as file:  # noqa: PTH123
                content = hashlib.file_digest(file, "sha256").digest()
        except OSError:
            return None
        self._known[path] = (mark, content)
        return content

    def _files(self) -> Iterator[tuple[str, str]]:
        for name, path in sorted(_walk(str(self._directory))):
            if self._belongs(name):
                yield name, path
        for extra in self._outside:
            root = str(extra)
            if os.path.isdir(root):  # noqa: PTH112
                for _, path in sorted(_walk(root)):
                    yield path, path
            else:
                yield root, root

    def _belongs(self, name: str) -> bool:
        if self._whole:
            return True
        if self._patterns:
            return any(fnmatch.fnmatch(name, pattern) for pattern in self._patterns)
        return not name.endswith(_LOG_SUFFIX)


def _walk(directory: str, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield name and path of each file below a directory; what vanishes meanwhile is left out."""
    try:
        entries = os.scandir(directory)
    except OSError:
        return
    with entries:
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name not in _IGNORED_DIRECTORIES:
                    yield from _walk(entry.path, f"{before}{name}/")
            elif not name.endswith(_IGNORED_SUFFIXES):
                yield before + name, entry.path
