"""An agent whose model asks for two tools at once; LangGraph's ToolNode runs them.

Settings, all from the environment:
    MODEL_URL, TICKETS_URL, APPROVALS_URL, NOTIFY_URL   base URLs of the services
    TOOLS   batch | each: all calls of one answer as one run of the node, or one run of it for each call
"""

import json
import os
import time
from typing import Annotated

import httpx
from langchain_core.messages import AIMessage, HumanMessage, convert_to_openai_messages
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send

PARTNER_ID = "4471"
THREAD_ID = f"partner-{PARTNER_ID}"
CONFIG = {"configurable": {"thread_id": THREAD_ID}}

http = httpx.Client(timeout=60)


@tool
def create_ticket(title: Annotated[str, "title of the ticket"]) -> str:
    """File the review of the partner as a ticket."""
    ticket = {"partner_id": PARTNER_ID, "kind": "partner-review", "title": title}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=ticket)
    return f"filed as {answer.raise_for_status().json()['id']}"


@tool
def tell_desk(text: Annotated[str, "what the desk should read"]) -> str:
    """Send a message to the risk desk, once a person has agreed to it."""
    answer = http.post(os.environ["APPROVALS_URL"] + "/approvals", json={"case_id": THREAD_ID, "text": text})
    request = answer.raise_for_status().json()
    while not request.get("decision"):
        time.sleep(0.5)
        request = http.get(f"{os.environ['APPROVALS_URL']}/approvals/{request['id']}").raise_for_status().json()
    if request["decision"] != "approved":
        return "a person does not want this message to be sent"
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json={"to": "risk-desk", "text": text})
    return f"sent as {answer.raise_for_status().json()['id']}"


TOOLS = [create_ticket, tell_desk]


def call_model(state: MessagesState) -> MessagesState:
    answer = http.post(
        os.environ["MODEL_URL"] + "/v1/chat/completions",
        json={
            "model": "gpt-4o-mini",
            "messages": convert_to_openai_messages(state["messages"]),
            "tools": [convert_to_openai_tool(one) for one in TOOLS],
        },
    )
    said = answer.raise_for_status().json()["choices"][0]["message"]
    calls = [
        {"name": call["function"]["name"], "args": json.loads(call["function"]["arguments"]), "id": call["id"]}
        for call in said.get("tool_calls") or []
    ]
    return {"messages": [AIMessage(content=said.get("content") or "", tool_calls=calls)]}


def next_step(state: MessagesState):
    calls = state["messages"][-1].tool_calls
    if not calls:
        return END
    if os.environ.get("TOOLS") == "each":
        return [Send("tools", [{**call, "type": "tool_call"}]) for call in calls]
    return "tools"


def build_graph(saver: SqliteSaver):
    graph = StateGraph(MessagesState)
    graph.add_node("model", call_model)
    graph.add_node("tools", ToolNode(TOOLS, handle_tool_errors=False))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", next_step, ["tools", END])
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=saver)


def main() -> None:
    with SqliteSaver.from_conn_string("agent.db") as saver:
        graph = build_graph(saver)
        begun = graph.get_state(CONFIG).created_at is not None
        question = {"messages": [HumanMessage(f"File the review of partner {PARTNER_ID} and tell the risk desk.")]}
        state = graph.invoke(None if begun else question, CONFIG, durability="sync")
        print(f"{THREAD_ID}: {state['messages'][-1].content}")


if __name__ == "__main__":
    main()
