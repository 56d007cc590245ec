"""An answer on a connection that is used again does not wait for the client's acknowledgment of what came before."""

from __future__ import annotations

import socket


def test_what_is_written_leaves_at_once(run, bench):
    async def work():
        async with bench("case-management") as b, b.connect() as wire:
            await wire.ask("GET", "/tickets")
            (connection,) = b.service._cell.connections
            return connection._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    assert run(work())
