"""A service that runs partner reviews in the background: a request is accepted at once, and a graph does the work.

Usage:
    python worker.py accept 4471    take the request, answer that it is accepted, and run it
    python worker.py recover        after a restart: carry on with every review that is not finished

Settings, all from the environment:
    TICKETS_URL, NOTIFY_URL   base URLs of the services
    DURABILITY   exit | sync: when LangGraph writes its checkpoints
    ADMISSION    on: write down what was accepted before the graph begins
"""

import os
import sqlite3
import sys
from typing import TypedDict

import httpx
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

DURABILITY = os.environ.get("DURABILITY", "exit")
ADMISSION = os.environ.get("ADMISSION") == "on"

http = httpx.Client(timeout=60)


class Review(TypedDict, total=False):
    partner_id: str
    ticket_id: str
    message_id: str


def file_ticket(state: Review) -> Review:
    ticket = {"partner_id": state["partner_id"], "kind": "partner-review", "title": "Partner review"}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=ticket)
    return {"ticket_id": answer.raise_for_status().json()["id"]}


def notify(state: Review) -> Review:
    message = {"to": "risk-desk", "text": f"The review of partner {state['partner_id']} is filed."}
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json=message)
    return {"message_id": answer.raise_for_status().json()["id"]}


def build_graph(saver: SqliteSaver):
    graph = StateGraph(Review)
    graph.add_node("file_ticket", file_ticket)
    graph.add_node("notify", notify)
    graph.add_edge(START, "file_ticket")
    graph.add_edge("file_ticket", "notify")
    graph.add_edge("notify", END)
    return graph.compile(checkpointer=saver)


def open_admissions() -> sqlite3.Connection:
    admissions = sqlite3.connect("admissions.db")
    admissions.execute("CREATE TABLE IF NOT EXISTS accepted (partner_id TEXT PRIMARY KEY)")
    admissions.commit()
    return admissions


def thread(partner_id: str) -> dict:
    return {"configurable": {"thread_id": f"partner-{partner_id}"}}


def accept(graph, partner_id: str) -> None:
    if ADMISSION:
        with open_admissions() as admissions:
            admissions.execute("INSERT INTO accepted VALUES (?)", (partner_id,))
    print(f"202 accepted: the review of partner {partner_id} is on its way", flush=True)
    graph.invoke({"partner_id": partner_id}, thread(partner_id), durability=DURABILITY)


def recover(graph, saver: SqliteSaver) -> None:
    threads = {found.config["configurable"]["thread_id"] for found in saver.list(None)}
    for thread_id in sorted(threads):
        graph.invoke(None, {"configurable": {"thread_id": thread_id}}, durability=DURABILITY)
        print(f"{thread_id}: carried on")
    accepted = [partner_id for (partner_id,) in open_admissions().execute("SELECT partner_id FROM accepted")]
    for partner_id in accepted:
        if thread(partner_id)["configurable"]["thread_id"] not in threads:
            graph.invoke({"partner_id": partner_id}, thread(partner_id), durability=DURABILITY)
            print(f"partner {partner_id}: accepted, never begun, begun now")
    if not threads and not accepted:
        print("nothing to recover")


def main() -> None:
    with SqliteSaver.from_conn_string("reviews.db") as saver:
        graph = build_graph(saver)
        if sys.argv[1] == "accept":
            accept(graph, sys.argv[2])
        else:
            recover(graph, saver)


if __name__ == "__main__":
    main()
