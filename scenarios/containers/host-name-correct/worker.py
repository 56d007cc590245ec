"""Takes its work under a lease that ends, and asks under a key of the work."""

import json
import os
import socket
import time
import urllib.request

LEASE = "lease.json"
STATE = "state.json"
LEASE_S = 1.0
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
    """Take the work on where nobody has it, or whoever had it has not been heard of for a while."""
    while True:
        lease = load(LEASE)
        if lease is None or lease["until"] < time.time():
            save(LEASE, {"owner": socket.gethostname(), "until": time.time() + LEASE_S})
            return
        time.sleep(0.05)


take_lease()
if not load(STATE):
    ticket = post(os.environ["TICKETS_URL"] + "/tickets", TICKET, "review-4471")
    save(STATE, ticket["id"])
