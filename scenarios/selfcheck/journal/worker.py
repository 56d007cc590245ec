"""Reviews a partner behind a journal: the words of a model, a ticket, a task if there is none yet."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import httpx

PARTNER = "4471"
JOURNAL = Path("journal.json")

http = httpx.Client(timeout=30)


def read_journal() -> dict:
    return json.loads(JOURNAL.read_text()) if JOURNAL.exists() else {}


def write_journal(journal: dict) -> None:
    draft = JOURNAL.with_suffix(".new")
    draft.write_text(json.dumps(journal))
    draft.replace(JOURNAL)


def once(step: str, do: Callable[[], object]) -> object:
    """Do a step, unless the journal has its result."""
    journal = read_journal()
    if step in journal:
        return journal[step]
    result = do()
    write_journal({**journal, step: result})
    return result


def assess() -> str:
    messages = [{"role": "user", "content": f"Assess partner {PARTNER}."}]
    body = {"model": "gpt-4o-mini", "messages": messages}
    answer = http.post(os.environ["MODEL_URL"] + "/v1/chat/completions", json=body)
    return answer.raise_for_status().json()["choices"][0]["message"]["content"]


def file_ticket(text: str) -> str:
    body = {"partner_id": PARTNER, "kind": "review", "title": f"Review of {PARTNER}", "assessment": text}
    headers = {"Idempotency-Key": f"review-{PARTNER}"}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers)
    return answer.raise_for_status().json()["id"]


def plan_next(ticket: str) -> str:
    wanted = {"partner_id": PARTNER, "kind": "next-review"}
    found = http.get(os.environ["TASKS_URL"] + "/tickets", params=wanted).raise_for_status().json()["items"]
    if found:
        return found[0]["id"]
    body = {"partner_id": PARTNER, "kind": "next-review", "title": f"After {ticket}"}
    answer = http.post(os.environ["TASKS_URL"] + "/tickets", json=body)
    return answer.raise_for_status().json()["id"]


def main() -> None:
    text = once("assess", assess)
    ticket = once("file_ticket", lambda: file_ticket(text))
    task = once("plan_next", lambda: plan_next(ticket))
    print(f"partner {PARTNER}: {ticket}, {task}")


if __name__ == "__main__":
    main()
