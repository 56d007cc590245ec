"""Has an assessment approved and remembers that it was, but not its words; a restarted model finds others."""

import json
import os
import urllib.request

STATE = "state.json"


def post(service, path, body):
    headers = {"Content-Type": "application/json", "Idempotency-Key": f"review-4471{path}"}
    request = urllib.request.Request(os.environ[service] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def write_assessment():
    prompt = [{"role": "user", "content": "Assess partner 4471."}]
    answer = post("MODEL_URL", "/v1/chat/completions", {"model": "gpt-4o-mini", "messages": prompt})
    return answer["choices"][0]["message"]["content"]


def load():
    if not os.path.exists(STATE):
        return {}
    with open(STATE) as file:
        return json.load(file)


def save(state):
    with open(STATE + ".new", "w") as file:
        json.dump(state, file)
    os.replace(STATE + ".new", STATE)


state = load()
if "ticket" not in state:
    text = write_assessment()
    if "approval" not in state:
        state["approval"] = post("APPROVALS_URL", "/approvals", {"case_id": "4471", "text": text})["id"]
        save(state)
    ticket = {"partner_id": "4471", "kind": "review", "title": "Review", "assessment": text}
    state["ticket"] = post("TICKETS_URL", "/tickets", ticket)["id"]
    save(state)
