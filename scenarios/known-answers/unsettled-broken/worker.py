"""An engine that keeps what a step came to in the background, and begins the next step meanwhile.

Killed once the write has landed it is right. Killed while it is under way, it has forgotten a step that was made.
"""

import json
import os
import sqlite3
import threading
import urllib.request

CONVERSATION = "What has been said so far. " * 200_000


def call(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


class Engine:
    """Runs steps, and keeps what came of each; in the background, so that nobody waits for the disk."""

    def __init__(self):
        self.store = sqlite3.connect("steps.db", check_same_thread=False)
        self.store.execute("create table if not exists steps (name text primary key, result text, conversation text)")
        self.store.commit()
        self.done = dict(self.store.execute("select name, result from steps").fetchall())

    def run(self, step):
        if step.__name__ in self.done:
            return None
        result = step()
        row = (step.__name__, json.dumps(result), CONVERSATION)
        self.store.execute("insert into steps values (?, ?, ?)", row)
        writing = threading.Thread(target=self.store.commit)
        writing.start()
        return writing


def file_ticket():
    return call(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})


def tell_desk():
    return call(os.environ["NOTIFY_URL"] + "/messages", {"to": "desk", "text": "The review of 4471 is filed."})


engine = Engine()
writing = None
for step in (file_ticket, tell_desk):
    writing = engine.run(step) or writing
if writing:
    writing.join()
