"""Writes down that the ticket is filed, then files it: whoever dies in between never files it."""

import json
import os
import urllib.request

STATE = "state.json"


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def save(state):
    with open(STATE + ".new", "w") as file:
        json.dump(state, file)
    os.replace(STATE + ".new", STATE)


if not os.path.exists(STATE):
    save({"filed": True})
    post(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
