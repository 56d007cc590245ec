"""Partner review on Celery: ask a model for the words, file a ticket, tell the desk; each a task of one chain.

Settings, all from the environment:
    REDIS_URL   broker and result backend
    MODEL_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    ACKS   early | late: whether a message is acknowledged before its task runs, or after it
    KEY    none | stable: the idempotency key sent along with a write
"""

import json
import os
import sys

import httpx
from celery import Celery

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

app = Celery("tasks", broker=os.environ["REDIS_URL"], backend=os.environ["REDIS_URL"])
app.conf.task_acks_late = os.environ.get("ACKS") == "late"
app.conf.task_reject_on_worker_lost = True
app.conf.broker_transport_options = {
    "visibility_timeout": 2,
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
}
http = httpx.Client(timeout=60)


def headers(task) -> dict:
    return {"Idempotency-Key": task.request.id} if os.environ.get("KEY") == "stable" else {}


@app.task
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


@app.task(bind=True)
def file_ticket(self, words: dict, partner_id: str) -> str:
    body = {"partner_id": partner_id, "kind": "partner-review", **words}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers(self))
    return answer.raise_for_status().json()["id"]


@app.task(bind=True)
def notify(self, ticket: str, partner_id: str) -> str:
    message = {"to": "risk-desk", "text": f"The review of partner {partner_id} is filed."}
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json=message, headers=headers(self))
    answer.raise_for_status()
    return ticket


if __name__ == "__main__":
    app.worker_main(["worker", *sys.argv[1:]])
