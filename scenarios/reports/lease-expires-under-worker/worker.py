"""A job queue in SQLite: whoever takes a job leases it for a second, and renews the lease while it works on it.

Usage:
    python worker.py enqueue 4471   put a job into the queue
    python worker.py work           work on jobs until none is left; one whose lease has run out is taken over

Settings, all from the environment:
    MODEL_URL, TICKETS_URL   base URLs of the services
    FENCE   none | look | key: what keeps a worker from acting that has lost its lease
"""

import asyncio
import json
import os
import sqlite3
import sys
import time
import uuid

import httpx

LEASE_S = 1.0
FENCE = os.environ.get("FENCE", "none")
ME = f"worker-{uuid.uuid4().hex[:8]}"

CREATE_TICKET = {
    "type": "function",
    "function": {
        "name": "create_ticket",
        "description": "File a partner review in the case-management system.",
        "parameters": {
            "type": "object",
            "properties": {"title": {"type": "string"}},
            "required": ["title"],
        },
    },
}

http = httpx.Client(timeout=60)


def open_queue() -> sqlite3.Connection:
    queue = sqlite3.connect("jobs.db", isolation_level=None, timeout=30)
    queue.execute(
        "CREATE TABLE IF NOT EXISTS jobs (partner_id TEXT PRIMARY KEY, owner TEXT, leased_until REAL, ticket_id TEXT)"
    )
    return queue


def take_job(queue: sqlite3.Connection) -> str | None:
    """The partner of a job that is open and that nobody holds; it is ours from now on."""
    row = queue.execute(
        "UPDATE jobs SET owner = ?, leased_until = ? WHERE ticket_id IS NULL AND coalesce(leased_until, 0) < ?"
        " RETURNING partner_id",
        (ME, time.time() + LEASE_S, time.time()),
    ).fetchone()
    return row[0] if row else None


async def keep_lease(queue: sqlite3.Connection, partner_id: str) -> None:
    while True:
        await asyncio.sleep(LEASE_S / 3)
        queue.execute(
            "UPDATE jobs SET leased_until = ? WHERE partner_id = ? AND owner = ?",
            (time.time() + LEASE_S, partner_id, ME),
        )


def still_mine(queue: sqlite3.Connection, partner_id: str) -> bool:
    row = queue.execute("SELECT owner FROM jobs WHERE partner_id = ?", (partner_id,)).fetchone()
    return row == (ME,)


def write_title(partner_id: str) -> str:
    answer = http.post(
        os.environ["MODEL_URL"] + "/v1/chat/completions",
        json={
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": f"File the review of partner {partner_id} as a ticket."}],
            "tools": [CREATE_TICKET],
            "tool_choice": {"type": "function", "function": {"name": "create_ticket"}},
        },
    )
    call = answer.raise_for_status().json()["choices"][0]["message"]["tool_calls"][0]
    return json.loads(call["function"]["arguments"])["title"]


def file_ticket(partner_id: str, title: str) -> str:
    ticket = {"partner_id": partner_id, "kind": "partner-review", "title": title}
    headers = {"Idempotency-Key": f"partner-{partner_id}:file_ticket"} if FENCE == "key" else {}
    answer = http.post(os.environ["TICKETS_URL"] + "/tickets", json=ticket, headers=headers)
    if answer.status_code == 422:  # the key was used for another title: another owner of this job has filed it
        wanted = {"partner_id": partner_id, "kind": "partner-review", "status": "open"}
        answer = http.get(os.environ["TICKETS_URL"] + "/tickets", params=wanted)
        return answer.raise_for_status().json()["items"][0]["id"]
    return answer.raise_for_status().json()["id"]


async def review(queue: sqlite3.Connection, partner_id: str) -> None:
    """Work on one job. The calls are synchronous: while one of them blocks, the lease is not renewed."""
    renewing = asyncio.create_task(keep_lease(queue, partner_id))
    try:
        title = write_title(partner_id)
        if FENCE == "look" and not still_mine(queue, partner_id):
            print(f"{ME}: partner {partner_id} has gone to another worker")
            return
        ticket_id = file_ticket(partner_id, title)
        queue.execute("UPDATE jobs SET ticket_id = ? WHERE partner_id = ?", (ticket_id, partner_id))
        print(f"{ME}: partner {partner_id} has ticket {ticket_id}")
    finally:
        renewing.cancel()


async def work() -> None:
    queue = open_queue()
    while queue.execute("SELECT 1 FROM jobs WHERE ticket_id IS NULL").fetchone():
        partner_id = take_job(queue)
        if partner_id is None:
            await asyncio.sleep(0.1)  # somebody else holds it
        else:
            await review(queue, partner_id)


if __name__ == "__main__":
    if sys.argv[1] == "enqueue":
        open_queue().execute("INSERT INTO jobs (partner_id) VALUES (?)", (sys.argv[2],))
    else:
        asyncio.run(work())
