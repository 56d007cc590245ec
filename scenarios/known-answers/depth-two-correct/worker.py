"""Writes down what it is about to do, and asks the service in every life that comes after a crash."""

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
if status == "new" or (status == "filing" and not is_there()):
    call(TICKETS, {"partner_id": "4471", "kind": "review", "title": "Review"})
if status != "filed":
    save("filed")
