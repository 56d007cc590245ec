"""Partner review on DBOS with PostgreSQL: ask a model, file a ticket, tell the desk; each a step of one workflow.

Settings, all from the environment:
    DATABASE_URL   PostgreSQL, for DBOS and for the tickets that are rows
    MODEL_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    TICKET   step | transaction: file the ticket by a call in a step, or as a row of that database
    KEY      none | stable: the idempotency key sent along with a write
    APP_VERSION   version of this program, 1 if it is not set
"""

import json
import os

import httpx
from dbos import DBOS, DBOSConfig, SetWorkflowID, SQLAlchemyDatasource
from sqlalchemy import text

PARTNER_ID = "4471"
WORKFLOW_ID = f"partner-{PARTNER_ID}"

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

DATABASE_URL = os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg://", 1)

config: DBOSConfig = {
    "name": "partner-review",
    "system_database_url": DATABASE_URL,
    "application_version": os.environ.get("APP_VERSION", "1"),
    "log_level": "WARNING",
}
DBOS(config=config)
datasource = SQLAlchemyDatasource.create(DATABASE_URL)
http = httpx.Client(timeout=60)


def headers(step: str) -> dict:
    return {"Idempotency-Key": f"{DBOS.workflow_id}:{step}"} if os.environ.get("KEY") == "stable" else {}


@DBOS.step()
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


@DBOS.step()
def file_ticket(partner_id: str, words: dict) -> str:
    body = {"partner_id": partner_id, "kind": "partner-review", **words}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers("file_ticket"))
    return answer.raise_for_status().json()["id"]


@datasource.transaction()
def insert_ticket(partner_id: str, words: dict) -> str:
    row = datasource.sql_session().execute(
        text("INSERT INTO tickets (partner_id, title, summary) VALUES (:partner_id, :title, :summary) RETURNING id"),
        {"partner_id": partner_id, **words},
    )
    return f"T-{row.scalar_one()}"


@DBOS.step()
def notify(partner_id: str) -> str:
    message = {"to": "risk-desk", "text": f"The review of partner {partner_id} is filed."}
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json=message, headers=headers("notify"))
    return answer.raise_for_status().json()["id"]


@DBOS.workflow()
def review(partner_id: str) -> str:
    words = write_words(partner_id)
    if os.environ.get("TICKET") == "transaction":
        ticket = insert_ticket(partner_id, words)
    else:
        ticket = file_ticket(partner_id, words)
    notify(partner_id)
    return ticket


def main() -> None:
    DBOS.launch()  # also takes up what a process of this version and executor left unfinished
    with SetWorkflowID(WORKFLOW_ID):
        handle = DBOS.start_workflow(review, PARTNER_ID)
    print(f"{WORKFLOW_ID}: ticket {handle.get_result()}")
    DBOS.destroy()


if __name__ == "__main__":
    main()
