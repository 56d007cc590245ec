"""Partner review as a LangGraph graph: ask a model, have a person approve the words, file a ticket, tell the desk.

Settings, all from the environment:
    MODEL_URL, APPROVALS_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    RESUME   none | input | answer | next: what a restarted process hands to the graph, and when
"""

import json
import os
import time
from typing import TypedDict

import httpx
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

PARTNER_ID = "4471"
THREAD_ID = f"partner-{PARTNER_ID}"
CONFIG = {"configurable": {"thread_id": THREAD_ID}}
RESUME = os.environ.get("RESUME", "none")

CREATE_TICKET = {
    "type": "function",
    "function": {
        "name": "create_ticket",
        "description": "File a partner review in the case-management system.",
        "parameters": {
            "type": "object",
            "properties": {"title": {"type": "string"}, "summary": {"type": "string"}},
            "required": ["title", "summary"],
        },
    },
}

http = httpx.Client(timeout=60)


class Review(TypedDict, total=False):
    partner_id: str
    words: dict
    decision: str
    ticket: str
    message: str


def headers(step: str) -> dict:
    return {"Idempotency-Key": f"{THREAD_ID}:{step}"}


def write_words(state: Review) -> Review:
    answer = http.post(
        os.environ["MODEL_URL"] + "/v1/chat/completions",
        json={
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": f"File the review of partner {state['partner_id']} as a ticket."}],
            "tools": [CREATE_TICKET],
            "tool_choice": {"type": "function", "function": {"name": "create_ticket"}},
        },
    )
    message = answer.raise_for_status().json()["choices"][0]["message"]
    return {"words": json.loads(message["tool_calls"][0]["function"]["arguments"])}


def approve(state: Review) -> Review:
    return {"decision": interrupt(state["words"]["summary"])}


def file_ticket(state: Review) -> Review:
    body = {"partner_id": state["partner_id"], "kind": "partner-review", **state["words"]}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers("file_ticket"))
    if answer.status_code == 422:  # the key was used for other words: an earlier attempt has filed this ticket
        wanted = {"partner_id": state["partner_id"], "kind": "partner-review", "status": "open"}
        answer = http.get(os.environ["TICKETS_URL"] + "/tickets", params=wanted)
        return {"ticket": answer.raise_for_status().json()["items"][0]["id"]}
    return {"ticket": answer.raise_for_status().json()["id"]}


def notify(state: Review) -> Review:
    message = {"to": "risk-desk", "text": f"The review of partner {state['partner_id']} is filed."}
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json=message, headers=headers("notify"))
    return {"message": answer.raise_for_status().json()["id"]}


def ask_person(text: str) -> str:
    """Show exactly this text to a person and wait for the decision."""
    answer = http.post(os.environ["APPROVALS_URL"] + "/approvals", json={"case_id": THREAD_ID, "text": text})
    request = answer.raise_for_status().json()
    while not request.get("decision"):
        time.sleep(0.5)
        request = http.get(f"{os.environ['APPROVALS_URL']}/approvals/{request['id']}").raise_for_status().json()
    return request["decision"]


def earlier_answer() -> str | None:
    """The decision that a person has already made on this case, if there is one."""
    answer = http.get(os.environ["APPROVALS_URL"] + "/approvals", params={"case_id": THREAD_ID})
    decided = [item["decision"] for item in answer.raise_for_status().json()["items"] if item.get("decision")]
    return decided[-1] if decided else None


def run(review, given) -> None:
    """Carry on until the graph has come to its end, asking a person whenever it wants one asked."""
    done = review.invoke(given, CONFIG, durability="sync")
    while "__interrupt__" in done:
        decision = ask_person(done["__interrupt__"][0].value)
        done = review.invoke(Command(resume=decision), CONFIG, durability="sync")
    print(f"{THREAD_ID}: {done['decision']}, ticket {done['ticket']}")


def main() -> None:
    builder = StateGraph(Review)
    builder.add_sequence([write_words, approve, file_ticket, notify])
    builder.add_edge(START, "write_words")
    with SqliteSaver.from_conn_string("agent.db") as saver:
        review = builder.compile(checkpointer=saver)
        state = review.get_state(CONFIG)
        if state.created_at is None or RESUME == "input":
            run(review, {"partner_id": PARTNER_ID})
        elif RESUME == "answer" and (decision := earlier_answer()):
            run(review, Command(resume=decision))
        elif RESUME == "next" and not state.next:
            print(f"{THREAD_ID}: nothing left to do")
        else:
            run(review, None)


if __name__ == "__main__":
    main()
