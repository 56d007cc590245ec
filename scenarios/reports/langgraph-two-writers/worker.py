"""A partner review as a LangGraph graph; whoever is started carries on with the thread where its checkpoint says.

Settings, all from the environment:
    TICKETS_URL   base URL of the ticket system
    KEY       on: send an idempotency key with the ticket
    WRITERS   one: have the database refuse whoever writes from a checkpoint that another process has left behind
"""

import os
import sqlite3
from typing import TypedDict

import httpx
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

PARTNER_ID = "4471"
THREAD_ID = f"partner-{PARTNER_ID}"
CONFIG = {"configurable": {"thread_id": THREAD_ID}}

http = httpx.Client(timeout=60)


class Review(TypedDict, total=False):
    partner_id: str
    ticket_id: str
    summary: str


def file_ticket(state: Review) -> Review:
    ticket = {"partner_id": state["partner_id"], "kind": "partner-review", "title": "Partner review"}
    headers = {"Idempotency-Key": f"{THREAD_ID}:file_ticket"} if os.environ.get("KEY") == "on" else {}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=ticket, headers=headers)
    return {"ticket_id": answer.raise_for_status().json()["id"]}


def summarise(state: Review) -> Review:
    return {"summary": f"partner {state['partner_id']} has ticket {state['ticket_id']}"}


def build_graph(saver: SqliteSaver):
    graph = StateGraph(Review)
    graph.add_node("file_ticket", file_ticket)
    graph.add_node("summarise", summarise)
    graph.add_edge(START, "file_ticket")
    graph.add_edge("file_ticket", "summarise")
    graph.add_edge("summarise", END)
    return graph.compile(checkpointer=saver)


def refuse_stale_writers(saver: SqliteSaver) -> None:
    """Let the database refuse a checkpoint whose parent has a successor already: another process wrote that one."""
    saver.setup()
    saver.conn.execute(
        """
        CREATE TRIGGER IF NOT EXISTS one_successor BEFORE INSERT ON checkpoints WHEN EXISTS (
            SELECT 1 FROM checkpoints
            WHERE thread_id = NEW.thread_id AND checkpoint_ns = NEW.checkpoint_ns
            AND parent_checkpoint_id = NEW.parent_checkpoint_id AND checkpoint_id != NEW.checkpoint_id
        )
        BEGIN SELECT RAISE(ABORT, 'another process has carried on with this thread'); END
        """
    )


def main() -> None:
    with SqliteSaver.from_conn_string("reviews.db") as saver:
        if os.environ.get("WRITERS") == "one":
            refuse_stale_writers(saver)
        graph = build_graph(saver)
        begun = graph.get_state(CONFIG).created_at is not None
        try:
            state = graph.invoke(None if begun else {"partner_id": PARTNER_ID}, CONFIG, durability="sync")
        except sqlite3.IntegrityError as error:
            print(f"{THREAD_ID}: left alone, since {error}")
        else:
            print(f"{THREAD_ID}: {state['summary']}")


if __name__ == "__main__":
    main()
