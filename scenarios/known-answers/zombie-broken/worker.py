"""Gives up work that another process has begun, and writes that down; who began it does not look before it acts."""

import json
import os
import urllib.request

STATE = "state.json"


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def save(status):
    with open(STATE + ".new", "w") as file:
        json.dump({"status": status}, file)
    os.replace(STATE + ".new", STATE)


def status():
    if not os.path.exists(STATE):
        return "new"
    with open(STATE) as file:
        return json.load(file)["status"]


if status() == "new":
    save("filing")
    post(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
    save("filed")
elif status() == "filing":
    print("begun by somebody who has not been heard of since; given up, a person will look after it")
    save("given up")
