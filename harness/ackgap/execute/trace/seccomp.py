"""Seccomp user notification: system calls of a worker that stand in the kernel until its supervisor answers (Linux).

A filter is put into the worker's process before its program begins, and holds for everything that it starts, whatever
that is linked to. A call that the filter names is not done: the supervisor is told of it, and says what becomes of it,
either that the kernel goes on with it or what it returns. Nothing is traced (ptrace(2) is not involved), so that
debuggers and signals work as ever.

It needs Linux 5.19: before that, a signal takes a call back that the supervisor is about to do.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import os
import platform
import struct
import sys
import warnings
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["SYSTEM_CALLS", "Notification", "answer", "go_on", "installer", "lacking", "receive", "system_call"]

SYSTEM_CALLS = {
    1: "write",
    18: "pwrite64",
    20: "writev",
    40: "sendfile",
    76: "truncate",
    77: "ftruncate",
    82: "rename",
    86: "link",
    87: "unlink",
    263: "unlinkat",
    264: "renameat",
    265: "linkat",
    296: "pwritev",
    316: "renameat2",
    326: "copy_file_range",
    328: "pwritev2",
    2: "open",
    85: "creat",
    257: "openat",
    437: "openat2",
}
"""By number, on x86-64."""

_FLAGS_OF_OPEN = {2: 1, 257: 2}
"""Which argument says how a file is opened."""
_IO_URING_SETUP = 425
_MACHINE = "x86_64"
_ARCHITECTURE = 0xC000003E
_SYS_SECCOMP = 317
_SET_MODE_FILTER = 1
_NEW_LISTENER = 1 << 3
_WAIT_KILLABLE = 1 << 5
_PR_SET_NO_NEW_PRIVS = 38
_NOTIFY = 0x7FC00000
_ALLOW = 0x7FFF0000
_ERROR = 0x00050000
_LOAD, _IF_EQUAL, _IF_SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_ANSWER = struct.Struct("=QqiI")
_GO_ON = 1


class Notification(NamedTuple):
    """A system call that stands.

    Attributes:
        id: To answer with.
        tid: Of the thread.
        number: Of the call.
        arguments: Six, as they were given.
    """

    id: int
    tid: int
    number: int
    arguments: tuple[int, ...]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, operand)


def _filter() -> bytes:
    """Return the program that tells which calls stand; those of another architecture never do."""
    parts = [
        _instruction(_LOAD, 4),
        _instruction(_IF_EQUAL, _ARCHITECTURE, 1, 0),
        _instruction(_RETURN, _ALLOW),
        _instruction(_LOAD, 0),
    ]
    for number in SYSTEM_CALLS:
        if number in _FLAGS_OF_OPEN:
            parts += [
                _instruction(_IF_EQUAL, number, 0, 4),
                _instruction(_LOAD, 16 + 8 * _FLAGS_OF_OPEN[number]),
                _instruction(_IF_SET, os.O_TRUNC, 0, 1),
                _instruction(_RETURN, _NOTIFY),
                _instruction(_RETURN, _ALLOW),
            ]
        else:
            parts += [_instruction(_IF_EQUAL, number, 0, 1), _instruction(_RETURN, _NOTIFY)]
    # What is handed to the kernel through a ring is no system call; programs do without where there is none.
    parts += [_instruction(_IF_EQUAL, _IO_URING_SETUP, 0, 1), _instruction(_RETURN, _ERROR | errno.ENOSYS)]
    return b"".join([*parts, _instruction(_RETURN, _ALLOW)])


def installer() -> Callable[[], int]:
    """Return what a child calls before exec: it puts the filter in, and returns the listener's descriptor.

    All that could be made beforehand has been. What it returns is negative where the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    code = _filter()
    program = _Program(len(code) // 8, code)
    place = ctypes.byref(program)

    def install() -> int:
        assert program.instructions is not None
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return int(libc.syscall(_SYS_SECCOMP, _SET_MODE_FILTER, _NEW_LISTENER | _WAIT_KILLABLE, place))

    return install


@functools.cache
def lacking() -> str:
    """Return why system calls cannot be made to stand here, empty where they can; tried in a child."""
    if not sys.platform.startswith("linux"):
        return "it needs Linux"
    if platform.machine() != _MACHINE:
        return f"it knows the system calls of {_MACHINE} only, and this is {platform.machine()}"
    install = installer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of other threads: the child does two system calls
        child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os._exit(0 if install() >= 0 else 1)
        os._exit(1)
    if os.waitpid(child, 0)[1] == 0:
        return ""
    return (
        f"the kernel ({platform.release()}) refuses it: it needs Linux 5.19, and no other listener above this process"
    )


def receive(listener: int) -> Notification | None:
    """Return the next call that stands; None if it is gone already.

    Raises:
        OSError: Nobody is left whom the filter holds for.
    """
    buffer = bytearray(_NOTIFICATION.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, buffer)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINTR):
            return None
        raise
    number_id, tid, _, number, _, _, *arguments = _NOTIFICATION.unpack(buffer)
    return Notification(number_id, tid, number, tuple(arguments))


def go_on(listener: int, note: Notification) -> None:
    """Have the kernel do the call."""
    _send(listener, _ANSWER.pack(note.id, 0, 0, _GO_ON))


def answer(listener: int, note: Notification, value: int, error: int = 0) -> None:
    """Have the call return a value, or fail with an error's number."""
    _send(listener, _ANSWER.pack(note.id, value, -error, 0))


def _send(listener: int, answered: bytes) -> None:
    with contextlib.suppress(OSError):  # it has died meanwhile
        fcntl.ioctl(listener, _SEND, bytearray(answered))


def system_call(number: int, *arguments: int | bytes) -> int:
    """Do a system call.

    Raises:
        OSError: It failed.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    given = [ctypes.c_long(one) if isinstance(one, int) else ctypes.c_char_p(one) for one in arguments]
    result = int(libc.syscall(ctypes.c_long(number), *given))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
