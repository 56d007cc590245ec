"""Opens a ticket under a stable key, then waits three days for a person, and writes nothing down until then.

The key is the same in each life, and the service honours it: for 24 hours.
"""

import json
import os
import time
import urllib.parse
import urllib.request

STATE = "state.json"
TICKETS = os.environ["TICKETS_URL"] + "/tickets"
APPROVALS = os.environ["APPROVALS_URL"] + "/approvals"


def ask(url, body=None, key=None):
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
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


def approved():
    asked = ask(APPROVALS, {"case_id": "4471", "text": "Close the review of 4471"})
    while True:
        found = ask(f"{APPROVALS}/{asked['id']}")
        if found["status"] == "decided":
            return found["decision"] == "approved"
        time.sleep(0.01)


state = load()
if "done" not in state:
    body = {"partner_id": "4471", "kind": "review", "title": "Review"}
    ticket = ask(TICKETS, body, "review-4471")
    save({"done": approved(), "ticket": ticket["id"]})
