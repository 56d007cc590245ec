"""Works under a lease, and asks under a key of the work, since a lease can end without its holder noticing."""

import json
import os
import time
import urllib.request

LEASE = "lease.json"
DONE = "done.json"
LEASE_S = 2.0
TICKET = {"partner_id": "4471", "kind": "review", "title": "Review"}


def post(url, body, key):
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
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


def take_lease():
    """Wait until nobody holds the lease, take it, and return its number."""
    while True:
        lease = load(LEASE) or {"number": 0, "until": 0.0}
        if lease["until"] < time.time():
            save(LEASE, {"number": lease["number"] + 1, "until": time.time() + LEASE_S})
            return lease["number"] + 1
        time.sleep(0.05)


lease = take_lease()
if not load(DONE):
    ticket = post(os.environ["TICKETS_URL"] + "/tickets", TICKET, "review-4471")
    save(DONE, ticket["id"])
