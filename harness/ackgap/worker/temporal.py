"""What a Temporal worker reports to its server, by what it is: an activity's completion, and the end of a workflow.

The server writes its histories, so it is the report that makes something recorded: once `temporal.activity.<type>` is
committed, the activity will not be run again. A local activity reports nothing of its own; it is recorded with the
workflow's task. Seen with temporalio 1.35.0.
"""

from __future__ import annotations

from contextvars import ContextVar

from .announcer import Announcer
from .names import word
from .replacement import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Awaitable, Callable

__all__ = ["hook_activities", "hook_bridge"]

_activity: ContextVar[str] = ContextVar("ackgap_temporal_activity", default="")
_ENDS = {
    "complete_workflow_execution": "completed",
    "fail_workflow_execution": "failed",
    "cancel_workflow_execution": "cancelled",
    "continue_as_new_workflow_execution": "continued",
}


def hook_activities(module: Any, announcer: Announcer) -> None:
    """Take note of which activity a task of the event loop is about."""
    worker = module._ActivityWorker
    original = getattr(worker, "_handle_start_activity_task", None)
    if original is None:
        announcer.trouble("temporalio has no _ActivityWorker._handle_start_activity_task: activities have no names")
        return

    async def handle(self: Any, task_token: Any, start: Any, *args: Any, **kwargs: Any) -> Any:
        _activity.set("" if start.is_local else str(start.activity_type))  # a task of its own, with its own context
        return await original(self, task_token, start, *args, **kwargs)

    worker._handle_start_activity_task = around(original, handle)


def hook_bridge(module: Any, announcer: Announcer) -> None:
    """Announce reports to the server."""
    for method, naming in (("complete_activity_task", _completion), ("complete_workflow_activation", _end)):
        original = getattr(module.Worker, method, None)
        if original is None:
            announcer.trouble(f"temporalio has no Worker.{method}: what it reports is not seen")
        else:
            setattr(module.Worker, method, _announced(original, naming, announcer))


def _announced(
    original: Callable[..., Awaitable[Any]], naming: Callable[[Any], str], announcer: Announcer
) -> Callable[..., Awaitable[Any]]:
    async def report(self: Any, comp: Any) -> Any:
        try:
            name = naming(comp)
        except Exception as error:
            announcer.trouble("a report to Temporal could not be named", error)
            name = ""
        if not name:
            return await original(self, comp)
        async with announcer.durable_write(name):
            return await original(self, comp)

    result: Callable[..., Awaitable[Any]] = around(original, report)
    return result


def _completion(comp: Any) -> str:
    name = _activity.get()
    if not name or comp.result.WhichOneof("status") == "will_complete_async":
        return ""
    return f"temporal.activity.{word(name)}"


def _end(comp: Any) -> str:
    if comp.WhichOneof("status") != "successful":
        return ""
    for command in comp.successful.commands:
        end = _ENDS.get(command.WhichOneof("variant") or "")
        if end is not None:
            return f"temporal.workflow.{end}"
    return ""
