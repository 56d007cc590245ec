"""Temporal: asked over its own API. Seen with temporalio 1.35.0 and server 1.32.0.

The server learns only from time-outs that a worker is gone: of the worker's own queue for workflows it has in memory
(10 s by default), and of the activity that it had begun. Both are told to it right after a kill. An activity is not
failed on its last attempt: the workflow would then see another error than the time-out it is owed.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from ackgap.errors import EnvironmentLacks
from ackgap.execute.engines.engine import worst
from ackgap.model.engine import EngineState, EngineWord
from ackgap.scenario.engine import EngineSpec

if TYPE_CHECKING:
    from ackgap.execute.engines.temporal_api import TemporalApi

__all__ = ["Temporal", "check_temporal"]

_STATES = {
    "COMPLETED": EngineState.FINISHED,
    "CONTINUED_AS_NEW": EngineState.FINISHED,
    "FAILED": EngineState.FAILED,
    "CANCELED": EngineState.FAILED,
    "TERMINATED": EngineState.FAILED,
    "TIMED_OUT": EngineState.FAILED,
}


def check_temporal() -> None:
    """Refuse to start where the API is not to be had.

    Raises:
        EnvironmentLacks: Its client is not installed beside ackgap.
    """
    if importlib.util.find_spec("temporalio") is None:
        raise EnvironmentLacks(
            "Temporal cannot be asked about its workflows: `temporalio` is not installed for the Python that runs "
            "ackgap",
            where="engine.kind",
            next_step="pip install 'ackgap[temporal]', or leave out [engine]",
        )


class Temporal:
    """The server of one cell.

    Args:
        spec: What the scenario says.
        address: Its host and port.
    """

    name = "Temporal"
    shortens: tuple[str, ...] = (
        "Temporal is told right after a kill that the worker's own queue is nobody's; else it finds out by time-out",
        "Temporal is told right after a kill that an activity is lost, unless that was its last; else by time-out",
    )

    def __init__(self, spec: EngineSpec, address: str) -> None:
        self._spec = spec
        self._address = address
        self._known_api: TemporalApi | None = None

    async def told(self) -> EngineWord:
        """Return how far the workflow is."""
        try:
            return worst([await self._word(workflow) for workflow in await self._workflows()])
        except Exception as error:  # its client raises what its Rust core raises
            if _is_missing(error):
                return EngineWord(EngineState.ABSENT, f"knows of no workflow {self._spec.workflow}")
            return EngineWord(EngineState.UNKNOWN, f"cannot be asked: {error}")

    async def hurry(self) -> None:
        """Tell the server what has become of the worker."""
        try:
            api = await self._api()
            for workflow in await self._workflows():
                found = await api.describe(workflow)
                if api.status_of(found) == "RUNNING":
                    await api.release(found)
        except Exception:  # noqa: S110 - then it finds out by itself, as it would without us
            pass

    async def close(self) -> None:
        """The client goes with the last reference to it."""
        self._known_api = None

    async def _api(self) -> TemporalApi:
        from ackgap.execute.engines.temporal_api import TemporalApi

        if self._known_api is None:
            self._known_api = await TemporalApi.at(self._address, self._spec.namespace)
        return self._known_api

    async def _workflows(self) -> list[str]:
        if self._spec.workflow is not None:
            return [self._spec.workflow]
        return await (await self._api()).workflows()

    async def _word(self, workflow: str) -> EngineWord:
        api = await self._api()
        found = await api.describe(workflow)
        status = api.status_of(found)
        text = f"says that the workflow {workflow} is {status}"
        state = _STATES.get(status, EngineState.RUNNING)
        if state is EngineState.RUNNING:
            pending = [
                f"{activity.activity_type.name}, attempt {activity.attempt}" for activity in found.pending_activities
            ]
            if pending:
                text += f", with {'; '.join(pending)} not done"
            elif not found.HasField("pending_workflow_task") and not found.pending_children:
                return EngineWord(EngineState.WAITING, f"{text}, with nothing to do until a timer or a signal")
        return EngineWord(state, text)


def _is_missing(error: Exception) -> bool:
    status = getattr(error, "status", None)
    return getattr(status, "name", "") == "NOT_FOUND"
