"""Which process holds the other end of a loopback connection."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

import psutil

__all__ = ["PeerUnknown", "holder_of"]


class PeerUnknown(Exception):
    """The connection is in no table: it is gone already, or the system does not tell."""


def holder_of(peer_port: int, local_port: int, candidates: Iterable[int]) -> int | None:
    """Return which of the candidate processes holds the peer's end; None if another process does.

    Args:
        peer_port: Port of the peer on loopback.
        local_port: Our own port of the same connection.
        candidates: Process ids.

    Raises:
        PeerUnknown: It cannot be told.
    """
    if sys.platform.startswith("linux"):
        inode = _inode(peer_port, local_port)
        wanted = f"socket:[{inode}]"
        for pid in candidates:
            with contextlib.suppress(OSError):
                for descriptor in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - a hot path
                    with contextlib.suppress(OSError):
                        if os.readlink(f"/proc/{pid}/fd/{descriptor}") == wanted:  # noqa: PTH115
                            return pid
        return None
    for pid in candidates:
        with contextlib.suppress(psutil.Error):
            for connection in psutil.Process(pid).net_connections("tcp"):
                if connection.laddr and connection.laddr.port == peer_port:
                    return pid
    raise PeerUnknown


def _inode(peer_port: int, local_port: int) -> str:
    """Return the inode of the peer's socket: asked for by its addresses, else looked for in the kernel's tables.

    Raises:
        PeerUnknown: There is none.
    """
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with contextlib.suppress(OSError, struct.error):
            if inode := _asked_inode(family, address, peer_port, local_port):
                return str(inode)
    return _listed_inode(peer_port, local_port)


_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI")
_ANSWER = struct.Struct("=BBBB48xIIIII")
_ANY_STATE = 0xFFF
_NO_COOKIE = b"\xff" * 8


def _asked_inode(family: int, address: str, peer_port: int, local_port: int) -> int:
    """Ask the kernel for one socket by its addresses (sock_diag(7)); reading its tables takes milliseconds.

    Returns:
        0 where there is none.
    """
    packed = socket.inet_pton(family, address).ljust(16, b"\0")
    ports = struct.pack("!HH", peer_port, local_port)
    question = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, _ANY_STATE) + ports + packed * 2 + b"\0" * 4 + _NO_COOKIE
    header = _HEADER.pack(_HEADER.size + len(question), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(1)
        kernel.send(header + question)
        answer = kernel.recv(4096)
    _, kind, _, _, _ = _HEADER.unpack_from(answer)
    return int(_ANSWER.unpack_from(answer, _HEADER.size)[-1]) if kind == _SOCK_DIAG_BY_FAMILY else 0


def _listed_inode(peer_port: int, local_port: int) -> str:
    local, remote = f":{peer_port:04X}", f":{local_port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[1].endswith(local) and fields[2].endswith(remote) and fields[9] != "0":
                    return fields[9]
    raise PeerUnknown
