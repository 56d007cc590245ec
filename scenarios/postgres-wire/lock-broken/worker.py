"""Works alone: whoever finds a row in the table of locks leaves. A dead worker's row stays."""

import json
import os
import sys
import urllib.request

import psycopg


def post(url, body, key):
    headers = {"Content-Type": "application/json", "Idempotency-Key": key}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def file_ticket(key):
    body = {"partner_id": "4471", "kind": "review", "title": "Review"}
    post(os.environ["TICKETS_URL"] + "/tickets", body, key)


db = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
db.execute("CREATE TABLE IF NOT EXISTS locks (name text PRIMARY KEY)")
if db.execute("INSERT INTO locks VALUES ('work') ON CONFLICT DO NOTHING").rowcount == 0:
    sys.exit("somebody else is at work")
db.execute("CREATE TABLE IF NOT EXISTS journal (step text PRIMARY KEY)")
if db.execute("SELECT step FROM journal").fetchone() is None:
    file_ticket("partner-4471")
    db.execute("INSERT INTO journal VALUES ('ticket')")
db.execute("DELETE FROM locks")
