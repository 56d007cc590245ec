"""Holds a lock that the operating system gives back when its holder dies."""

import fcntl
import json
import os
import urllib.request

LOCK = "agent.lock"
DONE = "done.json"


def post(url, body):
    headers = {"Content-Type": "application/json", "Idempotency-Key": "review-4471"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


lock = os.open(LOCK, os.O_CREAT | os.O_RDWR)
fcntl.flock(lock, fcntl.LOCK_EX)
if not os.path.exists(DONE):
    ticket = post(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
    with open(DONE, "w") as file:
        json.dump(ticket, file)
