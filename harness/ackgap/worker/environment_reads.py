"""Which variables of the environment are read while modules are imported.

Two lives whose environments differ only in what was never read can be forked from one nursery. What native code reads
by itself is not seen here.
"""

from __future__ import annotations

import contextlib
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["EnvironmentReads", "watch_reads"]

_COPY_IT_FOR_A_CHILD = ("platform", "subprocess")
_PASS_IT_ON = ("os", "collections.abc", "_collections_abc", __name__)


class EnvironmentReads:
    """What was asked of `os.environ`.

    Attributes:
        names: What was asked for.
        all: Whether all of it was gone through, as settings that match a prefix do.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.all = False


@contextlib.contextmanager
def watch_reads() -> Iterator[EnvironmentReads]:
    """Take note of what is asked of `os.environ` meanwhile."""
    _Watched.reads = EnvironmentReads()
    os.environ.__class__ = _Watched
    os.environb.__class__ = _WatchedBytes
    try:
        yield _Watched.reads
    finally:
        os.environ.__class__ = os.environb.__class__ = os._Environ


class _Watched(os._Environ):  # type: ignore[type-arg] # its class takes none before 3.9
    reads: EnvironmentReads

    def __getitem__(self, name: str) -> str:
        _note(name)
        return super().__getitem__(name)  # type: ignore[no-any-return]

    def __contains__(self, name: object) -> bool:
        _note(str(name))
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        _note_all()
        return super().__iter__()

    def __len__(self) -> int:
        _note_all()
        return super().__len__()


class _WatchedBytes(os._Environ):  # type: ignore[type-arg]
    """Who reads bytes is rare, and taken to have read all."""

    def __getitem__(self, name: bytes) -> bytes:
        _note_all()
        return super().__getitem__(name)  # type: ignore[no-any-return]

    def __contains__(self, name: object) -> bool:
        _note_all()
        return super().__contains__(name)

    def __iter__(self) -> Iterator[bytes]:
        _note_all()
        return super().__iter__()


def _note(name: str) -> None:
    if _reader() not in _COPY_IT_FOR_A_CHILD:
        _Watched.reads.names.add(name)


def _note_all() -> None:
    if _reader() not in _COPY_IT_FOR_A_CHILD:
        _Watched.reads.all = True


def _reader() -> str:
    """Return the module that asks, behind those that only pass the question on."""
    depth = 2
    while True:
        try:
            name = str(sys._getframe(depth).f_globals.get("__name__", ""))
        except ValueError:
            return ""
        if name not in _PASS_IT_ON:
            return name
        depth += 1
