"""Durable writes of LangGraph: `put` and `put_writes` of whatever saver the user has, apart from each other."""

from __future__ import annotations

import inspect
import re
from typing import Any

from . import langgraph_tasks
from .announcer import Announcer
from .names import word
from .replacement import around

__all__ = ["hook_savers", "is_durable"]

_METHODS = ("put", "put_writes", "aput", "aput_writes")
_NULL_TASK = "00000000-0000-0000-0000-000000000000"
_SPECIAL = (("__interrupt__", ".interrupt"), ("__error__", ".error"), ("__resume__", ".resume"))
_PULL = re.compile(r"~__pregel_pull, ([^,]+)")
_PUSH = re.compile(r"~__pregel_push, (\d+)")


def hook_savers(module: Any, announcer: Announcer) -> None:
    """Announce the writes of each class of saver, those that exist and those that will."""
    base = module.BaseCheckpointSaver
    original = base.__init_subclass__

    def init_subclass(cls: Any, /, **kwargs: Any) -> None:
        original.__func__(cls, **kwargs)
        _hook_class(cls, announcer)

    base.__init_subclass__ = classmethod(init_subclass)
    known = list(base.__subclasses__())
    for cls in known:
        known.extend(cls.__subclasses__())
        _hook_class(cls, announcer)


def is_durable(saver: Any) -> bool:
    """Whether what a saver writes outlives the process."""
    if any(cls.__module__ == "langgraph.checkpoint.memory" for cls in type(saver).__mro__):
        return False
    connection = getattr(saver, "conn", None)
    connection = getattr(connection, "_connection", connection)  # aiosqlite's around sqlite3's
    return getattr(connection, "_ackgap_path", None) != ""


def _hook_class(cls: Any, announcer: Announcer) -> None:
    for name in _METHODS:
        function = vars(cls).get(name)
        if inspect.isfunction(function) and not hasattr(function, "_ackgap_original"):
            hook = _asynchronous if name.startswith("a") else _synchronous
            hooked = hook(function, name.lstrip("a"), announcer)
            hooked._ackgap_original = function
            setattr(cls, name, hooked)


def _synchronous(function: Any, method: str, announcer: Announcer) -> Any:
    signature = inspect.signature(function)

    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        if announcer.is_inside_durable_write() or not is_durable(self):
            return function(self, *args, **kwargs)
        with announcer.durable_write(_name(announcer, method, signature, self, args, kwargs)):
            return function(self, *args, **kwargs)

    return around(function, write)


def _asynchronous(function: Any, method: str, announcer: Announcer) -> Any:
    signature = inspect.signature(function)

    async def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        if announcer.is_inside_durable_write() or not is_durable(self):
            return await function(self, *args, **kwargs)
        async with announcer.durable_write(_name(announcer, method, signature, self, args, kwargs)):
            return await function(self, *args, **kwargs)

    return around(function, write)


def _name(announcer: Announcer, method: str, signature: Any, saver: Any, args: Any, kwargs: Any) -> str:
    try:
        given = signature.bind(saver, *args, **kwargs).arguments
        values = [*given.values()][1:]  # by position: savers of one's own name their parameters as they like
        namespace = _namespace(values[0])
        return _put(values[2]) + namespace if method == "put" else _put_writes(given, values) + namespace
    except Exception as error:
        announcer.trouble(f"a write of {type(saver).__name__} could not be named", error)
        return f"langgraph.{method}"


def _put(metadata: Any) -> str:
    source = metadata.get("source")
    if source == "loop":
        return f"langgraph.put.step{metadata.get('step')}"
    return f"langgraph.put.{word(source)}"


def _put_writes(given: Any, values: list[Any]) -> str:
    channels = [write[0] for write in values[1]]
    special = next((suffix for channel, suffix in _SPECIAL if channel in channels), "")
    task_id = str(values[2])
    if task_id == _NULL_TASK:
        return "langgraph.put_writes.resume" if special == ".resume" else f"langgraph.put_writes.command{special}"
    node = langgraph_tasks.node_of(task_id) or _node(str(given.get("task_path", values[3] if len(values) > 3 else "")))
    return f"langgraph.put_writes.{word(node)}{special}"


def _node(task_path: str) -> str:
    """Return the node that a task's path names, or where it was pushed from."""
    pull, push = _PULL.search(task_path), _PUSH.search(task_path)
    if pull is not None:
        return pull[1]
    return f"push{int(push[1])}" if push is not None else "update"


def _namespace(config: Any) -> str:
    """Return `[outer|inner]` for a subgraph's writes: nodes without the ids of their tasks."""
    text = config["configurable"].get("checkpoint_ns") or ""
    parts = [part.partition(":")[0] for part in str(text).split("|")]
    nodes = [word(part) for part in parts if part and not part.isdigit()]
    return f"[{'|'.join(nodes)}]" if nodes else ""
