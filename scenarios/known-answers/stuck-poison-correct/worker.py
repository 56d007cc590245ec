"""Misreads the answer as the broken one does, and counts its attempts: the third life puts the work aside."""

import json
import os
import sys
import urllib.request

STATE = "state.json"
TICKETS = os.environ["TICKETS_URL"] + "/tickets"
ATTEMPTS = 2


def call(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"})) as answer:
        return json.load(answer)


def load():
    if not os.path.exists(STATE):
        return {"status": "new", "attempts": 0}
    with open(STATE) as file:
        return json.load(file)


def save(state):
    with open(STATE + ".new", "w") as file:
        json.dump(state, file)
    os.replace(STATE + ".new", STATE)


state = load()
if state["status"] == "filing":
    if state["attempts"] >= ATTEMPTS:
        print("DEAD LETTER: the review of partner 4471 was taken up twice and failed; a ticket may have been filed")
        sys.exit(3)
    state["attempts"] += 1
    save(state)
    found = call(TICKETS + "?partner_id=4471")
    if not found["results"]:  # no such field in the answer; nobody ever came this way before
        state["status"] = "new"
if state["status"] == "new":
    save({"status": "filing", "attempts": state["attempts"]})
    call(TICKETS, {"partner_id": "4471", "kind": "review", "title": "Review"})
save({"status": "filed", "attempts": 0})
