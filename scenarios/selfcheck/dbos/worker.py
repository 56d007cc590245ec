"""Reviews a partner as a DBOS workflow: the words of a model, a ticket, a task if there is none yet."""

import json
import os
import urllib.request

from dbos import DBOS, DBOSConfig, SetWorkflowID

PARTNER = "4471"

config: DBOSConfig = {
    "name": "review",
    "system_database_url": "sqlite:///dbos.sqlite",
    "application_version": "1",
    "log_level": "WARNING",
}
DBOS(config=config)


def call(url, body=None, key=None):
    headers = {"Content-Type": "application/json"}
    if key is not None:
        headers["Idempotency-Key"] = key
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as answer:
        return json.load(answer)


def ask_model(prompt):
    messages = [{"role": "user", "content": prompt}]
    answer = call(os.environ["MODEL_URL"] + "/v1/chat/completions", {"model": "gpt-4o-mini", "messages": messages})
    return answer["choices"][0]["message"]["content"]


def find(service, partner, kind):
    return call(os.environ[service] + f"/tickets?partner_id={partner}&kind={kind}")["items"]


@DBOS.step()
def assess(partner):
    return ask_model(f"Assess partner {partner}.")


@DBOS.step()
def file_ticket(partner, text):
    body = {"partner_id": partner, "kind": "review", "title": f"Review of {partner}", "assessment": text}
    ticket = call(os.environ["TICKETS_URL"] + "/tickets", body, f"{DBOS.workflow_id}:ticket")
    return ticket["id"]


@DBOS.step()
def plan_next(partner, ticket):
    found = find("TASKS_URL", partner, "next-review")
    if not found:
        body = {"partner_id": partner, "kind": "next-review", "title": f"After {ticket}"}
        found = [call(os.environ["TASKS_URL"] + "/tickets", body)]
    return found[0]["id"]


@DBOS.workflow()
def review(partner):
    text = assess(partner)
    ticket = file_ticket(partner, text)
    task = plan_next(partner, ticket)
    return f"{ticket}, {task}"


def main() -> None:
    DBOS.launch()  # also takes up what a process of this version left unfinished
    with SetWorkflowID(f"partner-{PARTNER}"):
        handle = DBOS.start_workflow(review, PARTNER)
    print(f"partner {PARTNER}: {handle.get_result()}")
    DBOS.destroy()


if __name__ == "__main__":
    main()
