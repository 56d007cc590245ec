"""A review in a subgraph: a task files the ticket, a person is asked, and the risk desk is told.

Settings, all from the environment:
    TICKETS_URL, APPROVALS_URL, NOTIFY_URL   base URLs of the services
    GRAPH   nested | alone: the review as a node of an outer graph, or by itself
"""

import os
from typing import TypedDict

import httpx
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

PARTNER_ID = "4471"
THREAD_ID = f"partner-{PARTNER_ID}"
CONFIG = {"configurable": {"thread_id": THREAD_ID}}

http = httpx.Client(timeout=60)


class Review(TypedDict, total=False):
    partner_id: str
    ticket_id: str
    decision: str


@task
def file_ticket(partner_id: str) -> str:
    ticket = {"partner_id": partner_id, "kind": "partner-review", "title": "Partner review"}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=ticket)
    return answer.raise_for_status().json()["id"]


def review(state: Review) -> Review:
    ticket_id = file_ticket(state["partner_id"]).result()
    return {"ticket_id": ticket_id, "decision": interrupt(f"May the risk desk see the ticket of {THREAD_ID}?")}


def notify(state: Review) -> Review:
    message = {"to": "risk-desk", "text": f"The review of partner {state['partner_id']} is {state['decision']}."}
    http.post(os.environ["NOTIFY_URL"] + "/messages", json=message).raise_for_status()
    return {}


def build_graph(saver: SqliteSaver):
    inner = StateGraph(Review)
    inner.add_node("review", review)
    inner.add_node("notify", notify)
    inner.add_edge(START, "review")
    inner.add_edge("review", "notify")
    inner.add_edge("notify", END)
    if os.environ.get("GRAPH") == "alone":
        return inner.compile(checkpointer=saver)
    outer = StateGraph(Review)
    outer.add_node("partner_review", inner.compile())
    outer.add_edge(START, "partner_review")
    outer.add_edge("partner_review", END)
    return outer.compile(checkpointer=saver)


def ask_human(text: str) -> str:
    answer = http.post(os.environ["APPROVALS_URL"] + "/approvals", json={"case_id": THREAD_ID, "text": text})
    return answer.raise_for_status().json()["decision"]


def main() -> None:
    with SqliteSaver.from_conn_string("reviews.db") as saver:
        graph = build_graph(saver)
        begun = graph.get_state(CONFIG).created_at is not None
        step = None if begun else {"partner_id": PARTNER_ID}
        while True:
            state = graph.invoke(step, CONFIG, durability="sync")
            if "__interrupt__" not in state:
                break
            step = Command(resume=ask_human(state["__interrupt__"][0].value))
        print(f"{THREAD_ID}: {state['decision']}, ticket {state['ticket_id']}")


if __name__ == "__main__":
    main()
