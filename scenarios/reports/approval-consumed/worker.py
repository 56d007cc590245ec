"""An assistant whose tools need a person's approval. What waits for one is kept in a database, as is the conversation.

Settings, all from the environment:
    MODEL_URL, TICKETS_URL, APPROVALS_URL   base URLs of the services
    CONSUME   before | with-result: when an approval is used up, seen from the tool that it allows
"""

import json
import os
import sqlite3

import httpx

CLOSE_ACCOUNT = {
    "type": "function",
    "function": {
        "name": "close_account",
        "description": "Have the account of a partner closed. Needs approval.",
        "parameters": {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]},
    },
}
PARTNER_ID = "4471"
BEFORE = os.environ.get("CONSUME") == "before"

http = httpx.Client(timeout=60)
db = sqlite3.connect("assistant.sqlite")


def ask(messages: list[dict]) -> dict:
    question = {"model": "gpt-4o-mini", "messages": messages, "tools": [CLOSE_ACCOUNT]}
    answer = http.post(os.environ["MODEL_URL"] + "/v1/chat/completions", json=question)
    return answer.raise_for_status().json()["choices"][0]["message"]


def close_account(approval: str, reason: str) -> str:
    body = {"partner_id": PARTNER_ID, "kind": "close-account", "title": reason}
    headers = {"Idempotency-Key": approval}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers)
    return f"filed as {answer.raise_for_status().json()['id']}"


def propose(task: str) -> None:
    """Let the model choose a tool, show it to a person, and keep what waits for the decision."""
    messages = [{"role": "user", "content": task}]
    message = ask(messages)
    text = json.loads(message["tool_calls"][0]["function"]["arguments"])["reason"]
    shown = {"case_id": PARTNER_ID, "text": text}
    approval = http.post(os.environ["APPROVALS_URL"] + "/approvals", json=shown).raise_for_status().json()["id"]
    with db:
        db.execute("INSERT INTO chats VALUES (?, ?)", (PARTNER_ID, json.dumps([*messages, message])))
        db.execute("INSERT INTO pending VALUES (?, ?, NULL)", (PARTNER_ID, approval))


def resume() -> None:
    """Go on with what was approved.

    Raises:
        SystemExit: Nothing is waiting for a decision.
    """
    row = db.execute("SELECT approval, result FROM pending WHERE chat = ?", (PARTNER_ID,)).fetchone()
    if row is None:
        raise SystemExit("there is no approval to resume")
    approval, result = row
    decided = http.get(f"{os.environ['APPROVALS_URL']}/approvals/{approval}").raise_for_status().json()
    if decided.get("decision") != "approved":
        raise SystemExit(f"the approval is {decided['status']}")
    chat = db.execute("SELECT messages FROM chats WHERE chat = ?", (PARTNER_ID,)).fetchone()
    messages = json.loads(chat[0])
    call = messages[-1]["tool_calls"][0]
    if BEFORE:
        with db:  # used up at once, so that nobody can play it back
            db.execute("DELETE FROM pending WHERE chat = ?", (PARTNER_ID,))
    if result is None:
        result = close_account(approval, **json.loads(call["function"]["arguments"]))
    if not BEFORE:
        with db:  # used up together with what came of it: resumed again, it gives the result and does nothing
            db.execute("UPDATE pending SET result = ? WHERE chat = ?", (result, PARTNER_ID))
    messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    messages.append(ask(messages))
    with db:
        db.execute("UPDATE chats SET messages = ? WHERE chat = ?", (json.dumps(messages), PARTNER_ID))
        db.execute("DELETE FROM pending WHERE chat = ?", (PARTNER_ID,))
    print(messages[-1]["content"])


def main() -> None:
    with db:
        db.execute("CREATE TABLE IF NOT EXISTS chats (chat TEXT PRIMARY KEY, messages TEXT)")
        db.execute("CREATE TABLE IF NOT EXISTS pending (chat TEXT PRIMARY KEY, approval TEXT, result TEXT)")
    chat = db.execute("SELECT messages FROM chats WHERE chat = ?", (PARTNER_ID,)).fetchone()
    if chat is None:
        propose(f"Partner {PARTNER_ID} has asked us to close the account.")
    elif not json.loads(chat[0])[-1].get("tool_calls"):
        return  # answered already
    resume()


if __name__ == "__main__":
    main()
