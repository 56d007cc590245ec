"""Partner review in plain Python: ask a model for the words, file a ticket, tell the desk; a journal of what is done.

Settings, all from the environment:
    MODEL_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    JOURNAL   after | before: when a step is written into the journal, seen from the call that it makes
    KEY       none | stable: the idempotency key sent along with a write
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import httpx

PARTNER_ID = "4471"
JOURNAL = Path("journal.json")
BEFORE = os.environ.get("JOURNAL") == "before"

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


def read_journal() -> dict:
    return json.loads(JOURNAL.read_text()) if JOURNAL.exists() else {}


def write_journal(journal: dict) -> None:
    draft = JOURNAL.with_suffix(".new")
    draft.write_text(json.dumps(journal))
    draft.replace(JOURNAL)


def once(step: str, do: Callable[[], object]) -> object:
    """Do a step, unless the journal says that it is done."""
    journal = read_journal()
    if step in journal:
        return journal[step]
    if BEFORE:
        write_journal({**journal, step: None})
    result = do()
    write_journal({**journal, step: result})
    return result


def headers(step: str) -> dict:
    return {"Idempotency-Key": f"partner-{PARTNER_ID}:{step}"} if os.environ.get("KEY") == "stable" else {}


def write_words() -> dict:
    answer = http.post(
        os.environ["MODEL_URL"] + "/v1/chat/completions",
        json={
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": f"File the review of partner {PARTNER_ID} as a ticket."}],
            "tools": [CREATE_TICKET],
            "tool_choice": {"type": "function", "function": {"name": "create_ticket"}},
        },
    )
    message = answer.raise_for_status().json()["choices"][0]["message"]
    return json.loads(message["tool_calls"][0]["function"]["arguments"])


def file_ticket(words: dict) -> str:
    body = {"partner_id": PARTNER_ID, "kind": "partner-review", **words}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers("file_ticket"))
    if answer.status_code == 422:  # the key was used for other words: an earlier attempt has filed this ticket
        return find_ticket()
    return answer.raise_for_status().json()["id"]


def find_ticket() -> str:
    wanted = {"partner_id": PARTNER_ID, "kind": "partner-review", "status": "open"}
    answer = http.get(os.environ["TICKETS_URL"] + "/tickets", params=wanted)
    return answer.raise_for_status().json()["items"][0]["id"]


def notify() -> str:
    message = {"to": "risk-desk", "text": f"The review of partner {PARTNER_ID} is filed."}
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json=message, headers=headers("notify"))
    return answer.raise_for_status().json()["id"]


def main() -> None:
    words = once("write_words", write_words)
    # Written down as begun and not as done, if the journal comes first: there are no words to go on with.
    ticket = once("file_ticket", lambda: file_ticket(words or {"title": "Partner review", "summary": ""}))
    once("notify", notify)
    print(f"partner {PARTNER_ID}: ticket {ticket}")


if __name__ == "__main__":
    main()
