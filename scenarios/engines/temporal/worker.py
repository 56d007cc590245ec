"""Partner review on Temporal: ask a model, file a ticket, tell the desk; each an activity of one workflow.

Settings, all from the environment:
    TEMPORAL_ADDRESS   the server
    MODEL_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    ACTIVITY   timeout | heartbeat | local | once: how the workflow runs its activities
    KEY        none | stable: the idempotency key sent along with a write
"""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    import httpx

TASK_QUEUE = "partner-reviews"
ACTIVITY = os.environ.get("ACTIVITY", "timeout")

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


def headers() -> dict:
    if os.environ.get("KEY") != "stable":
        return {}
    info = activity.info()
    return {"Idempotency-Key": f"{info.workflow_id}:{info.activity_type}"}


@contextlib.asynccontextmanager
async def heartbeats() -> AsyncIterator[None]:
    """Tell the server that this activity is alive, where it is told to expect that."""

    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(2)

    beating = asyncio.create_task(beat()) if ACTIVITY == "heartbeat" else None
    try:
        yield
    finally:
        if beating is not None:
            beating.cancel()


class Desk:
    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    @activity.defn
    async def write_words(self, partner_id: str) -> dict:
        async with heartbeats():
            answer = await self.http.post(
                os.environ["MODEL_URL"] + "/v1/chat/completions",
                json={
                    "model": "gpt-4o-mini",
                    "messages": [{"role": "user", "content": f"File the review of partner {partner_id} as a ticket."}],
                    "tools": [CREATE_TICKET],
                    "tool_choice": {"type": "function", "function": {"name": "create_ticket"}},
                },
            )
        message = answer.raise_for_status().json()["choices"][0]["message"]
        return json.loads(message["tool_calls"][0]["function"]["arguments"])

    @activity.defn
    async def file_ticket(self, partner_id: str, words: dict) -> str:
        body = {"partner_id": partner_id, "kind": "partner-review", **words}
        async with heartbeats():
            answer = await self.http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers())
            if answer.status_code == 422:  # the key was used for other words: an earlier attempt has filed this ticket
                wanted = {"partner_id": partner_id, "kind": "partner-review", "status": "open"}
                answer = await self.http.get(os.environ["TICKETS_URL"] + "/tickets", params=wanted)
                return answer.raise_for_status().json()["items"][0]["id"]
        return answer.raise_for_status().json()["id"]

    @activity.defn
    async def notify(self, partner_id: str) -> str:
        message = {"to": "risk-desk", "text": f"The review of partner {partner_id} is filed."}
        async with heartbeats():
            answer = await self.http.post(os.environ["NOTIFY_URL"] + "/messages", json=message, headers=headers())
        return answer.raise_for_status().json()["id"]


async def run_activity(method, *arguments):
    if ACTIVITY == "local":
        return await workflow.execute_local_activity_method(
            method, args=arguments, start_to_close_timeout=timedelta(seconds=30)
        )
    if ACTIVITY == "heartbeat":
        return await workflow.execute_activity_method(
            method,
            args=arguments,
            start_to_close_timeout=timedelta(seconds=30),
            heartbeat_timeout=timedelta(seconds=10),
        )
    return await workflow.execute_activity_method(
        method,
        args=arguments,
        start_to_close_timeout=timedelta(seconds=3 if ACTIVITY == "once" else 10),
        retry_policy=RetryPolicy(maximum_attempts=1) if ACTIVITY == "once" else None,
    )


@workflow.defn
class Review:
    @workflow.run
    async def run(self, partner_id: str) -> str:
        words = await run_activity(Desk.write_words, partner_id)
        ticket = await run_activity(Desk.file_ticket, partner_id, words)
        await run_activity(Desk.notify, partner_id)
        return ticket


async def main() -> None:
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    async with httpx.AsyncClient(timeout=60) as http:
        desk = Desk(http)
        worker = Worker(
            client,
            task_queue=TASK_QUEUE,
            workflows=[Review],
            activities=[desk.write_words, desk.file_ticket, desk.notify],
        )
        await worker.run()


if __name__ == "__main__":
    asyncio.run(main())
