"""Partner reviews on DBOS, one after the other in a batch: each files a ticket for one partner.

Settings, all from the environment:
    TICKETS_URL   base URL of the ticket system
    KEY           none | stable: the idempotency key sent along with a ticket
    ATTEMPTS      how often DBOS takes up a review again before it parks it
"""

import os
import sys

import httpx
from dbos import DBOS, DBOSConfig, SetWorkflowID, error

PARTNERS = ["4471", "5520"]

config: DBOSConfig = {
    "name": "partner-review",
    "system_database_url": "sqlite:///dbos.sqlite",
    "application_version": "1",
    "log_level": "CRITICAL",
    "notification_listener_polling_interval_sec": 0.05,
}
DBOS(config=config)
http = httpx.Client(timeout=60)


@DBOS.step()
def file_ticket(partner_id: str) -> str:
    headers = {"Idempotency-Key": DBOS.workflow_id} if os.environ["KEY"] == "stable" else {}
    body = {"partner_id": partner_id, "kind": "partner-review", "title": f"Review of partner {partner_id}"}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body, headers=headers)
    return answer.raise_for_status().json()["id"]


@DBOS.workflow(max_recovery_attempts=int(os.environ["ATTEMPTS"]))
def review(partner_id: str) -> str:
    return file_ticket(partner_id)


@DBOS.workflow()
def batch(partners: list[str]) -> list[str]:
    parked = []
    for partner_id in partners:
        with SetWorkflowID(f"partner-{partner_id}"):
            handle = DBOS.start_workflow(review, partner_id)
        try:
            handle.get_result(polling_interval_sec=0.05)
        except error.DBOSAwaitedWorkflowMaxRecoveryAttemptsExceeded:
            parked.append(handle.workflow_id)
    return parked


def main() -> None:
    DBOS.launch()  # also takes up what a process of this version and executor left unfinished
    with SetWorkflowID("batch"):
        handle = DBOS.start_workflow(batch, PARTNERS)
    parked = handle.get_result(polling_interval_sec=0.05)
    DBOS.destroy()
    if parked:
        sys.exit(f"the batch is through without {', '.join(parked)}")


if __name__ == "__main__":
    main()
