"""Files under a key that every life of this work shares, so that the service turns a late worker away."""

import json
import os
import urllib.request

TICKETS = os.environ["TICKETS_URL"] + "/tickets"


def call(url, body=None):
    headers = {"Content-Type": "application/json", "Idempotency-Key": "review-4471"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        return json.load(answer)


if not call(TICKETS + "?partner_id=4471&kind=review")["items"]:
    ticket = call(TICKETS, {"partner_id": "4471", "kind": "review", "title": "Review"})
    with open("ticket.json", "w") as file:
        json.dump(ticket, file)
