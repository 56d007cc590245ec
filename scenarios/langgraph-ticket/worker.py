"""Partner review: research a business partner, have the assessment approved by a person, file a ticket, tell the desk.

Settings, all from the environment:
    SEARCH_URL, MODEL_URL, APPROVALS_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    DURABILITY   exit | async | sync: when LangGraph writes its checkpoints
    RESUME       none | input | answer: what a restarted process hands to the graph
    KEY          none | payload | fixed: the idempotency key sent along with a write
"""

import hashlib
import json
import os
import time
from typing import TypedDict

import httpx
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

PARTNER = {"partner_id": "4471", "partner_name": "Aurelia Trade Finance"}
THREAD_ID = f"partner-{PARTNER['partner_id']}"
CONFIG = {"configurable": {"thread_id": THREAD_ID}}
DURABILITY = os.environ.get("DURABILITY", "async")
RESUME = os.environ.get("RESUME", "none")
KEY = os.environ.get("KEY", "none")

http = httpx.Client(timeout=120)

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


class Review(TypedDict, total=False):
    partner_id: str
    partner_name: str
    registry: list
    news: list
    assessment: str
    decision: str
    ticket_id: str
    message_id: str


def search(source: str, question: str) -> list:
    answer = http.get(os.environ["SEARCH_URL"] + "/search", params={"source": source, "q": question})
    return answer.raise_for_status().json()["results"]


def ask_model(prompt: str, **options) -> dict:
    """Ask the model, at any endpoint that speaks OpenAI's chat completions."""
    answer = http.post(
        os.environ["MODEL_URL"] + "/v1/chat/completions",
        json={"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}], **options},
        headers={"Authorization": f"Bearer {os.environ.get('MODEL_API_KEY', 'unused')}"},
    )
    return answer.raise_for_status().json()["choices"][0]["message"]


def post(url: str, step: str, body: dict) -> httpx.Response:
    """Write to a service, with the idempotency key of the chosen strategy."""
    content = json.dumps(body).encode()
    headers = {"Content-Type": "application/json"}
    if KEY == "payload":
        headers["Idempotency-Key"] = hashlib.sha256(content).hexdigest()
    elif KEY == "fixed":
        headers["Idempotency-Key"] = f"{THREAD_ID}:{step}"
    return http.post(url, content=content, headers=headers)


def search_registry(state: Review) -> Review:
    return {"registry": search("registry", state["partner_name"])}


def search_news(state: Review) -> Review:
    return {"news": search("news", state["partner_name"])}


def assess(state: Review) -> Review:
    findings = json.dumps({"registry": state["registry"], "news": state["news"]})
    message = ask_model(f"Write an assessment of {state['partner_name']} for the risk desk. Findings: {findings}")
    return {"assessment": message["content"]}


def approve(state: Review) -> Review:
    return {"decision": interrupt(state["assessment"])}


def file_ticket(state: Review) -> Review:
    message = ask_model(
        f"File the approved assessment of {state['partner_name']} as a ticket: {state['assessment']}",
        tools=[CREATE_TICKET],
        tool_choice={"type": "function", "function": {"name": "create_ticket"}},
    )
    words = json.loads(message["tool_calls"][0]["function"]["arguments"])
    answer = post(
        os.environ["TICKETS_URL"] + "/tickets",
        "file_ticket",
        {
            "partner_id": state["partner_id"],
            "kind": "partner-review",
            "title": words["title"],
            "summary": words["summary"],
            "assessment": state["assessment"],
        },
    )
    if answer.status_code == 422:  # the key was used for other words: an earlier attempt has filed this ticket
        return {"ticket_id": open_ticket(state["partner_id"])}
    return {"ticket_id": answer.raise_for_status().json()["id"]}


def open_ticket(partner_id: str) -> str:
    wanted = {"partner_id": partner_id, "kind": "partner-review", "status": "open"}
    answer = http.get(os.environ["TICKETS_URL"] + "/tickets", params=wanted)
    return answer.raise_for_status().json()["items"][0]["id"]


def notify(state: Review) -> Review:
    message = {
        "to": "risk-desk",
        "text": f"The review of partner {state['partner_id']} is filed.",
        "ticket_id": state["ticket_id"],
    }
    answer = post(os.environ["NOTIFY_URL"] + "/messages", "notify", message)
    return {"message_id": answer.raise_for_status().json()["id"]}


def build_graph(saver: SqliteSaver):
    graph = StateGraph(Review)
    for node in (search_registry, search_news, assess, approve, file_ticket, notify):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "search_registry")
    graph.add_edge("search_registry", "search_news")
    graph.add_edge("search_news", "assess")
    graph.add_edge("assess", "approve")
    graph.add_conditional_edges(
        "approve", lambda state: "file_ticket" if state["decision"] == "approved" else END, ["file_ticket", END]
    )
    graph.add_edge("file_ticket", "notify")
    graph.add_edge("notify", END)
    return graph.compile(checkpointer=saver)


def ask_human(text: str) -> str:
    """Show exactly this text to a person and wait for the decision."""
    answer = post(os.environ["APPROVALS_URL"] + "/approvals", "approve", {"case_id": THREAD_ID, "text": text})
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


def first_step(graph):
    """What the graph is given when this process starts: the case, or a word to carry on."""
    if graph.get_state(CONFIG).created_at is None:  # no checkpoint at all: nobody has begun
        return PARTNER
    if RESUME == "input":
        return PARTNER
    if RESUME == "answer" and (decision := earlier_answer()):
        return Command(resume=decision)
    return None


def main() -> None:
    with SqliteSaver.from_conn_string("agent.db") as saver:
        graph = build_graph(saver)
        step = first_step(graph)
        while True:
            state = graph.invoke(step, CONFIG, durability=DURABILITY)
            if "__interrupt__" not in state:
                break
            step = Command(resume=ask_human(state["__interrupt__"][0].value))
        print(f"{THREAD_ID}: {state.get('decision')}, ticket {state.get('ticket_id')}")


if __name__ == "__main__":
    main()
