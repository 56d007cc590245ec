"""Disturbances: the toxics of a cell's schedule, switched on where a life stands at their point, and off later."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ackgap.errors import AckgapError
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.services.toxiproxy import Toxiproxy
from ackgap.model.boundary import CrashPoint
from ackgap.model.event import Note
from ackgap.model.schedule import Fault
from ackgap.scenario.toxics import ToxicSpec
from ackgap.target.service import TargetService

__all__ = ["Disturbances"]


@dataclass(slots=True, kw_only=True, eq=False)
class _Active:
    spec: ToxicSpec
    fault: Fault
    timer: asyncio.Task[None] | None = None


class Disturbances:
    """What is wrong with the network of one cell.

    A toxic is over at the point that its fault names, after the time that it names, or else with its life: when that
    has ended, or when the next one begins beside it.

    Args:
        toxics: Of the scenario.
        network: Where they are switched on; None where the scenario has none.
        recorder: Keeps the history.
        targets: Services of the cell.
    """

    def __init__(
        self,
        toxics: Collection[ToxicSpec],
        network: Toxiproxy | None,
        recorder: HistoryRecorder,
        targets: Collection[TargetService],
    ) -> None:
        self._toxics: Mapping[str, ToxicSpec] = {spec.name: spec for spec in toxics}
        self._network = network
        self._recorder = recorder
        self._targets = targets
        self._active: dict[str, _Active] = {}

    @property
    def words(self) -> str:
        """What is on, for whoever asks why nothing goes on; empty where nothing is."""
        return ", ".join(f"{active.spec.name} at the link to {active.spec.link}" for active in self._active.values())

    def are_before(self, name: str) -> bool:
        """Whether a target or service is reached through a link, so that its own peer is not the worker."""
        return self._network is not None and name in self._network.ports

    def carry(self, peer_port: int, local_port: int) -> bool:
        """Whether a link stands at the other end of a target's connection."""
        return self._network is not None and self._network.carries(peer_port, local_port)

    async def begin(self, fault: Fault) -> None:
        """Switch on the toxic of a fault whose point has been reached; the life still stands there."""
        spec = self._toxics[fault.manner.name]
        if spec.name in self._active:
            await self._end(self._active[spec.name], "it begins anew")
        if await self._asked(spec, on=True):
            active = self._active[spec.name] = _Active(spec=spec, fault=fault)
            text = f"network: {spec.name} is on at the link to {spec.link} ({spec.words})"
            self._recorder.record(Note, code="toxic_on", text=text, incarnation=fault.incarnation)
            if fault.manner.for_s:
                active.timer = asyncio.ensure_future(self._end_later(active))

    async def reached(self, incarnation: int, point: CrashPoint) -> None:
        """A life stands at a point: what was to be over there is switched off before it goes on."""
        for active in tuple(self._active.values()):
            if active.fault.manner.until == str(point) and active.fault.incarnation == incarnation:
                await self._end(active, f"{point} was reached")

    def life_begins(self, incarnation: int) -> None:
        """A life is about to begin: what it does to its calls may be its answer to what is still on."""
        if self._active:
            for service in self._targets:
                service.expect_leaving(incarnation)

    async def life_is_over(self, incarnation: int) -> None:
        """A life has ended, or another one takes over from it: what was not to last longer is switched off."""
        for active in tuple(self._active.values()):
            if active.fault.incarnation <= incarnation and not active.fault.manner.for_s:
                await self._end(active, f"life {active.fault.incarnation} is over")

    async def close(self) -> None:
        """The cell is over."""
        for active in tuple(self._active.values()):
            await self._end(active, "")

    async def clear(self, *, alone: bool) -> None:
        """Let nothing of a dead life be under way in the network; see `Toxiproxy.clear`."""
        if self._network is not None:
            await self._network.clear(alone=alone)

    async def _end_later(self, active: _Active) -> None:
        await asyncio.sleep(active.fault.manner.for_s)
        active.timer = None  # not to be ended by itself
        await self._end(active, "its time is over")

    async def _end(self, active: _Active, why: str) -> None:
        if self._active.get(active.spec.name) is not active:
            return
        del self._active[active.spec.name]
        if active.timer is not None:
            active.timer.cancel()
        if await self._asked(active.spec, on=False) and why:
            text = f"network: {active.spec.name} is off again: {why}"
            self._recorder.record(Note, code="toxic_off", text=text, incarnation=active.fault.incarnation)

    async def _asked(self, spec: ToxicSpec, *, on: bool) -> bool:
        """Have a toxic switched on or off; return whether it was. Where not, the cell proves nothing."""
        assert self._network is not None
        try:
            await asyncio.to_thread(self._network.switch_on if on else self._network.switch_off, spec)
        except AckgapError as error:
            self._recorder.record(Note, code="toxic_failed", text=error.what)
            return False
        return True
