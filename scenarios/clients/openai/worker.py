"""Has a model review a partner and file a ticket: a tool loop over the Responses API with the official client."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import Any

import openai

PARTNER = "4471"
JOURNAL = Path("conversation.json")
TEXTS = {"title": {"type": "string"}, "summary": {"type": "string"}}
TOOL: Any = {
    "type": "function",
    "name": "create_ticket",
    "description": "File the result of a review.",
    "strict": True,
    "parameters": {
        "type": "object",
        "properties": TEXTS,
        "required": ["title", "summary"],
        "additionalProperties": False,
    },
}


def keep(conversation: list[Any], *, finished: bool = False) -> None:
    """Write the conversation down, after each step or at the very end."""
    if finished or os.environ["JOURNAL"] == "keeps":
        fresh = JOURNAL.with_suffix(".new")
        fresh.write_text(json.dumps(conversation))
        fresh.replace(JOURNAL)


def ask(client: openai.OpenAI, conversation: list[Any]) -> list[Any]:
    """Return what the model adds to the conversation."""
    question: dict[str, Any] = {"model": "gpt-4o-mini", "input": conversation, "tools": [TOOL]}
    if os.environ["ANSWER"] == "whole":
        response = client.responses.create(**question)
    else:
        with client.responses.stream(**question) as stream:
            response = stream.get_final_response()
    return [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]


def file_ticket(call: dict[str, Any]) -> str:
    """File the ticket that a tool call asks for, with the call's id as idempotency key."""
    ticket = {"partner_id": PARTNER, "kind": "review", **json.loads(call["arguments"])}
    request = urllib.request.Request(
        f"{os.environ['TICKETS_URL']}/tickets",
        json.dumps(ticket).encode(),
        {"Content-Type": "application/json", "Idempotency-Key": call["call_id"]},
    )
    with urllib.request.urlopen(request) as answer:
        return str(json.load(answer)["id"])


def pending(conversation: list[Any]) -> list[Any]:
    """Return the tool calls that have no output yet."""
    answered = {item["call_id"] for item in conversation if item.get("type") == "function_call_output"}
    return [item for item in conversation if item.get("type") == "function_call" and item["call_id"] not in answered]


def main() -> None:
    """Go on with the conversation until the model has nothing more to do."""
    opening = [{"role": "user", "content": f"Review partner {PARTNER} and file a ticket."}]
    conversation: list[Any] = json.loads(JOURNAL.read_text()) if JOURNAL.exists() else opening
    client = openai.OpenAI()
    while conversation[-1].get("type") != "message":
        for call in pending(conversation):
            output = {"type": "function_call_output", "call_id": call["call_id"], "output": file_ticket(call)}
            conversation.append(output)
            keep(conversation)
        conversation += ask(client, conversation)
        keep(conversation)
    keep(conversation, finished=True)


if __name__ == "__main__":
    main()
