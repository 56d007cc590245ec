"""Partner review as a LlamaIndex workflow: ask a model for the words, file a ticket, tell the desk.

Settings, all from the environment:
    MODEL_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    CONTEXT   none | file: keep nothing, or keep the context in a file whenever a step begins or ends
    KEY       none | stable: the idempotency key sent along with a write
"""

import asyncio
import json
import os
from pathlib import Path

import httpx
from workflows import Context, Workflow, step
from workflows.events import Event, StartEvent, StepStateChanged, StopEvent
from workflows.handler import WorkflowHandler

PARTNER_ID = "4471"
SAVED = Path("context.json")

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


class Review(StartEvent):
    partner_id: str


class Worded(Event):
    partner_id: str
    title: str
    summary: str


class Filed(Event):
    partner_id: str
    ticket_id: str


def headers(name: str) -> dict:
    return {"Idempotency-Key": f"partner-{PARTNER_ID}:{name}"} if os.environ.get("KEY") == "stable" else {}


class PartnerReview(Workflow):
    @step
    async def write_words(self, event: Review) -> Worded:
        async with httpx.AsyncClient(timeout=60) as http:
            answer = await http.post(
                os.environ["MODEL_URL"] + "/v1/chat/completions",
                json={
                    "model": "gpt-4o-mini",
                    "messages": [{"role": "user", "content": f"File the review of {event.partner_id} as a ticket."}],
                    "tools": [CREATE_TICKET],
                    "tool_choice": {"type": "function", "function": {"name": "create_ticket"}},
                },
            )
        message = answer.raise_for_status().json()["choices"][0]["message"]
        words = json.loads(message["tool_calls"][0]["function"]["arguments"])
        return Worded(partner_id=event.partner_id, **words)

    @step
    async def file_ticket(self, event: Worded) -> Filed:
        body = {"partner_id": event.partner_id, "kind": "partner-review", "title": event.title}
        body["summary"] = event.summary
        async with httpx.AsyncClient(timeout=60) as http:
            answer = await http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers("file_ticket"))
            if answer.status_code == 422:  # the key was used for other words: an earlier attempt has filed this ticket
                wanted = {"partner_id": event.partner_id, "kind": "partner-review", "status": "open"}
                answer = await http.get(os.environ["TICKETS_URL"] + "/tickets", params=wanted)
                return Filed(partner_id=event.partner_id, ticket_id=answer.raise_for_status().json()["items"][0]["id"])
        return Filed(partner_id=event.partner_id, ticket_id=answer.raise_for_status().json()["id"])

    @step
    async def notify(self, event: Filed) -> StopEvent:
        body = {"to": "risk-desk", "text": f"The review of partner {event.partner_id} is filed."}
        async with httpx.AsyncClient(timeout=60) as http:
            answer = await http.post(os.environ["NOTIFY_URL"] + "/messages", json=body, headers=headers("notify"))
        answer.raise_for_status()
        return StopEvent(result=event.ticket_id)


def begin(workflow: PartnerReview) -> WorkflowHandler:
    """Carry on with the saved context, if there is one."""
    if os.environ.get("CONTEXT") == "file" and SAVED.exists():
        return workflow.run(ctx=Context.from_dict(workflow, json.loads(SAVED.read_text())))
    return workflow.run(start_event=Review(partner_id=PARTNER_ID))


def save(context: Context) -> None:
    draft = SAVED.with_suffix(".new")
    draft.write_text(json.dumps(context.to_dict()))
    draft.replace(SAVED)


async def main() -> None:
    handler = begin(PartnerReview(timeout=None))
    async for event in handler.stream_events(expose_internal=True):
        if os.environ.get("CONTEXT") == "file" and isinstance(event, StepStateChanged):
            save(handler.ctx)
    print(f"partner {PARTNER_ID}: ticket {await handler}")


if __name__ == "__main__":
    asyncio.run(main())
