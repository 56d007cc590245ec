"""Opens a ticket under a stable key, and looks before it repeats a call whose answer was lost, in every later life.

After a lost answer the next life notes that another key is needed, and keeps the note that it has to look until the
work is done.
"""

import json
import os
import urllib.request

STATE = "state.json"
TICKETS = os.environ["TICKETS_URL"] + "/tickets"


def ask(url, body=None, key=None):
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        return json.load(answer)


def load():
    if not os.path.exists(STATE):
        return {"key": "review-4471"}
    with open(STATE) as file:
        return json.load(file)


def save(state):
    with open(STATE + ".new", "w") as file:
        json.dump(state, file)
    os.replace(STATE + ".new", STATE)


def open_ticket(key):
    try:
        ask(TICKETS, {"partner_id": "4471", "kind": "review", "title": "Review"}, key)
    except OSError:
        save({"key": key, "lost": True})
        raise SystemExit("the answer was lost") from None


state = load()
if "done" not in state:
    there = False
    if state.get("lost"):
        state = {"key": "review-4471-again", "lost": True}
        save(state)
        there = ask(TICKETS + "?partner_id=4471")["count"] > 0
    if not there:
        open_ticket(state["key"])
    save({"done": True})
