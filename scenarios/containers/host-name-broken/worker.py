"""Takes its work under a lease that has no end and only the name of a host."""

import json
import os
import socket
import sys
import urllib.request

LEASE = "lease.json"
STATE = "state.json"
TICKET = {"partner_id": "4471", "kind": "review", "title": "Review"}


def post(url, body):
    headers = {"Content-Type": "application/json"}
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
    """Take the work on where it is nobody's, or has been this host's."""
    owner = load(LEASE)
    if owner is None:
        save(LEASE, socket.gethostname())
    elif owner != socket.gethostname():
        print("the work belongs to", owner, flush=True)
        sys.exit(1)


take_lease()
if not load(STATE):
    ticket = post(os.environ["TICKETS_URL"] + "/tickets", TICKET)
    save(STATE, ticket["id"])
