"""An assistant with a session in a file: every message is a line of it, written as soon as it is known.

Settings, all from the environment:
    MODEL_URL, TICKETS_URL   base URLs of the services
    SESSION   as-is | settled: what becomes of a call without a result when a session is opened again
"""

import json
import os
from pathlib import Path

import httpx

PARTNER_ID = "4471"
SESSION = Path("session.jsonl")
CASE = {"partner_id": PARTNER_ID, "kind": "card-blocked"}

http = httpx.Client(timeout=60)

CREATE_TICKET = {
    "type": "function",
    "function": {
        "name": "create_ticket",
        "description": "File a ticket about the blocked card.",
        "parameters": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
    },
}


def create_ticket(title: str) -> str:
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json={**CASE, "title": title})
    return f"the ticket is {answer.raise_for_status().json()['id']}"


def settle(call: dict) -> str:
    """Return what came of a call that was under way when the process died; do it if nothing did."""
    items = http.get(os.environ["TICKETS_URL"] + "/tickets", params=CASE).raise_for_status().json()["items"]
    return f"the ticket is {items[0]['id']}" if items else carry_out(call)


def carry_out(call: dict) -> str:
    return create_ticket(**json.loads(call["function"]["arguments"]))


def ask(messages: list[dict]) -> dict:
    question = {"model": "gpt-4o-mini", "messages": messages, "tools": [CREATE_TICKET]}
    answer = http.post(os.environ["MODEL_URL"] + "/v1/chat/completions", json=question)
    if answer.is_client_error:
        raise SystemExit(answer.json()["error"]["message"])
    return answer.raise_for_status().json()["choices"][0]["message"]


class Session:
    """The messages of a conversation, kept in a file."""

    def __init__(self) -> None:
        self.messages = [json.loads(line) for line in SESSION.read_text().splitlines()] if SESSION.exists() else []

    def add(self, message: dict) -> None:
        self.messages.append(message)
        draft = SESSION.with_suffix(".new")
        draft.write_text("".join(json.dumps(known) + "\n" for known in self.messages))
        draft.replace(SESSION)

    def add_result(self, call: dict, result: str) -> None:
        self.add({"role": "tool", "tool_call_id": call["id"], "content": result})

    def open_calls(self) -> list[dict]:
        """Return the calls that have no result."""
        answered = {message.get("tool_call_id") for message in self.messages}
        calls = [call for message in self.messages for call in message.get("tool_calls") or ()]
        return [call for call in calls if call["id"] not in answered]


def main() -> None:
    session = Session()
    if not session.messages:
        session.add({"role": "user", "content": f"The card of partner {PARTNER_ID} is blocked. File a ticket."})
    elif session.messages[-1]["role"] == "assistant" and not session.messages[-1].get("tool_calls"):
        return  # answered already
    else:
        if os.environ.get("SESSION") == "settled":
            for call in session.open_calls():
                session.add_result(call, settle(call))
        session.add({"role": "user", "content": "Please go on."})
    while True:
        message = ask(session.messages)
        session.add(message)
        if not message.get("tool_calls"):
            print(message["content"])
            return
        for call in message["tool_calls"]:
            session.add_result(call, carry_out(call))


if __name__ == "__main__":
    main()
