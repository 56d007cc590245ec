"""Looks the ticket up when it takes its work up again, and misreads the answer: each life dies of it, none says so."""

import json
import os
import urllib.request

STATE = "state.json"
TICKETS = os.environ["TICKETS_URL"] + "/tickets"


def call(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"})) as answer:
        return json.load(answer)


def status():
    if not os.path.exists(STATE):
        return "new"
    with open(STATE) as file:
        return json.load(file)["status"]


def save(status):
    with open(STATE + ".new", "w") as file:
        json.dump({"status": status}, file)
    os.replace(STATE + ".new", STATE)


begun = status()
if begun == "filing":
    found = call(TICKETS + "?partner_id=4471")
    if not found["results"]:  # no such field in the answer; nobody ever came this way before
        begun = "new"
if begun == "new":
    save("filing")
    call(TICKETS, {"partner_id": "4471", "kind": "review", "title": "Review"})
save("filed")
