"""Opens a ticket and writes down afterwards that it did: whoever dies in between opens it again."""

import json
import os
import urllib.request

STATE = "state.json"


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
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
    ticket = post(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
    save({"ticket": ticket["id"]})
