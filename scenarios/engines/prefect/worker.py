"""Partner review on Prefect: ask a model for the words, file a ticket, tell the desk; each a task of one flow.

Settings, all from the environment, beside Prefect's own:
    MODEL_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    RESULTS   none | run | inputs: whether what tasks return is kept, and what has to be equal for it to be used again
    KEY       none | stable: the idempotency key sent along with a write
"""

import json
import os

import httpx
from prefect import flow, task
from prefect.cache_policies import INPUTS, TASK_SOURCE

PARTNER_ID = "4471"

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

RESULTS = {
    "none": {},
    "run": {"persist_result": True},
    "inputs": {"persist_result": True, "cache_policy": INPUTS + TASK_SOURCE},
}[os.environ.get("RESULTS", "none")]

http = httpx.Client(timeout=60)


def headers(step: str) -> dict:
    return {"Idempotency-Key": f"partner-{PARTNER_ID}:{step}"} if os.environ.get("KEY") == "stable" else {}


@task(**RESULTS)
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


@task(**RESULTS)
def file_ticket(partner_id: str, words: dict) -> str:
    body = {"partner_id": partner_id, "kind": "partner-review", **words}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers("file_ticket"))
    if answer.status_code == 422:  # the key was used for other words: an earlier run has filed this ticket
        wanted = {"partner_id": partner_id, "kind": "partner-review", "status": "open"}
        answer = http.get(os.environ["TICKETS_URL"] + "/tickets", params=wanted)
        return answer.raise_for_status().json()["items"][0]["id"]
    return answer.raise_for_status().json()["id"]


@task(**RESULTS)
def notify(partner_id: str) -> str:
    message = {"to": "risk-desk", "text": f"The review of partner {partner_id} is filed."}
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json=message, headers=headers("notify"))
    return answer.raise_for_status().json()["id"]


@flow
def review(partner_id: str) -> str:
    words = write_words(partner_id)
    ticket = file_ticket(partner_id, words)
    notify(partner_id)
    return ticket


if __name__ == "__main__":
    print(f"partner-{PARTNER_ID}: ticket {review(PARTNER_ID)}")
