"""Writes down that it has searched, but not what it found, and pays for the search again after a restart."""

import json
import os
import urllib.request

STATE = "state.json"


def call(url, body=None):
    headers = {"Content-Type": "application/json", "Idempotency-Key": "review-4471"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        return json.load(answer)


def load():
    if not os.path.exists(STATE):
        return {"status": "new"}
    with open(STATE) as file:
        return json.load(file)


def save(state):
    with open(STATE + ".new", "w") as file:
        json.dump(state, file)
    os.replace(STATE + ".new", STATE)


state = load()
if state["status"] != "filed":
    found = call(os.environ["SEARCH_URL"] + "/search?q=partner+4471")
    save({"status": "searched"})
    title = f"Review, {len(found['results'])} findings"
    call(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": "4471", "kind": "review", "title": title})
    save({"status": "filed"})
