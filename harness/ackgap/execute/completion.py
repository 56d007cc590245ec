"""Completion: whether the work of a cell is through, as the user tells, the client, the worker's end, and the engine.

Where a scenario names its engine, that is asked as well: a worker that ends well has not finished what its engine still
holds, and a life that goes on is not waited for once its engine has said for long enough that nothing will come of it.
"""

from __future__ import annotations

import asyncio
import shlex

from ackgap.execute.client import Client
from ackgap.execute.engines.engine import Engine
from ackgap.execute.launch import Launch
from ackgap.execute.life import Life
from ackgap.execute.order import Order
from ackgap.execute.reasons import give_up
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.services.household import Household
from ackgap.execute.store import DurableStore
from ackgap.model.engine import EngineState, EngineWord
from ackgap.model.event import EngineReported, InDoubtSurfaced, Note, WorkFinished

__all__ = ["Completion"]

_HOPELESS = (EngineState.FAILED, EngineState.UNOWNED)
_ASKED_AT_LEAST_S = 1.0
"""However long ago the engine was asked last, no more than that counts as time in which nothing went on."""


class Completion:
    """Says of one cell whether its work is finished, and why it never will be.

    Args:
        order: Which cell.
        launch: Runs the user's commands.
        recorder: Keeps the history.
        store: The durable store.
        client: What waits for the work outside of the worker, where something does.
        engine: What the worker is built on, where the scenario says so.
        household: Services beside the cell.
    """

    def __init__(
        self,
        order: Order,
        launch: Launch,
        recorder: HistoryRecorder,
        store: DurableStore,
        *,
        client: Client | None,
        engine: Engine | None,
        household: Household | None,
    ) -> None:
        self._order = order
        self._spec = order.scenario.worker
        self._engine_spec = order.scenario.engine
        self._launch = launch
        self._recorder = recorder
        self._store = store
        self._client = client
        self._engine = engine
        self._household = household
        self._word = EngineWord(EngineState.UNKNOWN, "")
        self._hopeless: tuple[EngineWord, str] | None = None
        self._hopeless_s = self._asked_s = 0.0
        said = any(event.code == "shortened" for event in recorder.history().of(Note))
        if engine is not None and order.scenario.hurries and not said:
            for text in engine.shortens:
                recorder.record(Note, code="shortened", text=text)

    @property
    def has_to_be_asked(self) -> bool:
        """Whether somebody has to be asked while a life goes on."""
        return self._spec.finished_when is not None or self._engine is not None

    @property
    def asks_engine(self) -> bool:
        """Whether the engine is asked about the work."""
        return self._engine is not None

    async def user_says(self) -> bool:
        """Whether the user's own command says that the work is finished; False where there is none."""
        if self._spec.finished_when is None:
            return False
        code, _ = await self._launch.run(self._spec.finished_when, {})
        return code == 0

    async def engine_ends(self, life: Life, *, busy: bool, left_to_worker: bool) -> bool:
        """Ask the engine about a life that goes on; return whether nothing more is to be waited for.

        Args:
            life: That goes on.
            busy: Whether something of it is under way.
            left_to_worker: Nobody else waits for the work, so that it is the worker that ends the life.
        """
        if self._engine is None or self._engine_spec is None:
            return False
        word, now_s = await self._engine.told(), asyncio.get_running_loop().time()
        if word.state is EngineState.FINISHED:
            return not busy and (self._engine_spec.server or not left_to_worker)
        hopeless = (word, self._store.digest()) if word.state in _HOPELESS and not busy else None
        if hopeless is None or hopeless != self._hopeless:
            self._hopeless, self._hopeless_s, self._asked_s = hopeless, 0.0, now_s
            return False
        # Time in which it is kept from its work, or in which nobody asked, is no sign that it does none.
        if not life.patience.busy():
            self._hopeless_s += min(now_s - self._asked_s, _ASKED_AT_LEAST_S)
        self._asked_s = now_s
        life.hopeless = self._hopeless_s >= self._engine_spec.patience_s
        return life.hopeless

    async def finished(self, life: Life, *, clean: bool) -> bool:
        """Write down how a life that is over left the work, and return whether that is finished, or in doubt.

        Args:
            life: That is over.
            clean: It ended by itself and well, and left nothing behind.
        """
        self._hopeless = None
        if self._engine is not None:
            self._word = await self._engine.told()
            self._recorder.record(
                EngineReported,
                incarnation=life.incarnation,
                engine=self._engine.name,
                state=str(self._word.state),
                text=self._word.text,
            )
        if life.process.in_doubt_text is not None and not life.struck_dead:
            self._recorder.record(InDoubtSurfaced, incarnation=life.incarnation, text=life.process.in_doubt_text)
            return True
        if self._spec.finished_when is not None:
            told, how = await self.user_says(), f"`{shlex.join(self._spec.finished_when)}` says so"
        elif self._client is not None:
            told, how = self._client.done and not life.struck_dead, "the client exited with status 0"
        elif self._engine_spec is not None and self._engine_spec.server:
            told, how = self._word.state is EngineState.FINISHED and not life.struck_dead, ""
        else:
            told, how = clean, "the worker exited with status 0"
        if not told or not self._engine_agrees:
            return False
        if self._engine is not None and self._word.state is EngineState.FINISHED:
            how = f"{how}; {self._engine.name} {self._word.text}".removeprefix("; ")
        self._recorder.record(WorkFinished, incarnation=life.incarnation, how=how)
        return True

    def give_up(self, life: Life, *, lives: int, left_running: str) -> None:
        """Write down that the work will not be finished, and why.

        Args:
            life: The last.
            lives: How many there were.
            left_running: Processes that a command had left behind when its time was over.
        """
        give_up(
            self._recorder,
            life,
            lives=lives,
            life_s=self._order.scenario.limits.life_s,
            left_running=left_running,
            client=self._client,
            household=self._household,
            engine="" if self._engine is None else self._engine.name,
            word=self._word,
        )

    @property
    def _engine_agrees(self) -> bool:
        """Whether the engine has nothing against taking the work for finished."""
        if self._engine is None:
            return True
        return self._word.state in (EngineState.FINISHED, EngineState.ABSENT, EngineState.UNKNOWN)
