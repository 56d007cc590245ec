"""Opens a ticket under a key that is known before the call."""

import json
import os
import urllib.request

STATE = "state.json"
TICKET = {"partner_id": "4471", "kind": "review", "title": "Review"}


def post(url, body, key):
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def load(file):
    if not os.path.exists(file):
        return None
    with open(file) as found:
        return json.load(found)


def save(file, value):
    with open(file + ".new", "w") as new:
        json.dump(value, new)
    os.replace(file + ".new", file)


print("begun", flush=True)
if not load(STATE):
    ticket = post(os.environ["TICKETS_URL"] + "/tickets", TICKET, "review-4471")
    save(STATE, ticket["id"])
print("done", flush=True)
