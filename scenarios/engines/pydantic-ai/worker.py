"""Partner review by a Pydantic AI agent inside of a DBOS workflow: it files a ticket and tells the desk, by tools.

Settings, all from the environment:
    MODEL_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    TOOL   function | step: tools as plain functions, or each of them a step of DBOS
    KEY    none | stable: the idempotency key sent along with a write
"""

import asyncio
import os

import httpx
from dbos import DBOS, DBOSConfig, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

PARTNER_ID = "4471"
WORKFLOW_ID = f"partner-{PARTNER_ID}"

config: DBOSConfig = {
    "name": "partner-review",
    "system_database_url": "sqlite:///dbos.sqlite",
    "application_version": "1",
    "log_level": "WARNING",
}
DBOS(config=config)

provider = OpenAIProvider(base_url=os.environ["MODEL_URL"] + "/v1", api_key=os.environ.get("MODEL_API_KEY", "unused"))
agent = Agent(
    OpenAIChatModel("gpt-4o-mini", provider=provider),
    name="reviewer",
    instructions="File the review that you are asked for as a ticket, then tell the risk desk.",
    capabilities=[DBOSDurability()],
)


def tool(function):
    """Give the agent a tool, as a step where that is asked for."""
    return agent.tool_plain(DBOS.step()(function) if os.environ.get("TOOL") == "step" else function)


def headers(step: str) -> dict:
    return {"Idempotency-Key": f"{DBOS.workflow_id}:{step}"} if os.environ.get("KEY") == "stable" else {}


@tool
async def create_ticket(title: str, summary: str) -> str:
    """File a partner review in the case-management system."""
    body = {"partner_id": PARTNER_ID, "kind": "partner-review", "title": title, "summary": summary}
    async with httpx.AsyncClient(timeout=60) as http:
        answer = await http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers("create_ticket"))
        return f"filed as {answer.raise_for_status().json()['id']}"


@tool
async def tell_desk(text: str) -> str:
    """Send a message to the risk desk."""
    body = {"to": "risk-desk", "text": text}
    async with httpx.AsyncClient(timeout=60) as http:
        answer = await http.post(os.environ["NOTIFY_URL"] + "/messages", json=body, headers=headers("tell_desk"))
        return f"sent as {answer.raise_for_status().json()['id']}"


@DBOS.workflow()
async def review(partner_id: str) -> str:
    result = await agent.run(f"Review partner {partner_id}.")
    return result.output


async def main() -> None:
    DBOS.launch()  # also takes up what a process of this version and executor left unfinished
    with SetWorkflowID(WORKFLOW_ID):
        handle = await DBOS.start_workflow_async(review, PARTNER_ID)
    print(f"{WORKFLOW_ID}: {await handle.get_result()}")
    DBOS.destroy()


if __name__ == "__main__":
    asyncio.run(main())
