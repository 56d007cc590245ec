"""The few calls of Temporal's API that are needed, by its own client; imported only where a scenario asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import PendingActivityState, WorkflowExecutionStatus
from temporalio.api.failure.v1 import ApplicationFailureInfo, Failure
from temporalio.api.workflowservice import v1
from temporalio.client import Client

__all__ = ["TemporalApi"]

_LIMIT_S = 2.0
_MOST_WORKFLOWS = 20
_KILLED = Failure(
    message="the worker was killed",
    source="ackgap",
    application_failure_info=ApplicationFailureInfo(type="WorkerKilled"),
)

Request = TypeVar("Request")
Answer = TypeVar("Answer")


class TemporalApi:
    """A server, and one namespace of it.

    Args:
        client: Connected, or about to be at the first call.
    """

    def __init__(self, client: Client) -> None:
        self._service = client.workflow_service
        self._namespace = client.namespace

    @classmethod
    async def at(cls, address: str, namespace: str) -> TemporalApi:
        """Return the API at an address; nothing is sent yet."""
        return cls(await Client.connect(address, namespace=namespace, lazy=True))

    async def workflows(self) -> list[str]:
        """Return the ids of workflows that there are."""
        asked = v1.ListWorkflowExecutionsRequest(namespace=self._namespace, page_size=_MOST_WORKFLOWS)
        found = await _within(self._service.list_workflow_executions, asked)
        return [entry.execution.workflow_id for entry in found.executions]

    async def describe(self, workflow: str) -> Any:
        """Return what the server knows of a workflow."""
        execution = WorkflowExecution(workflow_id=workflow)
        asked = v1.DescribeWorkflowExecutionRequest(namespace=self._namespace, execution=execution)
        return await _within(self._service.describe_workflow_execution, asked)

    @staticmethod
    def status_of(found: Any) -> str:
        """Return the status of a workflow that was described: `RUNNING`, `COMPLETED`, ..."""
        return WorkflowExecutionStatus.Name(found.workflow_execution_info.status).rpartition("STATUS_")[2]

    async def release(self, found: Any) -> None:
        """Say of a running workflow that was described that the worker which had it is gone.

        An activity on its last attempt is left alone.
        """
        execution = found.workflow_execution_info.execution
        asked = v1.ResetStickyTaskQueueRequest(namespace=self._namespace, execution=execution)
        await _within(self._service.reset_sticky_task_queue, asked)
        for activity in found.pending_activities:
            last = activity.maximum_attempts and activity.attempt >= activity.maximum_attempts
            if activity.state == PendingActivityState.PENDING_ACTIVITY_STATE_STARTED and not last:
                failed = v1.RespondActivityTaskFailedByIdRequest(
                    namespace=self._namespace,
                    workflow_id=execution.workflow_id,
                    run_id=execution.run_id,
                    activity_id=activity.activity_id,
                    failure=_KILLED,
                    identity="ackgap",
                )
                await _within(self._service.respond_activity_task_failed_by_id, failed)


async def _within(call: Callable[[Request], Awaitable[Answer]], request: Request) -> Answer:
    return await asyncio.wait_for(call(request), _LIMIT_S)
