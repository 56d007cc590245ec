"""Which process holds the other end of a loopback connection."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable

import psutil

from ackgap.target.wire.sockets import inode_of_peer

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
        try:
            inode = inode_of_peer(peer_port, local_port)
        except OSError as error:
            raise PeerUnknown from error
        if not inode:
            raise PeerUnknown
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
