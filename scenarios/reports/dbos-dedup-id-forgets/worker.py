"""Partner review on DBOS: put one on a queue, wait for it, and only then take the request for it off the list.

Settings, all from the environment:
    TICKETS_URL   base URL of the ticket system
    ONCE_BY       dedup | workflow-id: what is to keep the same request from being reviewed twice
"""

import os

import httpx
from dbos import DBOS, DBOSConfig, SetEnqueueOptions, SetWorkflowID

PARTNER_ID = "4471"
REVIEW = f"partner-{PARTNER_ID}"

config: DBOSConfig = {
    "name": "partner-review",
    "system_database_url": "sqlite:///dbos.sqlite",
    "application_version": "1",
    "log_level": "WARNING",
    "notification_listener_polling_interval_sec": 0.05,
}
DBOS(config=config)
http = httpx.Client(timeout=60)


@DBOS.step()
def file_ticket(partner_id: str) -> str:
    body = {"partner_id": partner_id, "kind": "partner-review", "title": f"Review of partner {partner_id}"}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body)
    return answer.raise_for_status().json()["id"]


@DBOS.workflow()
def review(partner_id: str) -> str:
    return file_ticket(partner_id)


def main() -> None:
    DBOS.launch()  # also takes up what a process of this version and executor left unfinished
    DBOS.register_queue("reviews", polling_interval_sec=0.1)
    if os.environ["ONCE_BY"] == "workflow-id":
        with SetWorkflowID(REVIEW):
            handle = DBOS.enqueue_workflow("reviews", review, PARTNER_ID)
    else:
        with SetEnqueueOptions(deduplication_id=REVIEW, duplication_policy="return-existing"):
            handle = DBOS.enqueue_workflow("reviews", review, PARTNER_ID)
    print(f"{REVIEW}: ticket {handle.get_result(polling_interval_sec=0.05)}, by {handle.workflow_id}")
    DBOS.destroy()


if __name__ == "__main__":
    main()
