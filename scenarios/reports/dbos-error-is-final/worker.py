"""Partner review on DBOS: file a ticket, then tell the desk, whose service is out of order now and then.

Settings, all from the environment:
    TICKETS_URL, NOTIFY_URL   base URLs of the services
    ON_ERROR   raise | fork | retry: what is done about a step that raises: nothing, a fork of the workflow at the step
               that failed once the program is started again, or retries within the step
"""

import os

import httpx
from dbos import DBOS, DBOSConfig, SetWorkflowID, WorkflowHandle

PARTNER_ID = "4471"
WORKFLOW_ID = f"partner-{PARTNER_ID}"
ON_ERROR = os.environ["ON_ERROR"]

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
    body = {"partner_id": partner_id, "kind": "partner-review", "title": f"Review of partner {partner_id}"}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body)
    return answer.raise_for_status().json()["id"]


@DBOS.step(retries_allowed=ON_ERROR == "retry", max_attempts=3, interval_seconds=0.1)
def notify(partner_id: str) -> str:
    message = {"to": "risk-desk", "text": f"The review of partner {partner_id} is filed."}
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json=message)
    return answer.raise_for_status().json()["id"]


@DBOS.workflow()
def review(partner_id: str) -> str:
    ticket = file_ticket(partner_id)
    notify(partner_id)
    return ticket


def begin() -> WorkflowHandle[str]:
    """Start the review, or find the one that an earlier start of this program began."""
    if ON_ERROR == "fork" and DBOS.list_workflows(workflow_ids=[WORKFLOW_ID], status="ERROR"):
        failed = next(step for step in DBOS.list_workflow_steps(WORKFLOW_ID) if step["error"] is not None)
        return DBOS.fork_workflow(WORKFLOW_ID, failed["function_id"])
    with SetWorkflowID(WORKFLOW_ID):
        return DBOS.start_workflow(review, PARTNER_ID)


def main() -> None:
    DBOS.launch()  # also takes up what a process of this version and executor left unfinished
    handle = begin()
    print(f"{handle.workflow_id}: ticket {handle.get_result(polling_interval_sec=0.05)}")
    DBOS.destroy()


if __name__ == "__main__":
    main()
