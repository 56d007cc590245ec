"""Files under a key of the work. While the service works on another request with that key, it asks again."""

import json
import os
import time
import urllib.error
import urllib.request

DONE = "done.json"


def post(url, body):
    headers = {"Content-Type": "application/json", "Idempotency-Key": "review-4471"}
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code != 409:
                raise
            time.sleep(0.05)


if not os.path.exists(DONE):
    ticket = post(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
    with open(DONE, "w") as file:
        json.dump(ticket, file)
