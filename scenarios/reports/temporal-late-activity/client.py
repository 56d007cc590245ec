"""Start the review of one partner, and wait for what comes of it."""

import asyncio
import os
import sys

from temporalio.client import Client, WorkflowFailureError

PARTNER_ID = "4471"
WORKFLOW_ID = f"partner-{PARTNER_ID}"


async def main() -> int:
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    try:
        ticket = await client.execute_workflow("Review", PARTNER_ID, id=WORKFLOW_ID, task_queue="partner-reviews")
    except WorkflowFailureError as error:
        print(f"{WORKFLOW_ID}: {error.cause}: {getattr(error.cause, 'cause', None)}")
        return 1
    print(f"{WORKFLOW_ID}: ticket {ticket}")
    return 0


if __name__ == "__main__":
    status = asyncio.run(main())
    sys.stdout.flush()
    os._exit(status)  # temporalio 1.35 was seen to crash while its interpreter ended
