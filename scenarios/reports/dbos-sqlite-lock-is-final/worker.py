"""Partner review on DBOS beside the day's export: the export locks the file of cases while it tells the desk.

Settings, all from the environment:
    TICKETS_URL, NOTIFY_URL   base URLs of the services
"""

import os
import sqlite3
import threading

import httpx
from dbos import DBOS, DBOSConfig, SetWorkflowID, SQLAlchemyDatasource
from sqlalchemy import create_engine, text

PARTNER_ID = "4471"
WORKFLOW_ID = f"partner-{PARTNER_ID}"
DAY = "2026-11-29"

config: DBOSConfig = {
    "name": "partner-review",
    "system_database_url": "sqlite:///dbos.sqlite",
    "application_version": "1",
    "log_level": "CRITICAL",
}
DBOS(config=config)
# One second is how long SQLite itself waits for a lock; the datasource is said to try again after that.
engine = create_engine("sqlite:///cases.sqlite", connect_args={"timeout": 1})
datasource = SQLAlchemyDatasource.create("sqlite:///cases.sqlite", engine=engine)
http = httpx.Client(timeout=60)


@datasource.transaction()
def open_case(partner_id: str) -> None:
    datasource.sql_session().execute(text("INSERT INTO cases (partner_id) VALUES (:partner)"), {"partner": partner_id})


@DBOS.step()
def file_ticket(partner_id: str) -> str:
    body = {"partner_id": partner_id, "kind": "partner-review", "title": f"Review of partner {partner_id}"}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=body)
    return answer.raise_for_status().json()["id"]


@DBOS.workflow()
def review(partner_id: str) -> str:
    open_case(partner_id)
    return file_ticket(partner_id)


def export(locked: threading.Event) -> None:
    """Tell the desk once a day how many cases there are; nothing may change meanwhile."""
    cases = sqlite3.connect("cases.sqlite", timeout=60, isolation_level=None)
    cases.execute("BEGIN EXCLUSIVE")
    locked.set()
    if cases.execute("SELECT 1 FROM exports WHERE day = ?", (DAY,)).fetchone() is None:
        count = cases.execute("SELECT count(*) FROM cases").fetchone()[0]
        message = {"to": "risk-desk", "text": f"{DAY}: {count} cases"}
        http.post(os.environ["NOTIFY_URL"] + "/messages", json=message).raise_for_status()
        cases.execute("INSERT INTO exports (day) VALUES (?)", (DAY,))
    cases.execute("COMMIT")
    cases.close()


def main() -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE IF NOT EXISTS cases (id INTEGER PRIMARY KEY, partner_id TEXT)"))
        connection.execute(text("CREATE TABLE IF NOT EXISTS exports (day TEXT PRIMARY KEY)"))
    DBOS.launch()  # also takes up what a process of this version and executor left unfinished
    locked = threading.Event()
    exporting = threading.Thread(target=export, args=(locked,))
    exporting.start()
    locked.wait()
    try:
        with SetWorkflowID(WORKFLOW_ID):
            ticket = DBOS.start_workflow(review, PARTNER_ID).get_result()
        print(f"{WORKFLOW_ID}: ticket {ticket}")
    finally:
        exporting.join()
        DBOS.destroy()


if __name__ == "__main__":
    main()
