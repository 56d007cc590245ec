"""A network of its own for a slot: targets and workers see a loopback interface and nothing else.

No call then leaves the machine, in whatever language the worker is written: the kernel has no route. It needs Linux
and either root or unprivileged user namespaces; where it is not to be had, only Python workers are refused, by the
injector inside them, and the user is told before anything starts.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

__all__ = ["can_isolate", "isolate_network"]

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS = 0x8913
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1


def can_isolate() -> bool:
    """Whether this machine lets us have a network namespace; tried in a child, which ends at once."""
    if not sys.platform.startswith("linux"):
        return False
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            os._exit(0 if isolate_network() else 1)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def isolate_network() -> bool:
    """Move this process, and what it starts from now on, into a network with nothing but loopback.

    Call it before a thread or socket exists. Returns whether it worked; where it did not, nothing has changed.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_CLONE_NEWNET) != 0:
        if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) != 0:
            return False
        with contextlib.suppress(OSError):
            Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return _loopback_up()


def _loopback_up() -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        try:
            (flags,) = struct.unpack_from("h", fcntl.ioctl(control, _SIOCGIFFLAGS, request), 16)
            fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))
        except OSError:
            return False
    return True
