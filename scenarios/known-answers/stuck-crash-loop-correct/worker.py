"""Expects its own half-finished work, and finishes it under the same key."""

import json
import os
import urllib.request

STATE = "state.json"


def post(url, body):
    headers = {"Content-Type": "application/json", "Idempotency-Key": "review-4471"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
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


if load()["status"] != "filed":
    save("filing")
    post(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
    save("filed")
