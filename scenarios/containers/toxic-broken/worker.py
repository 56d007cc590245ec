"""Asks again after whatever goes wrong on the way, without a key: an answer that was lost is a ticket too many."""

import http.client
import json
import os
import time
import urllib.request
from pathlib import Path

DONE = Path("done.json")
TRIES = 40


def file_ticket():
    body = json.dumps({"partner_id": "4471", "kind": "review", "title": "Review"}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", body, headers)
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)


def with_patience(action):
    for _ in range(TRIES):
        try:
            return action()
        except (OSError, http.client.HTTPException, ValueError) as error:  # the last where half an answer is no JSON
            print("failed:", error, flush=True)
            time.sleep(0.1)
    raise SystemExit("gave up")


if not DONE.exists():
    ticket = with_patience(file_ticket)
    fresh = DONE.with_suffix(".new")
    fresh.write_text(json.dumps(ticket))
    fresh.replace(DONE)
