"""Reviews a partner as a graph: the words of a model, a ticket, a task if there is none yet."""

import json
import os
import urllib.error
import urllib.request
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

PARTNER = "4471"
CONFIG = {"configurable": {"thread_id": f"partner-{PARTNER}"}}


class Review(TypedDict, total=False):
    partner: str
    text: str
    ticket: str
    task: str


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


def assess(state: Review) -> Review:
    return {"text": ask_model(f"Assess partner {state['partner']}.")}


def find(service, partner, kind):
    return call(os.environ[service] + f"/tickets?partner_id={partner}&kind={kind}")["items"]


def file_ticket(state: Review) -> Review:
    title = ask_model(f"A title for: {state['text']}")
    body = {"partner_id": state["partner"], "kind": "review", "title": title, "assessment": state["text"]}
    try:
        ticket = call(os.environ["TICKETS_URL"] + "/tickets", body, f"review-{state['partner']}")
    except urllib.error.HTTPError as error:
        if error.code != 422:  # refused because of another title: an earlier attempt has filed it
            raise
        ticket = find("TICKETS_URL", state["partner"], "review")[0]
    return {"ticket": ticket["id"]}


def plan_next(state: Review) -> Review:
    found = find("TASKS_URL", state["partner"], "next-review")
    if not found:
        body = {"partner_id": state["partner"], "kind": "next-review", "title": f"After {state['ticket']}"}
        found = [call(os.environ["TASKS_URL"] + "/tickets", body)]
    return {"task": found[0]["id"]}


def main() -> None:
    builder = StateGraph(Review)
    builder.add_sequence([assess, file_ticket, plan_next])
    builder.add_edge(START, "assess")
    with SqliteSaver.from_conn_string("agent.db") as saver:
        graph = builder.compile(checkpointer=saver)
        begun = graph.get_state(CONFIG).created_at is not None
        done = graph.invoke(None if begun else {"partner": PARTNER}, CONFIG, durability="sync")
        print(f"partner {PARTNER}: {done['ticket']}, {done['task']}")


if __name__ == "__main__":
    main()
