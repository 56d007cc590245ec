"""Has a model review a partner and file a ticket: a tool loop over Messages with the official client.

It writes down which tickets it filed and that the work is done, and nothing of the conversation.
"""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import anthropic

PARTNER = "4471"
JOURNAL = Path("journal.json")
TEXTS = {"title": {"type": "string"}, "summary": {"type": "string"}}
TOOL: Any = {
    "name": "create_ticket",
    "description": "File the result of a review.",
    "input_schema": {"type": "object", "properties": TEXTS, "required": ["title", "summary"]},
}


def recorded() -> dict[str, str]:
    """Return what has been done: by key the ticket, and `end`."""
    return json.loads(JOURNAL.read_text()) if JOURNAL.exists() else {}


def record(step: str, outcome: str) -> None:
    """Note that a step is done, in one durable write."""
    fresh = JOURNAL.with_suffix(".new")
    fresh.write_text(json.dumps({**recorded(), step: outcome}))
    fresh.replace(JOURNAL)


def ask(client: anthropic.Anthropic, messages: list[Any]) -> Any:
    """Return the model's next message."""
    question: dict[str, Any] = {"model": "claude-sonnet", "max_tokens": 500, "messages": messages, "tools": [TOOL]}
    if os.environ["ANSWER"] == "whole":
        return client.messages.create(**question)
    with client.messages.stream(**question) as stream:
        return stream.get_final_message()


def file_ticket(key: str, call: Any) -> str:
    """File the ticket that a tool call asks for, unless the key has filed it before."""
    ticket = {"partner_id": PARTNER, "kind": "review", **call.input}
    request = urllib.request.Request(
        f"{os.environ['TICKETS_URL']}/tickets",
        json.dumps(ticket).encode(),
        {"Content-Type": "application/json", "Idempotency-Key": key},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return str(json.load(answer)["id"])
    except urllib.error.HTTPError as error:
        if error.code != 422:
            raise
        return "filed before"  # the same key in other words: an earlier life's


def use(call: Any) -> dict[str, Any]:
    """Do what a tool call asks for, once for each key, and return what the model is told."""
    key = call.id if os.environ["KEY"] == "tool-use-id" else f"review-{PARTNER}"
    if key not in recorded():
        record(key, file_ticket(key, call))
    return {"type": "tool_result", "tool_use_id": call.id, "content": f"Ticket: {recorded()[key]}"}


def main() -> None:
    """Talk until the model has nothing more to do."""
    client = anthropic.Anthropic()
    messages: list[Any] = [{"role": "user", "content": f"Review partner {PARTNER} and file a ticket."}]
    while True:
        message = ask(client, messages)
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            break
        results = [use(call) for call in calls]
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
    record("end", PARTNER)


if __name__ == "__main__":
    if "end" not in recorded():
        main()
    print(f"partner {PARTNER} is reviewed")
