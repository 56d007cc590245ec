"""LangGraph's durable writes are announced by what they are, in the order in which the engine asked for them."""

import pytest

pytest.importorskip("langgraph.checkpoint.sqlite")

GRAPH = """
import asyncio, sys, time
from typing import TypedDict
import httpx
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

url = sys.argv[1]
config = {"configurable": {"thread_id": "1"}}

class State(TypedDict, total=False):
    found: str
    decision: str
    ticket: str

def search(state): return {"found": httpx.get(url + "/search").text}
def approve(state): return {"decision": interrupt("may I?")}
def file_ticket(state): return {"ticket": httpx.post(url + "/tickets").text}

def build(saver, nodes=(search, approve, file_ticket)):
    graph = StateGraph(State)
    for node in nodes:
        graph.add_node(node.__name__, node)
    for first, second in zip([START, *[n.__name__ for n in nodes]], [*[n.__name__ for n in nodes], END]):
        graph.add_edge(first, second)
    return graph.compile(checkpointer=saver)
"""

RUN = """
with SqliteSaver.from_conn_string("state.db") as saver:
    graph = build(saver)
    for durability in sys.argv[2:]:
        httpx.get(f"{url}/{durability}")
        config = {"configurable": {"thread_id": durability}}
        graph.invoke({}, config, durability=durability)
        print(graph.invoke(Command(resume="yes"), config, durability=durability)["decision"])
"""

ASYNC_RUN = """
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

async def search(state):
    async with httpx.AsyncClient() as client: return {"found": (await client.get(url + "/search")).text}
async def file_ticket(state):
    async with httpx.AsyncClient() as client: return {"ticket": (await client.post(url + "/tickets")).text}

async def main():
    async with AsyncSqliteSaver.from_conn_string("state.db") as saver:
        graph = build(saver, (search, approve, file_ticket))
        for durability in sys.argv[2:]:
            httpx.get(f"{url}/{durability}")
            config = {"configurable": {"thread_id": durability}}
            await graph.ainvoke({}, config, durability=durability)
            print((await graph.ainvoke(Command(resume="yes"), config, durability=durability))["decision"])

asyncio.run(main())
"""

SETUP = "sqlite.state.db.commit"
STEPWISE = [
    "langgraph.put.input",
    "langgraph.put_writes.__start__",
    "langgraph.put.step0",
    "langgraph.put_writes.search",
    "langgraph.put.step1",
    "langgraph.put_writes.approve.interrupt",
    "langgraph.put_writes.resume",
    "langgraph.put_writes.approve",
    "langgraph.put.step2",
    "langgraph.put_writes.file_ticket",
    "langgraph.put.step3",
]
AT_EXIT = [
    "langgraph.put.step1",
    "langgraph.put_writes.approve.interrupt",
    "langgraph.put.step3",
]


def names_of(reached, phase):
    return [one["name"] for one in reached if one["phase"] == phase and one["name"] != SETUP]


def parts(reached, *marks):
    """What was announced after the request for each of these marks, before the next."""
    starts = [
        next(place for place, one in enumerate(reached) if one.get("path") == f"/{mark}" and one["phase"] == "returned")
        for mark in marks
    ]
    return [reached[start:end] for start, end in zip(starts, [*starts[1:], len(reached)], strict=True)]


def assert_numbered_in_the_order_of_asking(reached):
    """A write in the background is pending from when it was asked for until it announces itself."""
    numbers = {}
    for one in reached:
        if one["phase"] == "committing":
            numbers[one["op"]] = one["name"]
        assert not set(numbers) & set(one["pending"])
    assert {number for one in reached for number in one["pending"]} <= set(numbers)
    assert [numbers[number] for number in sorted(numbers) if numbers[number] != SETUP] == STEPWISE


@pytest.mark.slow
@pytest.mark.parametrize("run", [RUN, ASYNC_RUN], ids=["threads", "coroutines"])
def test_each_write_is_announced_once_under_a_name_that_says_what_it_is(supervisor, service, run):
    modes = ("sync", "async", "exit")
    assert supervisor.run(GRAPH + run, service.url, *modes) == "yes\n" * 3
    for mode, reached in zip(modes, parts(supervisor.reached, *modes), strict=True):
        expected = AT_EXIT if mode == "exit" else STEPWISE
        committing, committed = names_of(reached, "committing"), names_of(reached, "committed")
        assert sorted(committing) == sorted(committed) == sorted(expected), mode
        assert not [one for one in reached if one["kind"] == "checkpoint" and one["blocks_loop"]]
        if mode == "async":
            assert_numbered_in_the_order_of_asking(reached)


@pytest.mark.slow
def test_what_waits_for_its_turn_behind_a_parked_write_is_pending(supervisor, service):
    supervisor.hold(lambda one: one.get("name") == "langgraph.put.input" and one["phase"] == "committing")
    worker = supervisor.start(GRAPH + RUN, service.url, "async")
    first = supervisor.wait_for_write("committing", "langgraph.put.input")
    # The next checkpoint waits for this one, so the next node's call comes before it.
    sending = supervisor.wait_for_call("sending", "/search")
    assert sending["pending"]
    assert min(sending["pending"]) > first["op"]
    supervisor.let_go()
    supervisor.finish(worker)
    step0 = next(one for one in supervisor.reached if one.get("name") == "langgraph.put.step0")
    assert step0["op"] in sending["pending"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "held", "other"),
    [
        (RUN, "langgraph.put.step1", "langgraph.put_writes.search"),
        (ASYNC_RUN, "langgraph.put_writes.search", "langgraph.put.step1"),
    ],
    ids=["threads", "coroutines"],
)
def test_one_write_can_be_held_while_another_lands(supervisor, service, run, held, other):
    supervisor.hold(lambda one: one.get("name") == held and one["phase"] == "committing")
    worker = supervisor.start(GRAPH + run, service.url, "async")
    supervisor.wait_for_write("committing", held)
    supervisor.wait_for_write("committed", other)
    supervisor.let_go()
    assert supervisor.finish(worker) == "yes\n"


@pytest.mark.slow
def test_a_checkpoint_held_in_async_mode_does_not_hold_the_next_node_and_in_sync_mode_it_does(supervisor, service):
    supervisor.hold(lambda one: one.get("name") == "langgraph.put.step2" and one["phase"] == "committing")
    worker = supervisor.start(GRAPH + RUN, service.url, "async")
    supervisor.wait_for_write("committing", "langgraph.put.step2")
    supervisor.wait_for_call("returned", "/tickets")
    supervisor.let_go()
    supervisor.finish(worker)

    supervisor.messages.clear()
    (supervisor.workspace / "state.db").unlink()
    supervisor.hold(lambda one: one.get("name") == "langgraph.put.step2" and one["phase"] == "committing")
    worker = supervisor.start(GRAPH + RUN, service.url, "sync")
    supervisor.wait_for_write("committed", "langgraph.put_writes.approve")
    supervisor.wait_for_write("committing", "langgraph.put.step2")
    assert "sending POST /tickets" not in supervisor.said()
    supervisor.let_go()
    supervisor.finish(worker)
    assert supervisor.said().index("committed langgraph.put.step2") < supervisor.said().index("sending POST /tickets")


@pytest.mark.slow
def test_savers_in_memory_do_not_announce_and_one_of_ones_own_does_once(supervisor, service):
    supervisor.run(
        GRAPH
        + """
import json, os, sqlite3
from langgraph.checkpoint.memory import InMemorySaver

class InMemory(InMemorySaver): pass

class Mine(SqliteSaver):
    def put(self, config, checkpoint, metadata, new_versions):
        with open("last.tmp", "w") as file:
            json.dump(checkpoint["id"], file)
        os.replace("last.tmp", "last.json")
        return super().put(config, checkpoint, metadata, new_versions)

class Wrapper(Mine):
    def put(self, *args, **kwargs): return super().put(*args, **kwargs)

def go(saver):
    build(saver, (search,)).invoke({}, {"configurable": {"thread_id": "1"}}, durability="async")

with sqlite3.connect(":memory:", check_same_thread=False) as connection:
    httpx.get(url + "/in-memory")
    go(InMemorySaver()); go(InMemory()); go(SqliteSaver(connection))
with Wrapper.from_conn_string("state.db") as saver:
    httpx.get(url + "/mine")
    go(saver)
""",
        service.url,
    )
    in_memory, mine = parts(supervisor.reached, "in-memory", "mine")
    assert not [one for one in in_memory if one["kind"] == "checkpoint" or one["pending"]]
    assert sorted(names_of(mine, "committed")) == sorted(
        [*STEPWISE[:3], "langgraph.put_writes.search", "langgraph.put.step1"]
    )


@pytest.mark.slow
def test_subgraphs_sent_tasks_functional_tasks_and_errors_have_names_without_ids(supervisor, service):
    supervisor.run(
        GRAPH
        + """
import operator
from typing import Annotated
from langgraph.func import entrypoint, task
from langgraph.types import Send

class Many(TypedDict, total=False):
    items: Annotated[list, operator.add]

def fan(state): return [Send("my worker", {}), Send("my worker", {})]
def fail(state): raise KeyError("x")

@task
def step(number): return number

def go(saver):
    inner = StateGraph(Many)
    inner.add_node("leaf", lambda state: {"items": ["x"]})
    inner.add_edge(START, "leaf")
    outer = StateGraph(Many)
    outer.add_node("nested", inner.compile(checkpointer=True))
    outer.add_node("my worker", lambda state: {"items": ["y"]})
    outer.add_edge(START, "nested")
    outer.add_conditional_edges("nested", fan, ["my worker"])
    graph = outer.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "1"}}
    graph.invoke({"items": []}, config, durability="sync")
    graph.update_state(config, {"items": ["z"]}, as_node="nested")

    @entrypoint(checkpointer=saver)
    def flow(number): return [step(number).result(), step(number + 1).result()]

    flow.invoke(1, {"configurable": {"thread_id": "2"}}, durability="sync")
    try:
        build(saver, (fail,)).invoke({}, {"configurable": {"thread_id": "3"}}, durability="sync")
    except KeyError:
        pass

for name in ("first", "second"):
    httpx.get(f"{url}/{name}")
    with SqliteSaver.from_conn_string(name + ".db") as saver:
        go(saver)
""",
        service.url,
    )
    first, second = (
        sorted(name for name in names_of(part, "committed") if name.startswith("langgraph"))
        for part in parts(supervisor.reached, "first", "second")
    )
    assert first == second
    assert {
        "langgraph.put_writes.leaf[nested]",
        "langgraph.put.step1[nested]",
        "langgraph.put_writes.my_worker",
        "langgraph.put_writes.nested",
        "langgraph.put.update",
        "langgraph.put_writes.step",
        "langgraph.put_writes.flow",
        "langgraph.put_writes.fail.error",
    } <= set(first), first
    assert first.count("langgraph.put_writes.my_worker") == 2
    assert not [name for name in first if len(name) > 60 or " " in name]
