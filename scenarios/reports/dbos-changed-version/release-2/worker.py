"""Partner review on DBOS, release 2 (a line of the log is new): file a ticket, then tell the desk.

Settings, all from the environment:
    TICKETS_URL, NOTIFY_URL   base URLs of the services
    DBOS__APPVERSION          the version that DBOS is to record with its work; without it DBOS makes one from the code
"""

import os

import httpx
from dbos import DBOS, DBOSConfig, SetWorkflowID

PARTNER_ID = "4471"
WORKFLOW_ID = f"partner-{PARTNER_ID}"

config: DBOSConfig = {
    "name": "partner-review",
    "system_database_url": "sqlite:///dbos.sqlite",
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


@DBOS.step()
def notify(partner_id: str) -> str:
    message = {"to": "risk-desk", "text": f"The review of partner {partner_id} is filed."}
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json=message)
    return answer.raise_for_status().json()["id"]


@DBOS.workflow()
def review(partner_id: str) -> str:
    ticket = file_ticket(partner_id)
    DBOS.logger.info(f"ticket {ticket} is filed")
    notify(partner_id)
    return ticket


def main() -> None:
    DBOS.launch()  # also takes up what a process of this version and executor left unfinished
    with SetWorkflowID(WORKFLOW_ID):
        handle = DBOS.start_workflow(review, PARTNER_ID)
    print(f"{WORKFLOW_ID}: ticket {handle.get_result(polling_interval_sec=0.05)}")
    DBOS.destroy()


if __name__ == "__main__":
    main()
