"""The next release: a step is called by a better name, and with it its key."""

import json
import os
import urllib.request

STATE = "state.json"


def post(url, body, key):
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


def save(file, value):
    with open(file + ".new", "w") as new:
        json.dump(value, new)
    os.replace(file + ".new", file)


def load(file):
    if not os.path.exists(file):
        return None
    with open(file) as found:
        return json.load(found)


def open_ticket():
    """File the review of a partner."""
    body = {"partner_id": "4471", "kind": "review", "title": "Review"}
    return post(os.environ["TICKETS_URL"] + "/tickets", body, "4471:open_ticket")


STEPS = (open_ticket,)
results = load(STATE) or {}
for step in STEPS:
    if step.__name__ not in results:
        results[step.__name__] = step()
        save(STATE, results)
