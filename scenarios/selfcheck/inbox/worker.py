"""Works off an inbox: a ticket for each message and a task for what is urgent. What is done is struck off a list."""

import json
import os
import urllib.error
import urllib.request

INBOX = [
    {"id": "m-1", "partner": "4471", "text": "Please check the address.", "urgent": False},
    {"id": "m-2", "partner": "4472", "text": "The account is blocked.", "urgent": True},
    {"id": "m-3", "partner": "4473", "text": "A new director.", "urgent": False},
]
DONE = "done.json"


def call(url, body=None, message_id=None):
    headers = {"Content-Type": "application/json"}
    if message_id is not None:
        headers["Idempotency-Key"] = message_id
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as answer:
        return json.load(answer)


def read_done():
    if not os.path.exists(DONE):
        return []
    with open(DONE) as file:
        return json.load(file)


def strike_off(done, name):
    done.append(name)
    with open(DONE + ".new", "w") as file:
        json.dump(done, file)
    os.replace(DONE + ".new", DONE)


def find_task(partner):
    return call(os.environ["TASKS_URL"] + f"/tickets?partner_id={partner}&kind=urgent")["items"]


def main():
    done = read_done()
    for message in INBOX:
        if message["id"] not in done:
            ticket = {"partner_id": message["partner"], "kind": "message", "title": message["text"]}
            call(os.environ["TICKETS_URL"] + "/tickets", ticket, message["id"])
            strike_off(done, message["id"])
        if message["urgent"] and f"task {message['id']}" not in done:
            if not find_task(message["partner"]):
                task = {"partner_id": message["partner"], "kind": "urgent", "title": message["text"]}
                call(os.environ["TASKS_URL"] + "/tickets", task)
            strike_off(done, f"task {message['id']}")


if __name__ == "__main__":
    main()
