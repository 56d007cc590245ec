"""Partner review on Temporal: one activity, a plain function, has a model assess the partner and files the ticket.

Settings, all from the environment:
    TEMPORAL_ADDRESS         the server
    MODEL_URL, TICKETS_URL   base URLs of the services
    FENCE   none | deadline | key: what keeps an attempt that Temporal has given up from filing a ticket as well
"""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    import httpx

TASK_QUEUE = "partner-reviews"
FENCE = os.environ.get("FENCE", "none")
http = httpx.Client(timeout=60)


def assess(partner_id: str) -> str:
    question = f"What is the risk of partner {partner_id}?"
    answer = http.post(
        os.environ["MODEL_URL"] + "/v1/chat/completions",
        json={"model": "gpt-4o-mini", "messages": [{"role": "user", "content": question}]},
    )
    return answer.raise_for_status().json()["choices"][0]["message"]["content"]


@activity.defn
def review_partner(partner_id: str) -> str:
    info = activity.info()
    assessment = assess(partner_id)
    if FENCE == "deadline" and datetime.now(UTC) > info.started_time + info.start_to_close_timeout:
        raise ApplicationError("too late: another attempt has this review by now")
    headers = {"Idempotency-Key": info.workflow_id} if FENCE == "key" else {}
    body = {"partner_id": partner_id, "kind": "partner-review", "title": assessment}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers)
    return answer.raise_for_status().json()["id"]


@workflow.defn
class Review:
    @workflow.run
    async def run(self, partner_id: str) -> str:
        return await workflow.execute_activity(
            review_partner,
            partner_id,
            start_to_close_timeout=timedelta(seconds=2),
            retry_policy=RetryPolicy(initial_interval=timedelta(seconds=3)),
        )


async def main() -> None:
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    with ThreadPoolExecutor(max_workers=4) as threads:
        await Worker(
            client,
            task_queue=TASK_QUEUE,
            workflows=[Review],
            activities=[review_partner],
            activity_executor=threads,
        ).run()


if __name__ == "__main__":
    asyncio.run(main())
