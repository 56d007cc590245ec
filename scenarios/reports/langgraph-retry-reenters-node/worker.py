"""File a partner review and tell the risk desk, with LangGraph's retry policy on whatever may fail for a moment.

Settings, all from the environment:
    TICKETS_URL, NOTIFY_URL   base URLs of the services
    NODES   one | two: both calls in one node, or each in a node of its own
    KEY     on: send an idempotency key with the ticket
"""

import os
from typing import TypedDict

import httpx
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy

PARTNER_ID = "4471"
THREAD_ID = f"partner-{PARTNER_ID}"
CONFIG = {"configurable": {"thread_id": THREAD_ID}}

http = httpx.Client(timeout=60)


class Review(TypedDict, total=False):
    partner_id: str
    ticket_id: str
    message_id: str


def file_ticket(state: Review) -> Review:
    ticket = {"partner_id": state["partner_id"], "kind": "partner-review", "title": "Partner review"}
    headers = {"Idempotency-Key": f"{THREAD_ID}:file_ticket"} if os.environ.get("KEY") == "on" else {}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=ticket, headers=headers)
    return {"ticket_id": answer.raise_for_status().json()["id"]}


def notify(state: Review) -> Review:
    message = {"to": "risk-desk", "text": f"The review of partner {state['partner_id']} is filed."}
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json=message)
    return {"message_id": answer.raise_for_status().json()["id"]}


def file_and_notify(state: Review) -> Review:
    filed = file_ticket(state)
    return {**filed, **notify({**state, **filed})}


def build_graph(saver: SqliteSaver):
    retry = RetryPolicy(max_attempts=3, initial_interval=0.1, jitter=False)
    graph = StateGraph(Review)
    if os.environ.get("NODES", "one") == "one":
        graph.add_node("file_and_notify", file_and_notify, retry_policy=retry)
        graph.add_edge(START, "file_and_notify")
        graph.add_edge("file_and_notify", END)
    else:
        graph.add_node("file_ticket", file_ticket, retry_policy=retry)
        graph.add_node("notify", notify, retry_policy=retry)
        graph.add_edge(START, "file_ticket")
        graph.add_edge("file_ticket", "notify")
        graph.add_edge("notify", END)
    return graph.compile(checkpointer=saver)


def main() -> None:
    with SqliteSaver.from_conn_string("reviews.db") as saver:
        graph = build_graph(saver)
        begun = graph.get_state(CONFIG).created_at is not None
        state = graph.invoke(None if begun else {"partner_id": PARTNER_ID}, CONFIG, durability="sync")
        print(f"{THREAD_ID}: ticket {state['ticket_id']}, message {state['message_id']}")


if __name__ == "__main__":
    main()
