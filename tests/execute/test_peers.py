"""Tests of finding who holds the other end of a connection."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from ackgap.execute.peers import PeerUnknown, holder_of
from ackgap.target.wire.sockets import asked_inode, listed_inode


@pytest.mark.parametrize(
    ("family", "address", "peer_family", "peer_address"),
    [
        (socket.AF_INET, "127.0.0.1", socket.AF_INET, "127.0.0.1"),
        (socket.AF_INET6, "::1", socket.AF_INET6, "::1"),
        (socket.AF_INET, "127.0.0.1", socket.AF_INET6, "::ffff:127.0.0.1"),
    ],
)
def test_the_holder_of_a_connection_is_found(
    family: socket.AddressFamily, address: str, peer_family: socket.AddressFamily, peer_address: str
) -> None:
    with socket.socket(family) as listener, socket.socket(peer_family) as peer:
        listener.bind((address, 0))
        listener.listen()
        peer.connect((peer_address, listener.getsockname()[1]))

        ours = holder_of(peer.getsockname()[1], listener.getsockname()[1], [os.getppid(), os.getpid()])
        others = holder_of(peer.getsockname()[1], listener.getsockname()[1], [os.getppid()])

    assert ours == os.getpid()
    assert others is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the kernel is asked on Linux")
def test_the_kernel_says_the_same_when_asked_as_its_tables_say() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ports = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", ports)) as peer:
            own = peer.getsockname()[1]
            asked = asked_inode(socket.AF_INET, "127.0.0.1", own, ports)

            assert asked == listed_inode(own, ports) == os.fstat(peer.fileno()).st_ino


def test_a_connection_that_is_gone_is_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(PeerUnknown):
        holder_of(1, listener.getsockname()[1], [os.getpid()])
