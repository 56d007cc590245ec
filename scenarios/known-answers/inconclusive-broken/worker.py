"""Tells the partner only if the model happens to call the review urgent, so that no two runs need to be alike."""

import json
import os
import urllib.request

STATE = "state.json"


def post(service, path, body):
    headers = {"Content-Type": "application/json", "Idempotency-Key": "review-4471"}
    request = urllib.request.Request(os.environ[service] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


if not os.path.exists(STATE):
    prompt = [{"role": "user", "content": "How urgent is the review of partner 4471?"}]
    answer = post("MODEL_URL", "/v1/chat/completions", {"model": "gpt-4o-mini", "messages": prompt})
    text = answer["choices"][0]["message"]["content"]
    post("TICKETS_URL", "/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
    if "urgent" in text:
        post("NOTIFY_URL", "/messages", {"to": "partner-4471", "text": "Please expect a call today."})
    with open(STATE + ".new", "w") as file:
        json.dump({"text": text}, file)
    os.replace(STATE + ".new", STATE)
