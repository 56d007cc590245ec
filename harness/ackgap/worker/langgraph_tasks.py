"""Which node a task of LangGraph's runs: a task that a node sent off carries no name in what a saver is given."""

from __future__ import annotations

__all__ = ["node_of", "remember"]

_LIMIT = 8192

_nodes: dict[str, str] = {}


def remember(task_id: str, node: str) -> None:
    """Take note of the node that a task runs."""
    while len(_nodes) >= _LIMIT:
        _nodes.pop(next(iter(_nodes)), None)
    _nodes[task_id] = node


def node_of(task_id: str) -> str:
    """Return the node that a task runs, empty if that is not known."""
    return _nodes.get(task_id, "")
