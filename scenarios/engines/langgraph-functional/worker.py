"""Partner review with LangGraph's functional API: ask a model for the words, file a ticket, tell the desk; each a task.

Settings, all from the environment:
    MODEL_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    DURABILITY   exit | async | sync: when LangGraph writes what is done
    KEY          none | stable: the idempotency key sent along with a write
"""

import json
import os

import httpx
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint, task

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


def headers(step: str) -> dict:
    return {"Idempotency-Key": f"{THREAD_ID}:{step}"} if os.environ.get("KEY") == "stable" else {}


@task
def write_words(partner_id: str) -> dict:
    answer = http.post(
        os.environ["MODEL_URL"] + "/v1/chat/completions",
        json={
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": f"File the review of partner {partner_id} as a ticket."}],
            "tools": [CREATE_TICKET],
            "tool_choice": {"type": "function", "function": {"name": "create_ticket"}},
        },
    )
    message = answer.raise_for_status().json()["choices"][0]["message"]
    return json.loads(message["tool_calls"][0]["function"]["arguments"])


@task
def file_ticket(partner_id: str, words: dict) -> str:
    body = {"partner_id": partner_id, "kind": "partner-review", **words}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers("file_ticket"))
    if answer.status_code == 422:  # the key was used for other words: an earlier attempt has filed this ticket
        wanted = {"partner_id": partner_id, "kind": "partner-review", "status": "open"}
        answer = http.get(os.environ["TICKETS_URL"] + "/tickets", params=wanted)
        return answer.raise_for_status().json()["items"][0]["id"]
    return answer.raise_for_status().json()["id"]


@task
def notify(partner_id: str) -> str:
    message = {"to": "risk-desk", "text": f"The review of partner {partner_id} is filed."}
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json=message, headers=headers("notify"))
    return answer.raise_for_status().json()["id"]


def main() -> None:
    with SqliteSaver.from_conn_string("agent.db") as saver:

        @entrypoint(checkpointer=saver)
        def review(partner_id: str) -> str:
            words = write_words(partner_id).result()
            ticket = file_ticket(partner_id, words).result()
            notify(partner_id).result()
            return ticket

        begun = review.get_state(CONFIG).created_at is not None
        ticket = review.invoke(None if begun else PARTNER_ID, CONFIG, durability=os.environ.get("DURABILITY", "async"))
        print(f"{THREAD_ID}: ticket {ticket}")


if __name__ == "__main__":
    main()
