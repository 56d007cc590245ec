"""Notices that it does not know whether the ticket was filed, stops, and says so to a human."""

import json
import os
import sys
import urllib.request

STATE = "state.json"


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def load():
    if not os.path.exists(STATE):
        return {"status": "new"}
    with open(STATE) as file:
        return json.load(file)


def save(status):
    with open(STATE + ".new", "w") as file:
        json.dump({"status": status}, file)
    os.replace(STATE + ".new", STATE)


status = load()["status"]
if status == "filing":
    print("NEEDS A HUMAN: was a ticket filed for partner 4471?", file=sys.stderr)
    sys.exit(3)
if status == "new":
    save("filing")
    post(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
    save("filed")
