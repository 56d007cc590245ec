"""Files a ticket for a late payment and tells the customer. Remembers what it has done in state.json."""

import json
import os
import urllib.request

TICKETS = os.environ["TICKETS_URL"]
MESSAGES = os.environ.get("NOTIFY_URL", TICKETS)
STATE = "state.json"


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def remember(state):
    with open(STATE + ".new", "w") as file:
        json.dump(state, file)
    os.replace(STATE + ".new", STATE)


state = {}
if os.path.exists(STATE):
    with open(STATE) as file:
        state = json.load(file)

if "ticket" not in state:
    ticket = post(TICKETS + "/tickets", {"partner_id": "4471", "kind": "late-payment", "title": "Invoice 88 is late"})
    state["ticket"] = ticket["id"]
    remember(state)

if "told" not in state:
    post(MESSAGES + "/messages", {"to": "partner-4471", "text": "We are looking into invoice 88."})
    state["told"] = True
    remember(state)

print("done", state["ticket"])
