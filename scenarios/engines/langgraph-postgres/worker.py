"""Partner review as a LangGraph graph on PostgreSQL: ask a model for the words, file a ticket, tell the desk.

Settings, all from the environment:
    DATABASE_URL   PostgreSQL, for the checkpoints
    MODEL_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    DURABILITY   exit | async | sync: when LangGraph writes what is done
    KEY          none | stable: the idempotency key sent along with a write
"""

import json
import os
from typing import TypedDict

import httpx
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import START, StateGraph

PARTNER_ID = "4471"
THREAD_ID = f"partner-{PARTNER_ID}"
CONFIG = {"configurable": {"thread_id": THREAD_ID}}

CREATE_TICKET = {
    "type": "function",
    "function": {
        "name": "create_ticket",
        "description": "File a partner review in the case-management system.",
        "parameters": {
            "type": "object",
            "properties": {"title": {"type": "string"}, "summary": {"type": "string"}},
            "required": ["title", "summary"],
        },
    },
}

http = httpx.Client(timeout=60)


class Review(TypedDict, total=False):
    partner_id: str
    words: dict
    ticket: str
    message: str


def headers(step: str) -> dict:
    return {"Idempotency-Key": f"{THREAD_ID}:{step}"} if os.environ.get("KEY") == "stable" else {}


def write_words(state: Review) -> Review:
    answer = http.post(
        os.environ["MODEL_URL"] + "/v1/chat/completions",
        json={
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": f"File the review of partner {state['partner_id']} as a ticket."}],
            "tools": [CREATE_TICKET],
            "tool_choice": {"type": "function", "function": {"name": "create_ticket"}},
        },
    )
    message = answer.raise_for_status().json()["choices"][0]["message"]
    return {"words": json.loads(message["tool_calls"][0]["function"]["arguments"])}


def file_ticket(state: Review) -> Review:
    body = {"partner_id": state["partner_id"], "kind": "partner-review", **state["words"]}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers("file_ticket"))
    if answer.status_code == 422:  # the key was used for other words: an earlier attempt has filed this ticket
        wanted = {"partner_id": state["partner_id"], "kind": "partner-review", "status": "open"}
        answer = http.get(os.environ["TICKETS_URL"] + "/tickets", params=wanted)
        return {"ticket": answer.raise_for_status().json()["items"][0]["id"]}
    return {"ticket": answer.raise_for_status().json()["id"]}


def notify(state: Review) -> Review:
    message = {"to": "risk-desk", "text": f"The review of partner {state['partner_id']} is filed."}
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json=message, headers=headers("notify"))
    return {"message": answer.raise_for_status().json()["id"]}


def main() -> None:
    builder = StateGraph(Review)
    builder.add_sequence([write_words, file_ticket, notify])
    builder.add_edge(START, "write_words")
    with PostgresSaver.from_conn_string(os.environ["DATABASE_URL"]) as saver:
        saver.setup()
        review = builder.compile(checkpointer=saver)
        begun = review.get_state(CONFIG).created_at is not None
        given = None if begun else {"partner_id": PARTNER_ID}
        done = review.invoke(given, CONFIG, durability=os.environ.get("DURABILITY", "async"))
        print(f"{THREAD_ID}: ticket {done['ticket']}")


if __name__ == "__main__":
    main()
