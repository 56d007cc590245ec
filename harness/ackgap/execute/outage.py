"""Outage: a service that is gone while a life begins, and comes back."""

from __future__ import annotations

import asyncio
import contextlib

from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.services.household import Household
from ackgap.model.event import Note

__all__ = ["Outage"]


class Outage:
    """One service that is stopped, with what it has stored, and started again.

    Args:
        household: That it belongs to.
        name: The scenario's name for it.
        limit_s: Real seconds after which it comes back by itself.
        recorder: Keeps the history.
    """

    def __init__(self, household: Household, name: str, *, limit_s: float, recorder: HistoryRecorder) -> None:
        self._household = household
        self._name = name
        self._limit_s = limit_s
        self._recorder = recorder
        self._enough = asyncio.Event()
        self._household.go_away(name)
        self._recorder.record(Note, code="service_down", text=name)
        self._course = asyncio.ensure_future(self._run())

    async def end(self) -> None:
        """Have it back now, if it is not back.

        Raises:
            HarnessFailed: It does not come back.
        """
        self._enough.set()
        await self._course

    async def _run(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._enough.wait(), self._limit_s)
        await self._household.come_back(self._name)
        self._recorder.record(Note, code="service_up", text=self._name)
