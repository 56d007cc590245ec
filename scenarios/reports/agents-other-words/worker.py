"""An agent that plans work on a board; when a request seems to fail, the model calls the tool again.

Settings, all from the environment:
    MODEL_URL, BOARD_URL   base URLs of the services
    KEY   words | task: what the idempotency key of a new card is made of
"""

import hashlib
import json
import os
from pathlib import Path

import httpx

TASK = "task-17"
DONE = Path("done.json")
CREATE_CARD = {
    "type": "function",
    "function": {
        "name": "create_card",
        "description": "Put a card on the board.",
        "parameters": {
            "type": "object",
            "properties": {"title": {"type": "string"}, "description": {"type": "string"}},
            "required": ["title", "description"],
        },
    },
}

http = httpx.Client(timeout=60)


def key_for(card: dict) -> str:
    if os.environ.get("KEY") == "words":
        return hashlib.sha256(json.dumps(card, sort_keys=True).encode()).hexdigest()
    return f"{TASK}:create_card"


def create_card(title: str, description: str) -> str:
    card = {"partner_id": TASK, "kind": "card", "title": title, "description": description}
    try:
        answer = http.post(os.environ["BOARD_URL"] + "/tickets", json=card, headers={"Idempotency-Key": key_for(card)})
    except httpx.TransportError as error:
        return f"error: no answer ({error})"
    if answer.status_code == 422:  # the key has been used, for other words: the card is there
        found = http.get(os.environ["BOARD_URL"] + "/tickets", params={"partner_id": TASK, "kind": "card"})
        return f"created as {found.raise_for_status().json()['items'][0]['id']}"
    return f"created as {answer.raise_for_status().json()['id']}"


def ask(messages: list[dict]) -> dict:
    question = {"model": "gpt-4o-mini", "messages": messages, "tools": [CREATE_CARD]}
    answer = http.post(os.environ["MODEL_URL"] + "/v1/chat/completions", json=question)
    return answer.raise_for_status().json()["choices"][0]["message"]


def main() -> None:
    if DONE.exists():
        return
    messages = [{"role": "user", "content": f"Plan {TASK}: the partner portal shows a stale exchange rate."}]
    while True:
        message = ask(messages)
        messages.append(message)
        if not message.get("tool_calls"):
            break
        for call in message["tool_calls"]:
            result = create_card(**json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    draft = DONE.with_suffix(".new")
    draft.write_text(json.dumps({"task": TASK, "said": message["content"]}))
    draft.replace(DONE)


if __name__ == "__main__":
    main()
