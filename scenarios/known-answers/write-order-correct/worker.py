"""Keeps a message in one thread and confirms it to the queue in another, and believes only what it has kept."""

import json
import os
import sqlite3
import threading
import urllib.request

TAKEN = "taken.txt"  # what the queue has been told: it sends no message again that is named here
DONE = "done.txt"
QUEUE = {"4471": {"partner_id": "4471", "kind": "review", "title": "Review", "documents": "all of them " * 50_000}}


def post(url, body):
    headers = {"Content-Type": "application/json", "Idempotency-Key": f"review-{body['partner_id']}"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


def lines(file):
    if not os.path.exists(file):
        return []
    with open(file) as found:
        return found.read().split()


def add_line(file, text):
    with open(file, "a") as found:
        found.write(text + "\n")


def kept():
    return dict(outbox.execute("select name, body from outbox").fetchall())


outbox = sqlite3.connect("outbox.db", check_same_thread=False)
outbox.execute("create table if not exists outbox (name text primary key, body text)")
for name, message in QUEUE.items():
    if name not in kept():
        outbox.execute("insert or replace into outbox values (?, ?)", (name, json.dumps(message)))
        threads = [threading.Thread(target=outbox.commit), threading.Thread(target=add_line, args=(TAKEN, name))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
for name, message in kept().items():
    if name not in lines(DONE):
        post(os.environ["TICKETS_URL"] + "/tickets", json.loads(message))
        add_line(DONE, name)
