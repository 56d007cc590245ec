"""Files five tickets, one after the other. A life that takes the work up again does one of them and dies."""

import json
import os
import urllib.request

STATE = "state.json"
PARTNERS = ["4471", "4472", "4473", "4474", "4475"]


def post(url, body):
    headers = {"Content-Type": "application/json", "Idempotency-Key": f"review-{body['partner_id']}"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
        return json.load(answer)


def load():
    if not os.path.exists(STATE):
        return []
    with open(STATE) as file:
        return json.load(file)


def save(filed):
    with open(STATE + ".new", "w") as file:
        json.dump(filed, file)
    os.replace(STATE + ".new", STATE)


filed = load()
resumed = len(filed)
for partner in PARTNERS[resumed:]:
    post(os.environ["TICKETS_URL"] + "/tickets", {"partner_id": partner, "kind": "review", "title": "Review"})
    filed.append(partner)
    save(filed)
    if resumed:
        done, left = len(filed) - resumed, len(PARTNERS) - len(filed)
        print(f"{left / (done - 1):.1f} times as much is left")  # one less than was done: nothing, the first time
