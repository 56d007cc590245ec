"""Writes down what it is about to do, asks the service after a crash, and writes down that it has asked.

What the service said is true when it is said. The recovery files the ticket after that; if the recovery dies then,
the next life believes an answer that is out of date.
"""

import json
import os
import urllib.request

STATE = "state.json"
TICKETS = os.environ["TICKETS_URL"] + "/tickets"


def call(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"})) as answer:
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


def is_there():
    return bool(call(TICKETS + "?partner_id=4471&kind=review")["items"])


status = load()["status"]
if status == "new":
    save("filing")
if status == "filing" and not is_there():
    save("not there")
    status = "not there"
if status in ("new", "not there"):
    call(TICKETS, {"partner_id": "4471", "kind": "review", "title": "Review"})
if status != "filed":
    save("filed")
