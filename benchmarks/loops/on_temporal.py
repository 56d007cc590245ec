"""Temporal: a workflow whose steps are activities, or local ones; its worker is in the process that asks for work."""

from __future__ import annotations

import os
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

from loops import Loop, numbers, runner, work

TASK_QUEUE = "steps"


@activity.defn
async def step(number: int) -> dict[str, Any]:
    """Do one step."""
    return work(number)


@workflow.defn
class Many:
    """Does so many steps."""

    @workflow.run
    async def run(self, steps: int, local: bool) -> None:
        """Do them one after the other."""
        limit = timedelta(seconds=30)
        for number in range(steps):
            if local:
                await workflow.execute_local_activity(step, number, start_to_close_timeout=limit)
            else:
                await workflow.execute_activity(step, number, start_to_close_timeout=limit)


def modes(ends: ExitStack) -> dict[str, Loop]:
    """Return the loops by mode."""
    run = runner(ends)
    client = run(begin())

    async def many(steps: int, local: bool) -> int | None:
        handle = await client.start_workflow(
            Many.run, args=[steps, local], id=f"many-{next(numbers)}", task_queue=TASK_QUEUE
        )
        await handle.result()
        return (await handle.describe()).history_length

    return {
        "activity": lambda steps: run(many(steps, local=False)),
        "local": lambda steps: run(many(steps, local=True)),
    }


async def begin() -> Client:
    """Connect, and start a worker that ends with the process."""
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    worker = Worker(client, task_queue=TASK_QUEUE, workflows=[Many], activities=[step], build_id="1")
    await worker.__aenter__()
    return client
