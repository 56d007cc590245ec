"""Partner review on DBOS whose reader follows it on a stream: "filing" is written, then the ticket is filed.

Settings, all from the environment:
    TICKETS_URL   base URL of the ticket system
    WRITE_IN      step | workflow: where the line is written to the stream
"""

import os

import httpx
from dbos import DBOS, DBOSConfig, SetWorkflowID

PARTNER_ID = "4471"
WORKFLOW_ID = f"partner-{PARTNER_ID}"
WRITE_IN = os.environ["WRITE_IN"]

config: DBOSConfig = {
    "name": "partner-review",
    "system_database_url": "sqlite:///dbos.sqlite",
    "application_version": "1",
    "log_level": "ERROR",
    "notification_listener_polling_interval_sec": 0.05,
}
DBOS(config=config)
http = httpx.Client(timeout=60)


@DBOS.step(retries_allowed=True, max_attempts=3, interval_seconds=0.1)
def file_ticket(partner_id: str) -> str:
    if WRITE_IN == "step":
        DBOS.write_stream("progress", f"filing the review of partner {partner_id}")
    body = {"partner_id": partner_id, "kind": "partner-review", "title": f"Review of partner {partner_id}"}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body)
    return answer.raise_for_status().json()["id"]


@DBOS.workflow()
def review(partner_id: str) -> str:
    if WRITE_IN == "workflow":
        DBOS.write_stream("progress", f"filing the review of partner {partner_id}")
    ticket = file_ticket(partner_id)
    DBOS.close_stream("progress")
    return ticket


def main() -> None:
    DBOS.launch()  # also takes up what a process of this version and executor left unfinished
    with SetWorkflowID(WORKFLOW_ID):
        handle = DBOS.start_workflow(review, PARTNER_ID)
    for line in DBOS.read_stream(WORKFLOW_ID, "progress", polling_interval_sec=0.05):
        print(f"{WORKFLOW_ID}: {line}")
    print(f"{WORKFLOW_ID}: ticket {handle.get_result(polling_interval_sec=0.05)}")
    DBOS.destroy()


if __name__ == "__main__":
    main()
