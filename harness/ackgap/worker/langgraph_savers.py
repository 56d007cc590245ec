"""Durable writes of LangGraph: `put` and `put_writes` of whatever saver the user has, apart from each other."""

from __future__ import annotations

import inspect
import re

from . import langgraph_tasks
from .announcer import Announcer
from .names import word
from .replacement import around
from .wire import is_on_wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["hook_savers", "is_durable"]

_METHODS = ("put", "put_writes", "aput", "aput_writes")
_NULL_TASK = "00000000-0000-0000-0000-000000000000"
_SPECIAL = (("__interrupt__", ".interrupt"), ("__error__", ".error"), ("__resume__", ".resume"))
_ABOUT_THE_TASK = frozenset({"__interrupt__", "__error__", "__resume__", "__scheduled__", "__error_source_node__"})
_PULL = re.compile(r"~__pregel_pull, ([^,]+)")
_PUSH = re.compile(r"~__pregel_push, (\d+)")


def hook_savers(module: Any, announcer: Announcer) -> None:
    """Announce the writes of each class of saver, those that exist and those that will."""
    base = module.BaseCheckpointSaver
    own = vars(base).get("__init_subclass__")
    # By the names of the base class, which is how the engine calls a saver, whatever a saver calls its parameters.
    signatures = {name: inspect.signature(getattr(base, name)) for name in _METHODS}

    def init_subclass(cls: Any, /, **kwargs: Any) -> None:
        if own is None:
            super(base, cls).__init_subclass__(**kwargs)
        else:
            own.__get__(None, cls)(**kwargs)
        try:
            _hook_class(cls, announcer, signatures)
        except Exception as error:
            announcer.trouble(f"the saver {cls.__name__} could not be hooked", error)

    base.__init_subclass__ = classmethod(init_subclass)
    known = list(base.__subclasses__())
    for cls in known:
        known.extend(cls.__subclasses__())
        _hook_class(cls, announcer, signatures)


def is_durable(saver: Any) -> bool:
    """Whether what a saver writes outlives the process."""
    if any(cls.__module__ == "langgraph.checkpoint.memory" for cls in type(saver).__mro__):
        return False
    connection = getattr(saver, "conn", None)
    connection = getattr(connection, "_connection", connection)  # aiosqlite's around sqlite3's
    return getattr(connection, "_ackgap_path", None) != ""


def _hook_class(cls: Any, announcer: Announcer, signatures: Any) -> None:
    for name in _METHODS:
        function = vars(cls).get(name)
        if inspect.isfunction(function) and not hasattr(function, "_ackgap_original"):
            hook = _asynchronous if name.startswith("a") else _synchronous
            hooked = hook(function, lambda *given, name=name: _name(announcer, signatures[name], *given), announcer)
            hooked._ackgap_original = function
            setattr(cls, name, hooked)


def _is_silent(saver: Any, announcer: Announcer) -> bool:
    """Whether a write is announced by somebody else, or outlives nothing."""
    return announcer.is_inside_durable_write() or not is_durable(saver) or is_on_wire(getattr(saver, "conn", None))


def _synchronous(function: Any, name: Any, announcer: Announcer) -> Any:
    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_silent(self, announcer):
            return function(self, *args, **kwargs)
        with announcer.durable_write(name(self, args, kwargs)):
            return function(self, *args, **kwargs)

    return around(function, write)


def _asynchronous(function: Any, name: Any, announcer: Announcer) -> Any:
    async def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_silent(self, announcer):
            return await function(self, *args, **kwargs)
        async with announcer.durable_write(name(self, args, kwargs)):
            return await function(self, *args, **kwargs)

    return around(function, write)


def _name(announcer: Announcer, signature: Any, saver: Any, args: Any, kwargs: Any) -> str:
    method = "put" if "metadata" in signature.parameters else "put_writes"
    try:
        given = signature.bind(saver, *args, **kwargs).arguments
        namespace = _namespace(given["config"])
        return (_put(given["metadata"]) if method == "put" else _put_writes(given)) + namespace
    except Exception as error:
        announcer.trouble(f"a write of {type(saver).__name__} could not be named", error)
        return f"langgraph.{method}"


def _put(metadata: Any) -> str:
    source = metadata.get("source")
    if source == "loop":
        return f"langgraph.put.step{metadata.get('step')}"
    return f"langgraph.put.{word(source)}"


def _put_writes(given: Any) -> str:
    channels = [write[0] for write in given["writes"]]
    special = next((suffix for channel, suffix in _SPECIAL if channel in channels), "")
    task_id = str(given["task_id"])
    if task_id == _NULL_TASK:
        return "langgraph.put_writes.resume" if special == ".resume" else f"langgraph.put_writes.command{special}"
    if not all(channel in _ABOUT_THE_TASK for channel in channels):
        special = ""  # the result of a node, which repeats what it was resumed with
    node = langgraph_tasks.node_of(task_id) or _node(str(given.get("task_path", "")))
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
