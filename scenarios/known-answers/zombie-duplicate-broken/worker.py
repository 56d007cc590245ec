"""Looks whether the ticket exists, then files it: a worker that wakes up in between does not look again."""

import json
import os
import urllib.request

TICKETS = os.environ["TICKETS_URL"] + "/tickets"


def call(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"})) as answer:
        return json.load(answer)


if not call(TICKETS + "?partner_id=4471&kind=review")["items"]:
    ticket = call(TICKETS, {"partner_id": "4471", "kind": "review", "title": "Review"})
    with open("ticket.json", "w") as file:
        json.dump(ticket, file)
