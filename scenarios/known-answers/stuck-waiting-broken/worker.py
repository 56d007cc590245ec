"""Takes a lock file before it works, and waits for a holder that is long dead."""

import json
import os
import time
import urllib.request

LOCK = "agent.lock"
DONE = "done.json"


def post(url, body):
    headers = {"Content-Type": "application/json", "Idempotency-Key": "review-4471"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


def take_lock():
    while True:
        try:
            os.close(os.open(LOCK, os.O_CREAT | os.O_EXCL))
            return
        except FileExistsError:
            time.sleep(0.1)


take_lock()
if not os.path.exists(DONE):
    ticket = post(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
    with open(DONE, "w") as file:
        json.dump(ticket, file)
os.remove(LOCK)
