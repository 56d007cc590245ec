"""Waits for an answer without a limit: where none comes it waits for ever."""

import json
import os
import urllib.request
from pathlib import Path

DONE = Path("done")


def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["TICKETS_URL"] + path, data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def file_ticket():
    ask("POST", "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})


if not DONE.exists():
    file_ticket()
    fresh = DONE.with_suffix(".new")
    fresh.write_text("yes")
    fresh.replace(DONE)
