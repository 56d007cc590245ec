"""Durable writes that LangGraph hands to a background executor: known, and numbered, from when it asks for them.

With durability `async` a checkpoint is saved while the next node already runs. Which of the two comes first is a race;
the supervisor can order them once it knows what has been asked for.
"""

from __future__ import annotations

from . import langgraph_savers, langgraph_tasks
from .announcer import Announcer
from .replacement import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["hook_executors", "hook_loop"]

_SAVER_METHODS = frozenset({"put", "put_writes", "aput", "aput_writes"})
_LOOP_METHOD = "_checkpointer_put_after_previous"


def hook_executors(module: Any, announcer: Announcer) -> None:
    """Number the durable writes that are handed over."""
    for cls in (module.BackgroundExecutor, module.AsyncBackgroundExecutor):
        cls.submit = around(cls.submit, _submitting(cls.submit, announcer))


def hook_loop(module: Any, announcer: Announcer) -> None:
    """Learn which node each task runs, and check that the loop's names are those that are looked for."""
    loop = module.PregelLoop
    original = loop.put_writes

    def put_writes(self: Any, task_id: str, *args: Any, **kwargs: Any) -> Any:
        task = getattr(self, "tasks", {}).get(task_id)
        if task is not None:
            langgraph_tasks.remember(str(task_id), str(task.name))
        return original(self, task_id, *args, **kwargs)

    loop.put_writes = around(original, put_writes)
    for name in ("SyncPregelLoop", "AsyncPregelLoop"):
        if not hasattr(getattr(module, name, None), _LOOP_METHOD):
            announcer.trouble(
                f"langgraph's {name} has no {_LOOP_METHOD}: checkpoints in the background are not ordered"
            )


def _submitting(original: Any, announcer: Announcer) -> Any:
    def submit(self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_durable_write(function):
            return original(self, function, *args, **kwargs)
        return announcer.ask_for_write(lambda: original(self, function, *args, **kwargs))

    return submit


def _is_durable_write(function: Any) -> bool:
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    if name == _LOOP_METHOD:
        return langgraph_savers.is_durable(getattr(owner, "checkpointer", None))
    return name in _SAVER_METHODS and hasattr(type(owner), "put_writes") and langgraph_savers.is_durable(owner)
