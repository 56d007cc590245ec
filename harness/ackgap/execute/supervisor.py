"""The supervisor: one cell in, its history out.

It runs the worker, life after life, until the work counts as finished, the worker surfaces its doubt, or the limits
are reached; it injects the schedule's faults on the way. It decides nothing about right or wrong.

    start life 1 --> (fault strikes: kill, or pause) --> drain what it left --> start life 2 --> ... --> finished

Apart from this module only `process` and `containment` touch the worker's processes, and only `gatekeeper` lets anyone
go on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from ackgap.execute import containment, workspace
from ackgap.execute.channel import Channel
from ackgap.execute.checks import run_checks
from ackgap.execute.client import Client
from ackgap.execute.completion import Completion
from ackgap.execute.copies import LIVED, Beginning, Copier, Copies
from ackgap.execute.disturbance import Disturbances
from ackgap.execute.engines.known import engine_for
from ackgap.execute.gatekeeper import Gatekeeper
from ackgap.execute.hold import HoldObservation
from ackgap.execute.interposing import new_own_words, speaks_of_cell
from ackgap.execute.launch import Launch
from ackgap.execute.lifetimes import Lifetimes
from ackgap.execute.order import Order, Surroundings
from ackgap.execute.preparing import begin_targets
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.state.reading import NOTHING_READ, Reading, StateReader, reader_for
from ackgap.execute.store import DurableStore
from ackgap.execute.store_door import StoreDoor
from ackgap.execute.striking import Striker
from ackgap.execute.succession import Succession
from ackgap.model.event import Event, Note
from ackgap.model.history import History
from ackgap.scenario.services import HOOKED_KINDS
from ackgap.target.clock import VirtualClock

__all__ = ["Supervisor"]


class Supervisor:
    """Runs one cell.

    Args:
        order: What to run.
        surroundings: Where.
        watch: Called with each event as it happens.
        beginning: Where the cell begins, if that may be where another run was copied.
        copies_to: A directory for copies of everything at each point, in a run that is made for that.
    """

    def __init__(
        self,
        order: Order,
        surroundings: Surroundings,
        *,
        watch: Callable[[Event], None] | None = None,
        beginning: Beginning = LIVED,
        copies_to: Path | None = None,
    ) -> None:
        self._order = order
        self._spec = order.scenario.worker
        self._limits = order.scenario.limits
        self._surroundings = surroundings
        self._copy = beginning.copy
        self._own_words = beginning.own_words if beginning.copy is not None else new_own_words()
        self._launch = Launch(order, surroundings, cell=self._own_words)
        self._recorder = self._begun_recorder(watch, beginning)
        self._clock = VirtualClock() if self._copy is None else self._copy.clock()
        self._reader = reader_for(order, surroundings, own_words=self._own_words, now_s=time.time())
        self._store = _store_of(order, surroundings, self._reader)
        client = order.scenario.client
        self._client = Client(client, self._launch, order.scenario) if client else None
        self._hold = HoldObservation(order.hold) if order.hold else None
        self._striker = Striker(self._recorder, self._store, self._limits, surroundings.targets.values())
        spec = order.scenario.engine
        self._engine = None if spec is None else engine_for(spec, fill=self._launch.fill, directory=surroundings.work)
        self._disturbances = self._make_disturbances()
        self._gatekeeper = self._make_gatekeeper(copies_to)
        self._channel = Channel(
            surroundings.channel,
            life_of=self._gatekeeper.life_of,
            greeted=self._gatekeeper.greeted,
            announced=self._gatekeeper.announced,
        )
        self._completion = Completion(
            order,
            self._launch,
            self._recorder,
            self._store,
            client=self._client,
            engine=self._engine,
            household=surroundings.household,
        )
        self._lifetimes = Lifetimes(
            order,
            surroundings,
            launch=self._launch,
            gatekeeper=self._gatekeeper,
            channel=self._channel,
            recorder=self._recorder,
            store=self._store,
            clock=self._clock,
            completion=self._completion,
            client=self._client,
            hold=self._hold,
            disturbances=self._disturbances,
        )
        self._succession = Succession(
            order,
            surroundings,
            lifetimes=self._lifetimes,
            gatekeeper=self._gatekeeper,
            launch=self._launch,
            completion=self._completion,
            recorder=self._recorder,
            clock=self._clock,
            engine=self._engine,
            client=self._client,
            concluded=lambda: self._hold is not None and self._hold.concluded.is_set(),
            copy=self._copy,
        )

    async def run(self) -> History:
        """Run the cell and return its history.

        Raises:
            AckgapError: The worker cannot be started, or the cell not be prepared.
        """
        await self._prepare()
        await self._channel.open()
        door = StoreDoor(self._gatekeeper)
        if self._surroundings.household is not None:
            self._surroundings.household.announce_to(door)
        if self._surroundings.witness is not None:
            self._surroundings.witness.asked = self._gatekeeper.host_asked_for
        if self._surroundings.interceptor is not None:
            self._surroundings.interceptor.asked = self._gatekeeper.host_asked_for
            if unwatched := self._surroundings.interceptor.unwatched:
                self._recorder.record(Note, code="unseen", text=unwatched)
        try:
            self._gatekeeper.guests = lambda: containment.descendants(os.getpid())
            if self._copy is None:
                await self._launch.prepare()
            self._gatekeeper.guests = self._client.pids if self._client is not None else list
            await self._succession.run()
            if self._hold is None:
                await run_checks(self._order, self._launch, self._recorder, self._surroundings.scratch)
            if self._surroundings.household is not None:
                self._surroundings.household.check()
        finally:
            await self._clear_away()
            door.close()
            if self._surroundings.household is not None:
                self._surroundings.household.announce_to(None)
        return self._recorder.history()

    @property
    def modules(self) -> tuple[str, ...]:
        """Third-party modules that the worker had imported by the end of an undisturbed run."""
        return self._gatekeeper.modules

    @property
    def reading(self) -> Reading:
        """What the store of an undisturbed run said at each boundary, where somebody wanted to know."""
        return self._reader.reading if self._reader is not None else NOTHING_READ

    @property
    def copies(self) -> Copies:
        """What was copied at each point, in a run that was made for that."""
        copier = self._gatekeeper.copier
        return Copies(own_words=self._own_words) if copier is None else copier.copies

    @property
    def _earlier(self) -> tuple[Event, ...]:
        """What had happened where the cell begins."""
        return () if self._copy is None else self._copy.events

    @property
    def hold_outcome(self) -> str:
        """What the hold proof showed: `waits`, `goes_on`, or empty."""
        return self._hold.outcome if self._hold else ""

    # ------------------------------------------------------------- preparing

    def _begun_recorder(self, watch: Callable[[Event], None] | None, beginning: Beginning) -> HistoryRecorder:
        own_words = self._own_words if speaks_of_cell(self._order) else ""
        redactor = self._launch.redactor
        recorder = HistoryRecorder(watch, own_words=own_words, redactor=redactor, earlier=self._earlier)
        if beginning.why_none:
            recorder.record(Note, code="not_copied", text=f"killed, and not copied: {beginning.why_none}")
        return recorder

    def _make_disturbances(self) -> Disturbances:
        lent = self._surroundings
        network = None if lent.household is None else lent.household.network
        return Disturbances(self._order.scenario.toxics, network, self._recorder, lent.targets.values())

    def _make_gatekeeper(self, copies_to: Path | None) -> Gatekeeper:
        lent = self._surroundings
        gatekeeper = Gatekeeper(
            recorder=self._recorder,
            store=self._store,
            targets={address: lent.targets[name] for address, name in lent.by_address().items()},
            strike=self._striker.strike,
            strike_call=self._striker.strike_call,
            disturbances=self._disturbances,
            hold=self._hold,
        )
        if self._copy is not None:
            gatekeeper.told |= self._copy.told
        if copies_to is not None:
            gatekeeper.copier = self._copier(copies_to)
        return gatekeeper

    def _copier(self, directory: Path) -> Copier:
        return Copier(
            directory,
            own_words=self._own_words,
            work=self._surroundings.work,
            scratch=self._surroundings.scratch,
            recorder=self._recorder,
            store=self._store,
            limits=self._limits,
            targets=self._surroundings.targets,
            clock=self._clock,
        )

    async def _prepare(self) -> None:
        if self._surroundings.outside is not None:
            self._surroundings.outside.restore()
        if self._copy is None:
            workspace.fresh_copy(self._spec.directory, self._surroundings.work, limit_bytes=self._limits.copy_bytes)
            workspace.fresh_copy(None, self._surroundings.scratch, limit_bytes=0)
        else:
            self._copy.lay_out(self._surroundings.work, self._surroundings.scratch)
        if self._surroundings.household is not None:
            self._surroundings.household.renew(self._recorder)
        await self._launch.reset()
        begin_targets(
            self._order,
            self._surroundings,
            recorder=self._recorder,
            gate=self._gatekeeper,
            clock=self._clock,
            own_words=self._own_words,
            known=self._launch.redactor.forms,
            earlier=self._earlier,
        )

    async def _clear_away(self) -> None:
        if self._surroundings.witness is not None:
            self._surroundings.witness.asked = None
        if self._surroundings.interceptor is not None:
            self._surroundings.interceptor.asked = None
        if self._client is not None:
            await self._client.end()
        await self._succession.close()
        if self._engine is not None:
            await self._engine.close()
        await self._lifetimes.end_all()
        if self._surroundings.interceptor is not None:
            await self._surroundings.interceptor.close_cell()
        self._launch.allowance.close()
        await self._disturbances.close()
        await self._channel.close()


def _store_of(order: Order, surroundings: Surroundings, reader: StateReader | None) -> DurableStore:
    spec, household = order.scenario.worker, surroundings.household
    return DurableStore(
        surroundings.work,
        patterns=spec.store,
        outside=(*spec.external_state, *([surroundings.scratch] if order.whole_store else [])),
        whole=order.whole_store,
        beside=None if household is None else household.digest,
        has_unhooked=any(service.kind not in HOOKED_KINDS for service in order.scenario.services),
        reader=reader,
    )
