"""Partner review on DBOS with PostgreSQL: file a ticket, then tell the desk; where the desk is closed, come back later.

Settings, all from the environment:
    DATABASE_URL   PostgreSQL, for DBOS
    DATABASE_KEY   what the configuration of DBOS calls it: database_url long ago, system_database_url now
    TICKETS_URL, NOTIFY_URL   base URLs of the services
"""

import os
import sys

import httpx
from dbos import DBOS, SetWorkflowID

PARTNER_ID = "4471"
WORKFLOW_ID = f"partner-{PARTNER_ID}"

os.environ.setdefault("DBOS__APPVERSION", "1")
DBOS(config={"name": "partner-review", os.environ["DATABASE_KEY"]: os.environ["DATABASE_URL"], "log_level": "CRITICAL"})
http = httpx.Client(timeout=60)


@DBOS.step()
def file_ticket(partner_id: str) -> str:
    body = {"partner_id": partner_id, "kind": "partner-review", "title": f"Review of partner {partner_id}"}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body)
    return answer.raise_for_status().json()["id"]


@DBOS.step(retries_allowed=True, max_attempts=4, interval_seconds=0.1)
def notify(partner_id: str) -> str:
    message = {"to": "risk-desk", "text": f"The review of partner {partner_id} is filed."}
    answer = http.post(os.environ["NOTIFY_URL"] + "/messages", json=message)
    if answer.status_code == 503:
        sys.exit("the desk is closed; to be started again later")
    return answer.raise_for_status().json()["id"]


@DBOS.workflow()
def review(partner_id: str) -> str:
    ticket = file_ticket(partner_id)
    notify(partner_id)
    return ticket


def main() -> None:
    DBOS.launch()  # also takes up what a process of this version and executor left unfinished
    with SetWorkflowID(WORKFLOW_ID):
        print(f"{WORKFLOW_ID}: ticket {review(PARTNER_ID)}")
    DBOS.destroy()


if __name__ == "__main__":
    main()
