"""Opens a ticket under a key that is known before the call, at a service that honours keys."""

import json
import os
import urllib.request

STATE = "state.json"


def post(url, body, key):
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


def load():
    if not os.path.exists(STATE):
        return {}
    with open(STATE) as file:
        return json.load(file)


def save(state):
    with open(STATE + ".new", "w") as file:
        json.dump(state, file)
    os.replace(STATE + ".new", STATE)


state = load()
if "ticket" not in state:
    body = {"partner_id": "4471", "kind": "review", "title": "Review"}
    ticket = post(os.environ["TICKETS_URL"] + "/tickets", body, "review-4471")
    save({"ticket": ticket["id"]})
