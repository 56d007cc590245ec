"""Writes down what it is about to do, and after a restart asks the service whether it was done."""

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


status = load()["status"]
if status == "new":
    save("filing")
if status != "filed":
    if status == "new" or not call(TICKETS + "?partner_id=4471&kind=review")["items"]:
        call(TICKETS, {"partner_id": "4471", "kind": "review", "title": "Review"})
    save("filed")
