"""System calls of a worker that stand: what each would change in the cell's directory, and doing it in its place.

A change is done by the supervisor, with the worker's own open file (a copy of its descriptor, so that the offset and
the mode are shared), and not by the kernel on its way on. So there is a moment at which it has landed and the worker
does not know yet, and the worker can be killed there.
"""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ackgap.execute.file_calls import FileCall
from ackgap.execute.trace.seccomp import SYSTEM_CALLS, Notification, system_call

__all__ = ["Change", "change_of", "process_of"]

_AT_FDCWD = -100
_AT_REMOVEDIR = 0x200
_AT_SYMLINK_FOLLOW = 0x400
_AT_EMPTY_PATH = 0x1000
_NOREPLACE = 1
_PATH_BYTES = 4096
_HEAD_BYTES = 32
_PIECE_BYTES = 1 << 20
_MOST_PARTS = 1024
_SYS_LINKAT, _SYS_RENAMEAT2, _SYS_PIDFD_GETFD = 265, 316, 438
_IGNORED_ENDINGS = (".log", ".pyc", "-shm")
_IGNORED_PARTS = ("/node_modules/", "/__pycache__/", "/.venv/")


@dataclass(frozen=True, slots=True)
class Change:
    """What a call that stands would change.

    Attributes:
        call: In the words of all injectors.
        do: Does it; returns what the call is to return, or None where the kernel is to go on with what is left of it.
    """

    call: FileCall
    do: Callable[[], int | None]


def change_of(note: Notification, root: str) -> Change | None:
    """Return what a call would change below a directory; None if nothing.

    Args:
        note: The call.
        root: The cell's directory, without symbolic links in it.

    Raises:
        OSError: Its process is gone.
    """
    return _UNDERSTOOD[SYSTEM_CALLS[note.number]](note, root)


def process_of(tid: int) -> int:
    """Return the process that a thread belongs to.

    Raises:
        OSError: It is gone.
    """
    with open(f"/proc/{tid}/status", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - at every call
        for line in file:
            if line.startswith("Tgid:"):
                return int(line.split()[1])
    raise ProcessLookupError(tid)


# ------------------------------------------------------------------- the process


def _memory(tid: int, address: int, size: int) -> bytes:
    descriptor = os.open(f"/proc/{tid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(descriptor, size, address)
    finally:
        os.close(descriptor)


def _write_memory(tid: int, address: int, data: bytes) -> None:
    descriptor = os.open(f"/proc/{tid}/mem", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.pwrite(descriptor, data, address)
    finally:
        os.close(descriptor)


def _text(tid: int, address: int) -> str:
    return os.fsdecode(_memory(tid, address, _PATH_BYTES).split(b"\0", 1)[0])


def _parts(tid: int, address: int, count: int) -> list[tuple[int, int]]:
    return list(struct.iter_unpack("=QQ", _memory(tid, address, 16 * count)))


def _signed(number: int) -> int:
    """Read an argument as the `int` that it was."""
    number &= 0xFFFFFFFF
    return number - (1 << 32) if number >> 31 else number


@contextmanager
def _copied(tid: int, descriptor: int) -> Iterator[int]:
    """Give a copy of a process's descriptor: the same open file, with its offset."""
    process = os.pidfd_open(process_of(tid))
    try:
        copy = system_call(_SYS_PIDFD_GETFD, process, descriptor, 0)
    finally:
        os.close(process)
    try:
        yield copy
    finally:
        os.close(copy)


# ------------------------------------------------------------------- names of files


def _is_journal(path: str, root: str) -> bool:
    return (
        path.startswith(f"{root}/")
        and not path.endswith(_IGNORED_ENDINGS)
        and not any(part in path for part in _IGNORED_PARTS)
    )


def _open_file(tid: int, descriptor: int, root: str) -> str:
    """Return the path of an open file that may hold durable state, empty if it is none."""
    place = f"/proc/{tid}/fd/{descriptor}"
    path = os.readlink(place)  # noqa: PTH115 - at every call
    if not _is_journal(path, root):
        return ""
    status = os.stat(place)  # noqa: PTH116
    return path if stat.S_ISREG(status.st_mode) and status.st_nlink else ""


def _seen_from_here(tid: int, directory: int, name: str) -> str:
    """Return under which path we see what a process calls by a name."""
    if name.startswith(("/proc/self/", "/proc/thread-self/")):
        return f"/proc/{tid}/{name.split('/', 3)[3]}"
    if name.startswith("/"):
        return f"/proc/{tid}/root{name}"
    return f"/proc/{tid}/{'cwd' if directory == _AT_FDCWD else f'fd/{directory}'}/{name}"


def _named_file(tid: int, directory: int, name: str, root: str) -> tuple[str, str]:
    """Return the whole path of a name, and the one under which we see it; empty if it holds no durable state."""
    here = _seen_from_here(tid, directory, name)
    folder, _, last = here.rpartition("/")
    if not last:
        return "", ""
    inside = os.readlink(f"/proc/{tid}/root")  # noqa: PTH115
    whole = os.path.realpath(folder)
    if inside != "/":
        whole = whole.removeprefix(inside)
    path = f"{whole.rstrip('/')}/{last}"
    return (path, here) if _is_journal(path, root) else ("", "")


# ------------------------------------------------------------------------- writes


def _write(note: Notification, root: str) -> Change | None:
    descriptor, address, size = _signed(note.arguments[0]), note.arguments[1], note.arguments[2]
    return _writes(note, root, descriptor, [(address, size)], None, 0)


def _pwrite(note: Notification, root: str) -> Change | None:
    descriptor, address, size, offset = note.arguments[:4]
    return _writes(note, root, _signed(descriptor), [(address, size)], offset, 0)


def _writev(note: Notification, root: str) -> Change | None:
    return _writes(note, root, _signed(note.arguments[0]), None, None, 0)


def _pwritev(note: Notification, root: str) -> Change | None:
    return _writes(note, root, _signed(note.arguments[0]), None, note.arguments[3], 0)


def _pwritev2(note: Notification, root: str) -> Change | None:
    at_the_offset = note.arguments[3] == (1 << 64) - 1
    offset = None if at_the_offset else note.arguments[3]
    return _writes(note, root, _signed(note.arguments[0]), None, offset, _signed(note.arguments[5]))


def _writes(
    note: Notification, root: str, descriptor: int, parts: list[tuple[int, int]] | None, offset: int | None, flags: int
) -> Change | None:
    path = _open_file(note.tid, descriptor, root)
    if not path:
        return None
    if parts is None:
        parts = _parts(note.tid, note.arguments[1], min(note.arguments[2], _MOST_PARTS))
    size = sum(length for _, length in parts)
    if not size:
        return None
    head = b"".join(_memory(note.tid, address, min(length, _HEAD_BYTES)) for address, length in parts[:2])[:_HEAD_BYTES]
    pieces = parts

    def do() -> int:
        done = 0
        with _copied(note.tid, descriptor) as copy:
            for data in _pieces(note.tid, pieces):
                try:
                    if offset is None and not flags:
                        written = os.write(copy, data)
                    else:
                        at = -1 if offset is None else offset + done
                        written = os.pwritev(copy, [data], at, flags)
                except OSError:
                    if done:
                        break
                    raise
                done += written
                if written < len(data):
                    break
        return done

    call = FileCall(verb="write", path=path, offset=-1 if offset is None else offset, size=size, head=head)
    return Change(call, do)


def _pieces(tid: int, parts: list[tuple[int, int]]) -> Iterator[bytes]:
    for address, length in parts:
        for start in range(0, length, _PIECE_BYTES):
            data = _memory(tid, address + start, min(_PIECE_BYTES, length - start))
            yield data


def _sendfile(note: Notification, root: str) -> Change | None:
    out, source = _signed(note.arguments[0]), _signed(note.arguments[1])
    return _copies(note, root, source, note.arguments[2], out, 0, note.arguments[3])


def _copy_file_range(note: Notification, root: str) -> Change | None:
    source, from_at, out, to_at, size = note.arguments[:5]
    return _copies(note, root, _signed(source), from_at, _signed(out), to_at, size)


def _copies(note: Notification, root: str, source: int, from_at: int, out: int, to_at: int, size: int) -> Change | None:
    """Understand a copy between two open files; where there is an address of an offset, that is moved on as well."""
    path = _open_file(note.tid, out, root)
    if not path or _is_at_end(note.tid, source, _offset(note.tid, from_at)):
        return None  # a copier asks once more at the end

    def do() -> int:
        start, end = (_offset(note.tid, place) for place in (from_at, to_at))
        with _copied(note.tid, source) as reading, _copied(note.tid, out) as writing:
            if SYSTEM_CALLS[note.number] == "sendfile":
                done = os.sendfile(writing, reading, start, size)
            else:
                done = os.copy_file_range(reading, writing, size, start, end)
        for place, at in ((from_at, start), (to_at, end)):
            if at is not None:
                _write_memory(note.tid, place, struct.pack("=q", at + done))
        return done

    return Change(FileCall(verb="write", path=path, size=size), do)


def _is_at_end(tid: int, descriptor: int, offset: int | None) -> bool:
    status = os.stat(f"/proc/{tid}/fd/{descriptor}")  # noqa: PTH116
    if offset is None:
        with open(f"/proc/{tid}/fdinfo/{descriptor}", encoding="ascii") as file:  # noqa: PTH123
            offset = int(file.readline().split()[1])
    return stat.S_ISREG(status.st_mode) and offset >= status.st_size


def _offset(tid: int, address: int) -> int | None:
    return int(struct.unpack("=q", _memory(tid, address, 8))[0]) if address else None


# ------------------------------------------------------------------ names that change


def _rename(note: Notification, root: str) -> Change | None:
    arguments = note.arguments
    if SYSTEM_CALLS[note.number] == "rename":
        return _moves(note, root, (_AT_FDCWD, arguments[0]), (_AT_FDCWD, arguments[1]), 0)
    flags = arguments[4] if SYSTEM_CALLS[note.number] == "renameat2" else 0
    return _moves(note, root, (_signed(arguments[0]), arguments[1]), (_signed(arguments[2]), arguments[3]), flags)


def _moves(note: Notification, root: str, source: tuple[int, int], place: tuple[int, int], flags: int) -> Change | None:
    path, here = _named_file(note.tid, place[0], _text(note.tid, place[1]), root)
    if not path:
        return None
    moved = _seen_from_here(note.tid, source[0], _text(note.tid, source[1]))
    if not os.path.lexists(moved) or (flags & _NOREPLACE and os.path.lexists(here)):
        return None

    def do() -> int:
        return system_call(_SYS_RENAMEAT2, _AT_FDCWD, os.fsencode(moved), _AT_FDCWD, os.fsencode(here), flags)

    return Change(FileCall(verb="rename", path=path), do)


def _link(note: Notification, root: str) -> Change | None:
    arguments = note.arguments
    if SYSTEM_CALLS[note.number] == "link":
        source, place, flags = (_AT_FDCWD, arguments[0]), (_AT_FDCWD, arguments[1]), 0
    else:
        source, place = (_signed(arguments[0]), arguments[1]), (_signed(arguments[2]), arguments[3])
        flags = arguments[4]
    path, here = _named_file(note.tid, place[0], _text(note.tid, place[1]), root)
    if not path:
        return None
    named = _text(note.tid, source[1])
    linked = _seen_from_here(note.tid, source[0], named)
    if not named and flags & _AT_EMPTY_PATH:
        linked, flags = f"/proc/{note.tid}/fd/{source[0]}", _AT_SYMLINK_FOLLOW

    def do() -> int:
        names = os.fsencode(linked), os.fsencode(here)
        return system_call(_SYS_LINKAT, _AT_FDCWD, names[0], _AT_FDCWD, names[1], flags & _AT_SYMLINK_FOLLOW)

    return Change(FileCall(verb="link", path=path), do)


def _unlink(note: Notification, root: str) -> Change | None:
    if SYSTEM_CALLS[note.number] == "unlink":
        directory, address = _AT_FDCWD, note.arguments[0]
    else:
        directory, address = _signed(note.arguments[0]), note.arguments[1]
        if note.arguments[2] & _AT_REMOVEDIR:
            return None
    path, here = _named_file(note.tid, directory, _text(note.tid, address), root)
    if not path or not os.path.lexists(here) or (os.path.isdir(here) and not os.path.islink(here)):  # noqa: PTH112, PTH114
        return None

    def do() -> int:
        os.unlink(here)  # noqa: PTH108
        return 0

    return Change(FileCall(verb="unlink", path=path), do)


# -------------------------------------------------------------------- truncations


def _truncate(note: Notification, root: str) -> Change | None:
    path, here = _named_file(note.tid, _AT_FDCWD, _text(note.tid, note.arguments[0]), root)
    length = note.arguments[1]
    if not path:
        return None

    def do() -> int:
        os.truncate(here, length)
        return 0

    return Change(FileCall(verb="truncate", path=path, size=length), do)


def _ftruncate(note: Notification, root: str) -> Change | None:
    descriptor, length = _signed(note.arguments[0]), note.arguments[1]
    path = _open_file(note.tid, descriptor, root)
    if not path or os.stat(f"/proc/{note.tid}/fd/{descriptor}").st_size == length:  # noqa: PTH116
        return None

    def do() -> int:
        with _copied(note.tid, descriptor) as copy:
            os.ftruncate(copy, length)
        return 0

    return Change(FileCall(verb="truncate", path=path, size=length), do)


def _open(note: Notification, root: str) -> Change | None:
    """Understand the opening of a file that is emptied by it: emptied here, and opened by the kernel as it is then."""
    arguments, name = note.arguments, SYSTEM_CALLS[note.number]
    directory, address = (
        (_signed(arguments[0]), arguments[1]) if name.startswith("openat") else (_AT_FDCWD, arguments[0])
    )
    flags = {"open": arguments[1], "openat": arguments[2], "creat": os.O_CREAT | os.O_WRONLY | os.O_TRUNC}.get(name, 0)
    if name == "openat2":
        (flags,) = struct.unpack("=Q", _memory(note.tid, arguments[2], 8))
    if not flags & os.O_TRUNC or not flags & os.O_ACCMODE or (flags & os.O_CREAT and flags & os.O_EXCL):
        return None
    path, here = _named_file(note.tid, directory, _text(note.tid, address), root)
    if not path:
        return None
    try:
        status = os.stat(here)  # noqa: PTH116
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return None

    def do() -> None:
        os.truncate(here, 0)

    return Change(FileCall(verb="truncate", path=path), do)


_UNDERSTOOD: dict[str, Callable[[Notification, str], Change | None]] = {
    "write": _write,
    "pwrite64": _pwrite,
    "writev": _writev,
    "pwritev": _pwritev,
    "pwritev2": _pwritev2,
    "sendfile": _sendfile,
    "copy_file_range": _copy_file_range,
    "rename": _rename,
    "renameat": _rename,
    "renameat2": _rename,
    "link": _link,
    "linkat": _link,
    "unlink": _unlink,
    "unlinkat": _unlink,
    "truncate": _truncate,
    "ftruncate": _ftruncate,
    "open": _open,
    "creat": _open,
    "openat": _open,
    "openat2": _open,
}
