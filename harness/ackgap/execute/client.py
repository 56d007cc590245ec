"""Client: the process outside of the worker that starts the work and waits for it. No fault strikes it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable

from ackgap.execute import containment
from ackgap.execute.launch import Launch
from ackgap.execute.plain_process import PlainProcess
from ackgap.execute.process import WorkerProcess
from ackgap.execute.resting import at_rest
from ackgap.execute.services.daemon import port_answers
from ackgap.execute.store import DurableStore
from ackgap.scenario.scenario import Scenario
from ackgap.scenario.services import ClientSpec, ReadyWhen

__all__ = ["Client"]

_POLL_S = 0.02
_LINGER_S = 0.2
_LONGER = 10


class Client:
    """Started once, beside the first life of the worker that is up; later lives find it waiting.

    Args:
        spec: What the scenario says.
        launch: Starts what the cell starts.
        scenario: Whose client it is.

    Attributes:
        grace_s: What the worker gets to end by itself once the work is done, in real seconds.
    """

    def __init__(self, spec: ClientSpec, launch: Launch, scenario: Scenario) -> None:
        self._spec = spec
        self.grace_s = spec.grace_s
        self._somebody_else_says = scenario.worker.finished_when is not None
        self._launch = launch
        self._process = PlainProcess(token="", output_bytes=scenario.limits.output_bytes, redactor=launch.redactor)
        self._started = False
        self._not_ready = ""

    @property
    def done(self) -> bool:
        """Whether it has exited with status 0, and nobody else is to be asked whether the work is finished."""
        return self._process.exited.is_set() and self._process.exit_code == 0 and not self._somebody_else_says

    @property
    def problem(self) -> str:
        """Why it will not bring the work to an end; empty as long as it may."""
        if not self._process.exited.is_set() or self._process.exit_code == 0:
            return self._not_ready
        code = self._process.exit_code
        return (
            f"the client ended with {f'exit status {code}' if code is not None else f'signal {self._process.signal}'}"
        )

    @property
    def output_tail(self) -> str:
        """The end of what it printed."""
        return self._process.output_tail

    def pids(self) -> list[int]:
        """Return its processes."""
        return [self._process.pid, *containment.descendants(self._process.pid)] if self._started else []

    async def see_through(
        self, worker: WorkerProcess, store: DurableStore, *, busy: Callable[[], bool], limit_s: float
    ) -> None:
        """Start it once the worker is up; return when it is done and the worker has gone quiet, or it cannot go on.

        Where it was done before this life began, the life still gets to do what it does of its own accord.

        Args:
            worker: The life beside it.
            store: That goes quiet in the end.
            busy: Whether a request of the life is on its way.
            limit_s: Real seconds after which a life that nobody waits for has had its chance.
        """
        if not self.done:
            await self._start_beside(worker)
            if self._started:
                await self._process.exited.wait()
        if self.done:
            await self._linger(worker, store, busy=busy, limit_s=limit_s)
        elif not self.problem:
            await asyncio.Event().wait()  # somebody else says when the work is finished, or the worker is gone

    async def _start_beside(self, worker: WorkerProcess) -> None:
        """Wait until the worker is up, and start if that has not been done beside an earlier life.

        Raises:
            ProbeFailed: The program cannot be started.
        """
        if self._started or not await self._sees_ready(worker):
            return
        self._started = True
        pid = self._process.start(
            self._launch.words(self._spec.command),
            directory=self._launch.directory,
            env=self._launch.environment_with(self._spec.env),
        )
        containment.spare_tree(pid)

    async def _sees_ready(self, worker: WorkerProcess) -> bool:
        """Wait until the worker is up; return whether that came about in time."""
        ready = self._spec.ready
        if ready is None:
            return True
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + ready.limit_s
        while not await self._is_ready(ready, worker):
            if worker.exited.is_set():
                return False
            if loop.time() > ends_s:
                self._not_ready = f"the worker was not up within {ready.limit_s:g} s, so the client was not started"
                return False
            await asyncio.sleep(_POLL_S)
        return True

    async def _linger(
        self, worker: WorkerProcess, store: DurableStore, *, busy: Callable[[], bool], limit_s: float
    ) -> None:
        loop = asyncio.get_running_loop()
        if await self._sees_ready(worker):
            # On a busy machine a worker may wait long for its turn: it is given longer while it has something to do.
            ends_s, at_last_s = loop.time() + limit_s, loop.time() + limit_s * _LONGER
            while loop.time() < at_last_s and not worker.exited.is_set():
                quiet, rests = await asyncio.gather(
                    store.quiet(for_s=_LINGER_S, limit_s=_LINGER_S * 2), at_rest(worker.pids, for_s=_LINGER_S)
                )
                if rests and ((quiet and not busy()) or loop.time() > ends_s):
                    return

    async def end(self) -> None:
        """Kill it, if it is still there."""
        if self._started:
            containment.kill_all(self.pids, limit_s=5, not_reaped_here=frozenset({self._process.pid}))
            await asyncio.wait_for(self._process.exited.wait(), 10)
            containment.unspare_tree(self._process.pid)

    async def _is_ready(self, ready: ReadyWhen, worker: WorkerProcess) -> bool:
        if ready.command is not None:
            return (await self._launch.run(ready.command, {}))[0] == 0
        if ready.log is not None:
            return re.search(ready.log, worker.output_tail, re.MULTILINE) is not None
        return port_answers(self._launch.worker_port)
