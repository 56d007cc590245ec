"""Partner review by a Pydantic AI agent inside of a Temporal workflow: it files a ticket and tells the desk, by tools.

Settings, all from the environment:
    TEMPORAL_ADDRESS   the server
    MODEL_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    TOOL   activity | function: tools as activities, or as code of the workflow
    KEY    none | stable: the idempotency key sent along with a write
"""

import asyncio
import os
import signal
from datetime import timedelta

import httpx
from pydantic_ai import Agent
from pydantic_ai.durable_exec.temporal import PydanticAIPlugin, PydanticAIWorkflow, TemporalDurability
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.toolsets import FunctionToolset
from temporalio import workflow
from temporalio.client import Client
from temporalio.worker import Worker
from temporalio.workflow import ActivityConfig

TASK_QUEUE = "partner-reviews"
PARTNER_ID = "4471"
# Read here, since a workflow may not look at its environment.
TICKETS_URL = os.environ["TICKETS_URL"]
NOTIFY_URL = os.environ["NOTIFY_URL"]
TOOL = os.environ.get("TOOL", "activity")
KEY = os.environ.get("KEY", "none")

tools = FunctionToolset(id="desk", metadata={"temporal": False} if TOOL == "function" else None)


def headers(step: str) -> dict:
    return {"Idempotency-Key": f"partner-{PARTNER_ID}:{step}"} if KEY == "stable" else {}


async def post(url: str, body: dict, step: str) -> str:
    """Write to a service, and return the id of what that made."""
    if TOOL == "function":
        return post_blocking(url, body, step)
    async with httpx.AsyncClient(timeout=60) as http:
        answer = await http.post(url, json=body, headers=headers(step))
    return answer.raise_for_status().json()["id"]


def post_blocking(url: str, body: dict, step: str) -> str:
    """Do the same where the event loop has no sockets, as that of a workflow."""
    answer = httpx.post(url, json=body, headers=headers(step), timeout=60)
    return answer.raise_for_status().json()["id"]


@tools.tool_plain
async def create_ticket(title: str, summary: str) -> str:
    """File a partner review in the case-management system."""
    body = {"partner_id": PARTNER_ID, "kind": "partner-review", "title": title, "summary": summary}
    ticket = await post(TICKETS_URL + "/tickets", body, "create_ticket")
    return f"filed as {ticket}"


@tools.tool_plain
async def tell_desk(text: str) -> str:
    """Send a message to the risk desk."""
    message = await post(NOTIFY_URL + "/messages", {"to": "risk-desk", "text": text}, "tell_desk")
    return f"sent as {message}"


provider = OpenAIProvider(base_url=os.environ["MODEL_URL"] + "/v1", api_key=os.environ.get("MODEL_API_KEY", "unused"))
agent = Agent(
    OpenAIChatModel("gpt-4o-mini", provider=provider),
    name="reviewer",
    instructions="File the review that you are asked for as a ticket, then tell the risk desk.",
    toolsets=[tools],
    capabilities=[TemporalDurability(activity_config=ActivityConfig(start_to_close_timeout=timedelta(seconds=20)))],
)


@workflow.defn
class Review(PydanticAIWorkflow):
    __pydantic_ai_agents__ = (agent,)

    @workflow.run
    async def run(self, partner_id: str) -> str:
        result = await agent.run(f"Review partner {partner_id}.")
        return result.output


async def main() -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"], plugins=[PydanticAIPlugin()])
    async with Worker(
        client,
        task_queue=TASK_QUEUE,
        workflows=[Review],
        build_id="1",  # without one, Temporal reads the code of every imported module to make one up
    ):
        await stopping.wait()


if __name__ == "__main__":
    asyncio.run(main())
