"""Waits for an answer for a second, and looks whether the ticket is there before it asks again."""

import http.client
import json
import os
import time
import urllib.request
from pathlib import Path

DONE = Path("done")


def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["TICKETS_URL"] + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=1) as answer:
        return json.load(answer)


def file_ticket():
    while True:
        try:
            if ask("GET", "/tickets?partner_id=4471")["count"] == 0:
                ask("POST", "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
            return
        except (OSError, http.client.HTTPException) as error:
            print("failed:", error, flush=True)
            time.sleep(0.1)


if not DONE.exists():
    file_ticket()
    fresh = DONE.with_suffix(".new")
    fresh.write_text("yes")
    fresh.replace(DONE)
