"""Files a ticket for a late payment, and remembers it in a SQLite file. With KEY it sends a key that stays the same."""

import json
import os
import sqlite3
import urllib.request

store = sqlite3.connect("app.db")
store.execute("PRAGMA journal_mode = WAL")
store.execute("CREATE TABLE IF NOT EXISTS done (what TEXT PRIMARY KEY)")
if not store.execute("SELECT 1 FROM done WHERE what = 'ticket'").fetchall():
    body = {"partner_id": "4471", "kind": "late-payment", "title": "Invoice 88 is late"}
    headers = {"Content-Type": "application/json"}
    if os.environ.get("KEY"):
        headers["Idempotency-Key"] = os.environ["KEY"]
    request = urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", json.dumps(body).encode(), headers)
    urllib.request.urlopen(request).close()
    with store:
        store.execute("INSERT INTO done VALUES ('ticket')")
