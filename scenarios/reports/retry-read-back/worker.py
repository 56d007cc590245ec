"""Hands tasks of a plan over to a ticket desk: each becomes a ticket, which is read back and written into the plan.

Settings, all from the environment:
    DESK_URL   base URL of the ticket desk
    RETRY      both | each: whether creating and reading back are tried again together, or each by itself
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import httpx

PLAN = Path("plan.json")
TASK = {"reference": "wiki-17", "title": "Describe the review of partner 4471"}

desk = httpx.Client(base_url=os.environ["DESK_URL"], timeout=60)


def tried_again(step: Callable[[], dict]) -> dict:
    """Do a step, up to four times as long as the desk answers with an error."""
    for _ in range(3):
        try:
            return step()
        except httpx.HTTPStatusError as error:
            print(f"{error.request.method} {error.request.url.path}: {error.response.status_code}, once more")
    return step()


def create() -> dict:
    return desk.post("/tickets", json=TASK).raise_for_status().json()


def read(ticket_id: str) -> dict:
    return desk.get(f"/tickets/{ticket_id}").raise_for_status().json()


def hand_over() -> dict:
    if os.environ.get("RETRY") == "both":
        return tried_again(lambda: read(create()["id"]))
    created = tried_again(create)
    return tried_again(lambda: read(created["id"]))


def main() -> None:
    if PLAN.exists():
        return
    ticket = hand_over()
    draft = PLAN.with_suffix(".new")
    draft.write_text(json.dumps({TASK["reference"]: ticket["id"]}))
    draft.replace(PLAN)


if __name__ == "__main__":
    main()
