"""Sockets as they are: what the kernel holds for them, and what it knows of the other end on loopback (Linux).

A socket is asked for by its addresses (sock_diag(7)), which takes a fifth of a millisecond. The tables below
`/proc/net`, where that is not possible, take ten: the kernel walks all of its own to write them.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from pathlib import Path

__all__ = ["RESET", "asked_inode", "inode_of_peer", "listed_inode", "read_now", "reset", "still_reads"]

RESET = struct.pack("ii", 1, 0)
"""Of the option SO_LINGER: closing resets the connection."""

_MOST_BYTES = 64 * 1024 * 1024
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI")
_ANSWER = struct.Struct("=BBBB48xIIIII")
_ANY_STATE = 0xFFF
_NO_COOKIE = b"\xff" * 8
_LOOPBACK = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


def inode_of_peer(peer_port: int, own_port: int, *, surely_loopback: bool = False) -> int:
    """Return the inode of the socket at the other end; 0 if no process holds it any more, or there is none.

    Args:
        peer_port: Its port on loopback.
        own_port: Ours.
        surely_loopback: It is at 127.0.0.1 or ::1, and so are we.

    Raises:
        OSError: The system does not tell.
    """
    asked = False
    for family, address in _LOOPBACK:
        with contextlib.suppress(OSError):
            if inode := asked_inode(family, address, peer_port, own_port):
                return inode
            asked = True
    # Also where it was asked in vain: a worker may come from another address of loopback.
    return listed_inode(peer_port, own_port) if not asked or not surely_loopback else 0


def asked_inode(family: int, address: str, peer_port: int, own_port: int) -> int:
    """Ask the kernel for one socket by its addresses.

    Returns:
        0 where there is none, or nobody holds it.

    Raises:
        OSError: It cannot be asked.
    """
    packed = socket.inet_pton(family, address).ljust(16, b"\0")
    ports = struct.pack("!HH", peer_port, own_port)
    question = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, _ANY_STATE) + ports + packed * 2 + b"\0" * 4 + _NO_COOKIE
    header = _HEADER.pack(_HEADER.size + len(question), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(1)
        kernel.send(header + question)
        answer = kernel.recv(4096)
    _, kind, _, _, _ = _HEADER.unpack_from(answer)
    return int(_ANSWER.unpack_from(answer, _HEADER.size)[-1]) if kind == _SOCK_DIAG_BY_FAMILY else 0


def listed_inode(peer_port: int, own_port: int) -> int:
    """Look for the same in the kernel's tables.

    Raises:
        OSError: There are none.
    """
    peer, own = f":{peer_port:04X}", f":{own_port:04X}"
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[1].endswith(peer) and fields[2].endswith(own) and fields[9] != "0":
                return int(fields[9])
    return 0


def read_now(sock: socket.socket) -> bytes:
    """Return the bytes that the kernel holds for a socket, without waiting."""
    data = bytearray()
    while len(data) <= _MOST_BYTES:
        try:
            piece = sock.recv(65536, socket.MSG_DONTWAIT)
        except OSError:  # nothing there, or reset
            break
        if not piece:
            break
        data += piece
    return bytes(data)


def still_reads(sock: socket.socket) -> bool:
    """Whether the peer, from which no more bytes come, keeps its end open to read (Linux, both ends in one network).

    `shutdown` and `close` send the same packet; only the kernel's table tells them apart: a socket that no process
    holds any more has no inode there.
    """
    try:
        peer, own = sock.getpeername(), sock.getsockname()
        sure = peer[0] == own[0] in ("127.0.0.1", "::1")
        return inode_of_peer(peer[1], own[1], surely_loopback=sure) != 0
    except (OSError, AttributeError, ValueError):  # another system, or it is closed
        return False


def reset(sock: socket.socket) -> None:
    """Close a socket with a reset."""
    with contextlib.suppress(OSError):  # the peer was quicker
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    sock.close()
