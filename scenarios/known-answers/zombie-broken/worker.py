"""Leaves work that another process has begun to that process, without asking whether it is still alive."""

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


if os.path.exists(STATE):
    print("begun by somebody else; nothing to do")
else:
    save("filing")
    post(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
    save("filed")
