"""Partner review on DBOS: a request arrives three times at once, and each arrival starts it under one workflow id.

Settings, all from the environment:
    TICKETS_URL   base URL of the ticket system
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
from dbos import DBOS, DBOSConfig, SetWorkflowID

config: DBOSConfig = {
    "name": "partner-review",
    "system_database_url": "sqlite:///dbos.sqlite",
    "application_version": "1",
    "log_level": "ERROR",
}
DBOS(config=config)
http = httpx.Client(timeout=60)


def assess(partner_id: str) -> str:
    """Stand for a model of our own, which thinks for a second."""
    time.sleep(1)
    return f"The risk of partner {partner_id} is medium."


@DBOS.step()
def file_ticket(partner_id: str) -> str:
    body = {"partner_id": partner_id, "kind": "partner-review", "title": assess(partner_id)}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body)
    return answer.raise_for_status().json()["id"]


@DBOS.workflow()
def review(partner_id: str) -> str:
    return file_ticket(partner_id)


def arrived(partner_id: str) -> str:
    with SetWorkflowID(f"partner-{partner_id}"):
        return DBOS.start_workflow(review, partner_id).get_result()


def main() -> None:
    DBOS.launch()
    with ThreadPoolExecutor(max_workers=3) as arrivals:
        for ticket in arrivals.map(arrived, ["4471"] * 3):
            print(f"partner-4471: ticket {ticket}")
    DBOS.destroy()


if __name__ == "__main__":
    main()
