"""Reviews a partner: the words of a model, a person's approval, a ticket, a task; a JSON file says what is done."""

import json
import os
import urllib.request

JOURNAL = "journal.json"
PARTNER = "4471"


def post(service, path, body, key=None):
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    request = urllib.request.Request(os.environ[service] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def load():
    if not os.path.exists(JOURNAL):
        return {}
    with open(JOURNAL) as file:
        return json.load(file)


def save(journal):
    with open(JOURNAL + ".new", "w") as file:
        json.dump(journal, file)
    os.replace(JOURNAL + ".new", JOURNAL)


def write_assessment():
    prompt = [{"role": "user", "content": f"Assess partner {PARTNER}."}]
    answer = post("MODEL_URL", "/v1/chat/completions", {"model": "gpt-4o-mini", "messages": prompt})
    return answer["choices"][0]["message"]["content"]


def main():
    journal = load()
    if "text" not in journal:
        journal["text"] = write_assessment()
        save(journal)
    if "approval" not in journal:
        request = {"case_id": PARTNER, "text": journal["text"]}
        journal["approval"] = post("APPROVALS_URL", "/approvals", request)["id"]
        save(journal)
    if "ticket" not in journal:
        ticket = {"partner_id": PARTNER, "kind": "review", "title": "Review", "assessment": journal["text"]}
        journal["ticket"] = post("TICKETS_URL", "/tickets", ticket, f"review-{PARTNER}")["id"]
        save(journal)
    if "task" not in journal:
        task = {"partner_id": PARTNER, "kind": "next-review", "title": f"After {journal['ticket']}"}
        journal["task"] = post("TASKS_URL", "/tickets", task, f"next-review-{PARTNER}")["id"]
        save(journal)
    print(f"partner {PARTNER}: {journal['ticket']}, {journal['task']}")


if __name__ == "__main__":
    main()
