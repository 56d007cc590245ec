"""Notes in its own log that an earlier run was cut off, and goes on under the same key."""

import json
import os
import urllib.request

STATE = "state.json"


def post(service, path, body):
    headers = {"Content-Type": "application/json", "Idempotency-Key": "review-4471"}
    request = urllib.request.Request(os.environ[service] + path, json.dumps(body).encode(), headers)
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
    print("an earlier run was cut off; filing again under the same key")
if status != "filed":
    save("filing")
    post("TICKETS_URL", "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
    save("filed")
