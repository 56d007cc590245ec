"""Partner review by an agent of OpenAI's Agents SDK with a SQLite session: it files a ticket and tells the desk.

Settings, all from the environment:
    MODEL_URL, TICKETS_URL, NOTIFY_URL   base URLs of the services
    RESUME   input | continue: what a restarted process gives to the runner, once the session holds something
    KEY      none | stable: the idempotency key sent along with a write
"""

import asyncio
import os

import httpx
from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

PARTNER_ID = "4471"
SESSION_ID = f"partner-{PARTNER_ID}"

set_tracing_disabled(True)
client = AsyncOpenAI(base_url=os.environ["MODEL_URL"] + "/v1", api_key=os.environ.get("MODEL_API_KEY", "unused"))


def headers(step: str) -> dict:
    return {"Idempotency-Key": f"{SESSION_ID}:{step}"} if os.environ.get("KEY") == "stable" else {}


@function_tool
async def create_ticket(title: str, summary: str) -> str:
    """File a partner review in the case-management system."""
    body = {"partner_id": PARTNER_ID, "kind": "partner-review", "title": title, "summary": summary}
    async with httpx.AsyncClient(timeout=60) as http:
        answer = await http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers("create_ticket"))
        if answer.status_code == 422:  # the key was used for other words: an earlier attempt has filed this ticket
            wanted = {"partner_id": PARTNER_ID, "kind": "partner-review", "status": "open"}
            answer = await http.get(os.environ["TICKETS_URL"] + "/tickets", params=wanted)
            return f"filed as {answer.raise_for_status().json()['items'][0]['id']}"
        return f"filed as {answer.raise_for_status().json()['id']}"


@function_tool
async def tell_desk(text: str) -> str:
    """Send a message to the risk desk."""
    body = {"to": "risk-desk", "text": text}
    async with httpx.AsyncClient(timeout=60) as http:
        answer = await http.post(os.environ["NOTIFY_URL"] + "/messages", json=body, headers=headers("tell_desk"))
        return f"sent as {answer.raise_for_status().json()['id']}"


agent = Agent(
    name="Reviewer",
    instructions="File the review that you are asked for as a ticket, then tell the risk desk.",
    model=OpenAIChatCompletionsModel(model="gpt-4o-mini", openai_client=client),
    tools=[create_ticket, tell_desk],
)


async def main() -> None:
    session = SQLiteSession(SESSION_ID, "sessions.db")
    begun = bool(await session.get_items())
    question = [] if begun and os.environ.get("RESUME") == "continue" else f"Review partner {PARTNER_ID}."
    result = await Runner.run(agent, question, session=session)
    print(f"{SESSION_ID}: {result.final_output}")
    session.close()


if __name__ == "__main__":
    asyncio.run(main())
