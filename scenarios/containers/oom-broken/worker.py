"""Opens a ticket and writes down afterwards that it did."""

import json
import os
import urllib.request

STATE = "state.json"
TICKET = {"partner_id": "4471", "kind": "review", "title": "Review"}


def post(url, body):
    headers = {"Content-Type": "application/json"}
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
    ticket = post(os.environ["TICKETS_URL"] + "/tickets", TICKET)
    save(STATE, ticket["id"])
print("done", flush=True)
