"""The door by which a proxy in front of a store comes to the gatekeeper, from a thread of its own."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Coroutine
from typing import Any

from ackgap.execute.gatekeeper import Gatekeeper
from ackgap.execute.turnstile import Write
from ackgap.target.ports import Severed

__all__ = ["StoreDoor"]


class StoreDoor:
    """Implements `ackgap.execute.services.service.Door` for one cell; made in the slot's own loop.

    Args:
        gatekeeper: Of the cell.
    """

    def __init__(self, gatekeeper: Gatekeeper) -> None:
        self._gatekeeper = gatekeeper
        self._loop = asyncio.get_running_loop()
        self._closed = False

    def close(self) -> None:
        """Nobody passes any more: the cell is over."""
        self._closed = True

    def incarnation_of(self, peer_port: int, local_port: int) -> int | None:
        """Return which life holds the other end of a connection; asked where it stands, even if the slot waits."""
        return None if self._closed else self._gatekeeper.incarnation_of(peer_port, local_port)

    def is_over(self, incarnation: int) -> bool:
        """Whether a life is over."""
        return self._closed or self._gatekeeper.stores.is_over(incarnation)

    async def committing(self, incarnation: int, write: Write, name: str) -> None:
        """Stand before a durable write.

        Raises:
            Severed: The life is over.
        """
        await self._pass(self._gatekeeper.stores.committing(incarnation, write, name))

    async def committed(self, incarnation: int, write: Write) -> None:
        """Stand after a durable write.

        Raises:
            Severed: The life is over.
        """
        await self._pass(self._gatekeeper.stores.committed(incarnation, write))

    def failed(self, incarnation: int, write: Write, *, gave_up: bool = False) -> None:
        """A durable write has come to nothing, or nobody will learn what became of it."""
        if not self._closed:
            tell = functools.partial(self._gatekeeper.stores.failed, incarnation, write, gave_up=gave_up)
            self._loop.call_soon_threadsafe(tell)

    async def _pass(self, announcing: Coroutine[Any, Any, None]) -> None:
        if self._closed:
            announcing.close()
            raise Severed
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(announcing, self._loop))
