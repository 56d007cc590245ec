"""Whoever files the ticket as a row: there is exactly one, or a call has filed it."""

import json
import os
import sqlite3
import sys
from pathlib import Path

with sqlite3.connect("cases.sqlite") as cases:
    rows = cases.execute("SELECT count(*) FROM tickets").fetchone()[0]
events = [json.loads(line) for line in Path(os.environ["ACKGAP_HISTORY"]).read_text().splitlines()]
called = any(event.get("operation") == "tickets.create" for event in events)
if rows > 1 or (rows == 1 and called):
    sys.exit(f"{rows} rows of the same ticket")
if rows == 0 and not called:
    sys.exit("no row of the ticket, and no call that would have filed it")
