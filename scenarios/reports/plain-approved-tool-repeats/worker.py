"""An assistant with one tool that needs an approval: ask the model, ask a person, send the mail, tell the model.

The conversation is in SQLite, and a call of a tool is finished once the conversation has the message of the role
`tool` that answers it. A restarted process carries on with the conversation as it finds it.

Settings, all from the environment:
    MODEL_URL, APPROVALS_URL, MAILER_URL   base URLs of the services
    UNANSWERED   repeat | key | ask: what is done about an approved call that has no answer
"""

import json
import os
import sqlite3
import sys

import httpx

CASE_ID = "case-4471"
QUESTION = "Tell partner 4471 by mail that the review is done."
UNANSWERED = os.environ.get("UNANSWERED", "repeat")

SEND_MAIL = {
    "type": "function",
    "function": {
        "name": "send_mail",
        "description": "Send a mail to the partner. A person approves it first.",
        "parameters": {
            "type": "object",
            "properties": {"subject": {"type": "string"}, "text": {"type": "string"}},
            "required": ["subject", "text"],
        },
    },
}

http = httpx.Client(timeout=60)


def open_store() -> sqlite3.Connection:
    store = sqlite3.connect("assistant.db")
    store.execute("CREATE TABLE IF NOT EXISTS messages (position INTEGER PRIMARY KEY, message TEXT NOT NULL)")
    store.execute("CREATE TABLE IF NOT EXISTS approvals (call_id TEXT PRIMARY KEY, decision TEXT NOT NULL)")
    store.execute("CREATE TABLE IF NOT EXISTS started (call_id TEXT PRIMARY KEY)")
    store.commit()
    return store


def conversation(store: sqlite3.Connection) -> list[dict]:
    rows = store.execute("SELECT message FROM messages ORDER BY position").fetchall()
    return [json.loads(message) for (message,) in rows]


def append(store: sqlite3.Connection, message: dict) -> None:
    with store:
        store.execute("INSERT INTO messages (message) VALUES (?)", (json.dumps(message),))


def ask_model(messages: list[dict]) -> dict:
    answer = http.post(
        os.environ["MODEL_URL"] + "/v1/chat/completions",
        json={"model": "gpt-4o-mini", "messages": messages, "tools": [SEND_MAIL]},
    )
    return answer.raise_for_status().json()["choices"][0]["message"]


def decision(store: sqlite3.Connection, call: dict) -> str:
    """What a person said about this call; asked once, and kept."""
    row = store.execute("SELECT decision FROM approvals WHERE call_id = ?", (call["id"],)).fetchone()
    if row:
        return row[0]
    request = {"case_id": CASE_ID, "text": call["function"]["arguments"]}
    answer = http.post(os.environ["APPROVALS_URL"] + "/approvals", json=request).raise_for_status().json()
    with store:
        store.execute("INSERT INTO approvals VALUES (?, ?)", (call["id"], answer["decision"]))
    return answer["decision"]


def send_mail(call: dict) -> str:
    words = json.loads(call["function"]["arguments"])
    mail = {
        "from": "reviews@bank.example",
        "to": "partner-4471@partners.example",
        "tags": [{"name": "case", "value": CASE_ID}],
        **words,
    }
    headers = {"Idempotency-Key": f"{CASE_ID}:{call['id']}"} if UNANSWERED == "key" else {}
    answer = http.post(os.environ["MAILER_URL"] + "/emails", json=mail, headers=headers)
    return f"sent as {answer.raise_for_status().json()['id']}"


def note_start(store: sqlite3.Connection, call: dict) -> None:
    """Write down that the call is about to be made; a call that had been begun before may have been carried out."""
    if store.execute("SELECT 1 FROM started WHERE call_id = ?", (call["id"],)).fetchone():
        sys.exit(f"NEEDS A HUMAN: was the mail of {call['id']} sent?")
    with store:
        store.execute("INSERT INTO started VALUES (?)", (call["id"],))


def run_tool(store: sqlite3.Connection, call: dict) -> str:
    if decision(store, call) != "approved":
        return "a person has refused this call"
    if UNANSWERED == "ask":
        note_start(store, call)
    return send_mail(call)


def unanswered_calls(messages: list[dict]) -> list[dict]:
    answered = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    return [call for call in calls if call["id"] not in answered]


def main() -> None:
    store = open_store()
    if not conversation(store):
        append(store, {"role": "user", "content": QUESTION})
    while True:
        messages = conversation(store)
        for call in unanswered_calls(messages):
            append(store, {"role": "tool", "tool_call_id": call["id"], "content": run_tool(store, call)})
        messages = conversation(store)
        if messages[-1]["role"] == "assistant":
            print(messages[-1]["content"])
            return
        append(store, ask_model(messages))


if __name__ == "__main__":
    main()
