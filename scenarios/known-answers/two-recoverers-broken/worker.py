"""Looks whether the ticket is there before it files it. Two of these look before either has filed."""

import json
import os
import urllib.request

TICKETS = os.environ["TICKETS_URL"] + "/tickets"
DONE = "done.json"


def call(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


if not os.path.exists(DONE):
    found = call(TICKETS + "?partner_id=4471&kind=review")["items"]
    ticket = found[0] if found else call(TICKETS, {"partner_id": "4471", "kind": "review", "title": "Review"})
    with open(DONE, "w") as file:
        json.dump(ticket, file)
