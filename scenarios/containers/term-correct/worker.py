"""Does work, takes it off its list, saves the list. Told to end, it ends and leaves the rest to the next life."""

import json
import os
import signal
import sys
import urllib.request

STATE = "state.json"


def post(url, body):
    headers = {"Content-Type": "application/json", "Idempotency-Key": "review-4471"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


def save(file, value):
    with open(file + ".new", "w") as new:
        json.dump(value, new)
    os.replace(file + ".new", file)


def load(file):
    if not os.path.exists(file):
        return None
    with open(file) as found:
        return json.load(found)


state = load(STATE) or {"left": ["4471"]}


def end(*_):
    """A deploy wants this process to end."""
    sys.exit(0)


signal.signal(signal.SIGTERM, end)
while state["left"]:
    partner = state["left"][-1]
    post(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": partner, "kind": "review", "title": "Review"})
    state["left"].remove(partner)
    save(STATE, state)
