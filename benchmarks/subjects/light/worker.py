"""Files as many tickets as it is told, and remembers in a file what it has filed."""

import json
import os
import urllib.request

STATE = "state.json"
COUNT = int(os.environ.get("COUNT", "2"))


def post(body):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


filed = []
if os.path.exists(STATE):
    with open(STATE) as file:
        filed = json.load(file)
for number in range(len(filed), COUNT):
    filed.append(post({"partner_id": str(number), "kind": "review", "title": f"Review {number}"})["id"])
    with open(STATE + ".new", "w") as file:
        json.dump(filed, file)
    os.replace(STATE + ".new", STATE)
