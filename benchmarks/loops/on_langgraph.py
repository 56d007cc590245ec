"""LangGraph: a graph with one node that comes back to itself, and an entrypoint with a task for each step.

Checkpoints go where DATABASE_URL says, or into a file of SQLite.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any, Literal, TypedDict

from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph

from loops import Loop, numbers, work

Durability = Literal["exit", "async", "sync"]
DURABILITIES: tuple[Durability, ...] = ("exit", "async", "sync")


class Steps(TypedDict, total=False):
    """State of the graph."""

    number: int
    steps: int
    result: dict[str, Any]


def node(state: Steps) -> Steps:
    """Do one step."""
    return {"result": work(state["number"]), "number": state["number"] + 1}


@task
def step(number: int) -> dict[str, Any]:
    """Do one step."""
    return work(number)


def modes(ends: ExitStack) -> dict[str, Loop]:
    """Return the loops by mode."""
    saver = make_saver(ends)
    bare, kept, bare_tasks, kept_tasks = graph(None), graph(saver), functional(None), functional(saver)
    found: dict[str, Loop] = {
        "graph none": lambda steps: bare.invoke({"number": 0, "steps": steps}, config(steps)),
        "functional none": lambda steps: bare_tasks.invoke(steps, config(steps)),
    }
    for durability in DURABILITIES:
        found[f"graph {durability}"] = lambda steps, durability=durability: kept.invoke(  # type: ignore[misc]
            {"number": 0, "steps": steps}, config(steps), durability=durability
        )
        found[f"functional {durability}"] = lambda steps, durability=durability: kept_tasks.invoke(  # type: ignore[misc]
            steps, config(steps), durability=durability
        )
    return found


def graph(saver: Any) -> Any:
    """Return a graph that does as many steps as its input says."""
    builder = StateGraph(Steps)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_conditional_edges("node", lambda state: "node" if state["number"] < state["steps"] else END)
    return builder.compile(checkpointer=saver)


def functional(saver: Any) -> Any:
    """Return an entrypoint that does as many steps as its input says."""

    @entrypoint(checkpointer=saver)
    def many(steps: int) -> None:
        for number in range(steps):
            step(number).result()

    return many


def config(steps: int) -> Any:
    """Return what a new thread is called with."""
    return {"configurable": {"thread_id": str(next(numbers))}, "recursion_limit": steps + 10}


def make_saver(ends: ExitStack) -> Any:
    """Return where checkpoints go."""
    if url := os.environ.get("DATABASE_URL"):
        from langgraph.checkpoint.postgres import PostgresSaver

        saver = ends.enter_context(PostgresSaver.from_conn_string(url))
        saver.setup()
        return saver
    from langgraph.checkpoint.sqlite import SqliteSaver

    return ends.enter_context(SqliteSaver.from_conn_string("agent.db"))
