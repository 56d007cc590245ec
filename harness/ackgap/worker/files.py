"""Journals in plain files: writes that reach the system from a buffer, renames onto a file of the workspace, removals.

A buffered file is durable once its bytes have been handed to the system, which happens at `flush`, at `close`, or when
the buffer runs over. Each of these is a boundary `file.<name>.write`. A large body would run over many times; then the
first time is one boundary (a torn file, if the worker dies after it) and what completes the file is another, and in
between the last byte is held back, so that there is something left to complete it with.
"""

from __future__ import annotations

import builtins
import io
import os
import stat
import sys

from . import names
from .announcer import Announcer
from .replacement import Replacement, around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["hook_open", "hook_remove", "hook_rename", "hook_shutil", "hook_tempfile"]

_LOGGING = ("logging", "logging.handlers")


def hook_open(announcer: Announcer) -> None:
    """Have `open` return files whose writes are announced, for files that may be journals."""
    original = io.open
    opener = _Opener(announcer, original)
    replacement = Replacement(original, opener.open, "io")
    builtins.open = replacement
    io.open = replacement


def hook_rename(announcer: Announcer) -> None:
    """Announce `os.replace` and `os.rename`, and with them `Path.replace`, `Path.rename` and `shutil.move`."""
    _put_in_os(announcer, ("replace", "rename"), _renamer)


def hook_remove(announcer: Announcer) -> None:
    """Announce `os.remove` and `os.unlink`, and with them `Path.unlink`: a lock or a key that is gone is state."""
    _put_in_os(announcer, ("remove", "unlink"), _remover)


def _put_in_os(announcer: Announcer, functions: tuple[str, ...], announcing: Any) -> None:
    for name in functions:
        original = getattr(os, name)
        replacement = Replacement(original, announcing(announcer, original), "os")
        if original in os.supports_dir_fd:
            os.supports_dir_fd.add(replacement)
        setattr(os, name, replacement)


def hook_shutil(module: Any, announcer: Announcer) -> None:
    """Announce `shutil.copyfile`, which copies inside the kernel, past every buffer."""
    original = module.copyfile

    def copyfile(src: Any, dst: Any, *args: Any, **kwargs: Any) -> Any:
        path = _journal(announcer, dst)
        if not path:
            return original(src, dst, *args, **kwargs)
        with announcer.durable_write(f"file.{names.file_name(path)}.write"):
            return original(src, dst, *args, **kwargs)

    module.copyfile = around(original, copyfile)


def hook_tempfile(module: Any, announcer: Announcer) -> None:  # noqa: ARG001
    """Learn which parts of names are random."""
    sequence = module._RandomNameSequence
    original = sequence.__next__

    def __next__(self: Any) -> str:  # noqa: N807
        part: str = original(self)
        names.remember_temporary(part)
        return part

    sequence.__next__ = __next__


def _journal(announcer: Announcer, path: Any) -> str:
    """Return the absolute path if a file there may be a journal, else an empty text."""
    try:
        found = names.absolute(path)
    except (OSError, TypeError, ValueError):
        return ""
    return found if found and names.is_journal(found, *announcer.config.places) else ""


def _renamer(announcer: Announcer, original: Any) -> Any:
    def rename(src: Any, dst: Any, **kwargs: Any) -> Any:
        path = "" if kwargs.get("dst_dir_fd") is not None else _journal(announcer, dst)
        if not path:
            return original(src, dst, **kwargs)
        with announcer.durable_write(f"file.{names.file_name(path)}.replace"):
            return original(src, dst, **kwargs)

    return rename


def _remover(announcer: Announcer, original: Any) -> Any:
    def remove(path: Any, *, dir_fd: Any = None) -> None:
        found = "" if dir_fd is not None else _journal(announcer, path)
        name = names.file_name(found) if found and _is_file(found) else ""
        if name in ("", names.TEMPORARY):  # what has a made-up name is found again by nobody
            original(path, dir_fd=dir_fd)
            return
        with announcer.durable_write(f"file.{name}.remove"):
            original(path)

    return remove


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


class _Opener:
    """`open`, with our own buffers in the files that may be journals."""

    def __init__(self, announcer: Announcer, original: Any) -> None:
        self._announcer = announcer
        self._original = original

    def open(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if type(mode) is not str or not set(mode) & set("wax+") or not self._may_be_journal(file, mode, buffering):
            return self._original(file, mode, buffering, encoding, errors, newline, closefd, opener)
        if "b" in mode and (encoding, errors, newline) != (None, None, None):
            return self._original(file, mode, buffering, encoding, errors, newline, closefd, opener)
        if "b" not in mode and buffering == 0:
            return self._original(file, mode, buffering, encoding, errors, newline, closefd, opener)
        return self._open_journal(file, mode, buffering, encoding, errors, newline, closefd, opener)

    def _may_be_journal(self, file: Any, mode: str, buffering: Any) -> bool:
        flags = "".join(sorted(mode.replace("t", "").replace("b", "")))
        if flags not in ("w", "a", "x", "+r", "+w", "+a", "+x") or ("t" in mode and "b" in mode):
            return False
        if type(buffering) is not int or (isinstance(file, int) and file <= 2):
            return False
        # Callers: this method's, `open`, the replacement's `__call__`, then whoever opens the file.
        if sys._getframe(3).f_globals.get("__name__") in _LOGGING:
            return False
        return bool(_journal(self._announcer, file))

    def _open_journal(
        self,
        file: Any,
        mode: str,
        buffering: int,
        encoding: str | None,
        errors: str | None,
        newline: str | None,
        closefd: bool,
        opener: Any,
    ) -> Any:
        raw_mode = mode.replace("t", "").replace("b", "")
        raw_class = _UnbufferedJournal if buffering == 0 else io.FileIO
        raw = raw_class(file, raw_mode, closefd=closefd, opener=opener)
        result: Any = raw
        try:
            line_buffering = buffering == 1 and "b" not in mode
            name = self._boundary_name(file, raw, opener)
            if isinstance(raw, _UnbufferedJournal):
                if name:
                    raw.announce_as(self._announcer, name)
                return raw
            size = buffering if buffering > 1 else _default_buffer_size(raw)
            buffer: Any
            if name:
                kind: Any = _RandomJournal if "+" in mode else _Journal
                result = buffer = kind(raw, size)
                buffer.announce_as(self._announcer, name, size)
            else:
                result = buffer = (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw, size)
            if "b" in mode:
                return buffer
            result = text = io.TextIOWrapper(buffer, encoding, errors, newline, line_buffering)
            text.mode = mode  # type: ignore[misc]
            return text
        except BaseException:
            result.close()
            raise

    def _boundary_name(self, file: Any, raw: Any, opener: Any) -> str:
        """Return the name of the boundary of a file that has been opened, empty if it can hold no durable state."""
        status = os.fstat(raw.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_nlink == 0:
            return ""
        # What an opener opens need not be what it was given: `tempfile` gives a directory.
        path = (names.path_of_descriptor(raw.fileno()) if opener is not None else "") or names.absolute(file)
        if not names.is_journal(path, *self._announcer.config.places):
            return ""
        return f"file.{names.file_name(path)}.write"


def _default_buffer_size(raw: Any) -> int:
    size = getattr(raw, "_blksize", 0)
    if sys.version_info >= (3, 14):
        return max(min(size, 8192 * 1024), io.DEFAULT_BUFFER_SIZE)
    return size if size > 1 else io.DEFAULT_BUFFER_SIZE


class _UnbufferedJournal(io.FileIO):
    """A file without a buffer: every write is durable by itself."""

    _announcer: Announcer | None = None
    _boundary = ""

    def announce_as(self, announcer: Announcer, name: str) -> None:
        self._announcer, self._boundary = announcer, name

    def write(self, data: Any) -> int:
        if self._announcer is None:
            return super().write(data)
        with self._announcer.durable_write(self._boundary):
            return super().write(data)


class _Announcing:
    """Mixed into a buffer: knows how many bytes it holds, and announces when they go to the system."""

    _announcer: Announcer | None = None
    _boundary = ""
    _size = 0
    _held = 0
    _ran_over = False

    def announce_as(self, announcer: Announcer, name: str, size: int) -> None:
        self._announcer, self._boundary, self._size = announcer, name, size

    def write(self, data: Any) -> int:
        write = super().write  # type: ignore[misc]
        if self._announcer is None or not isinstance(data, (bytes, bytearray, memoryview)):
            self._held += 1
            return int(write(data))
        size = memoryview(data).nbytes
        if self._held + size <= self._size:
            written = int(write(data))
            self._held += size
        elif self._ran_over:
            # Only what completes the file is announced again, so something has to stay behind to complete it with.
            view = memoryview(bytes(data))
            written = int(write(view[:-1])) + int(write(view[-1:]))
            self._held = 1 if size - 1 > self._size else min(size, self._size)
        else:
            self._ran_over = True
            with self._announcer.durable_write(self._boundary):
                written = int(write(data))
            self._held = 0 if size > self._size else size
        return written

    def flush(self) -> None:
        flush = super().flush  # type: ignore[misc]
        if self._announcer is None or not self._held or self.closed:  # type: ignore[attr-defined]
            flush()
            return
        self._held = 0
        self._ran_over = False
        with self._announcer.durable_write(self._boundary):
            flush()

    def seek(self, *args: Any) -> int:
        self.flush()  # would write what is held, unannounced
        return int(super().seek(*args))  # type: ignore[misc]

    def truncate(self, *args: Any) -> int:
        self.flush()
        return int(super().truncate(*args))  # type: ignore[misc]


class _Journal(_Announcing, io.BufferedWriter):
    """A buffer in front of a file that is only written."""


class _RandomJournal(_Announcing, io.BufferedRandom):
    """A buffer in front of a file that is written and read."""

    def read(self, *args: Any) -> bytes:
        self.flush()
        return super().read(*args)

    def read1(self, *args: Any) -> bytes:
        self.flush()
        return super().read1(*args)

    def readinto(self, buffer: Any) -> int:
        self.flush()
        return super().readinto(buffer)

    def readline(self, *args: Any) -> bytes:
        self.flush()
        return super().readline(*args)

    def peek(self, *args: Any) -> bytes:
        self.flush()
        return super().peek(*args)
