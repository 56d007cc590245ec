"""A graph whose node files one ticket after the other, and comes back to itself until all are filed."""

import json
import os
import sqlite3
import urllib.request
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

STEPS = int(os.environ.get("STEPS", "12"))


class State(TypedDict, total=False):
    number: int


def file_ticket(state: State) -> State:
    number = state.get("number", 0)
    body = json.dumps({"partner_id": str(number), "kind": "review", "title": f"Review {number}"}).encode()
    headers = {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", body, headers)).read()
    return {"number": number + 1}


builder = StateGraph(State)
builder.add_node("file_ticket", file_ticket)
builder.add_edge(START, "file_ticket")
builder.add_conditional_edges("file_ticket", lambda state: "file_ticket" if state["number"] < STEPS else END)
graph = builder.compile(checkpointer=SqliteSaver(sqlite3.connect("agent.db", check_same_thread=False)))
config = {"configurable": {"thread_id": "reviews"}, "recursion_limit": STEPS + 10}
begun = graph.get_state(config).created_at is not None
graph.invoke(None if begun else {"number": 0}, config, durability="sync")
