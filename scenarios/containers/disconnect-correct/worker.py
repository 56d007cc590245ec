"""Asks until somebody answers, under a key that is known before the first time."""

import json
import os
import time
import urllib.error
import urllib.request

STATE = "state.json"
TICKET = {"partner_id": "4471", "kind": "review", "title": "Review"}


def post(url, body, key):
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=2) as answer:
        return json.load(answer)


def load(file):
    if not os.path.exists(file):
        return None
    with open(file) as found:
        return json.load(found)


def save(file, value):
    with open(file + ".new", "w") as new:
        json.dump(value, new)
    os.replace(file + ".new", file)


done = load(STATE)
while not done:
    try:
        ticket = post(os.environ["TICKETS_URL"] + "/tickets", TICKET, "review-4471")
    except (urllib.error.URLError, OSError) as error:
        print("not reached:", error, flush=True)
        time.sleep(0.2)
    else:
        done = ticket["id"]
        save(STATE, done)
