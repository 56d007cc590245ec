"""Files under a key that never changes, and trusts it for ever. The service keeps it for 24 hours."""

import json
import os
import urllib.request

TICKETS = os.environ["TICKETS_URL"] + "/tickets"
DONE = "done.json"


def call(url, body=None):
    headers = {"Content-Type": "application/json", "Idempotency-Key": "review-4471"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers)) as answer:
        return json.load(answer)


if not os.path.exists(DONE):
    ticket = call(TICKETS, {"partner_id": "4471", "kind": "review", "title": "Review"})
    with open(DONE, "w") as file:
        json.dump(ticket, file)
