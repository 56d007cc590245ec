"""Starts a run of an agent on a server that takes idempotency keys, and writes down which run it is.

Settings, all from the environment:
    RUNS_URL   base URL of the server
    TRUST      key | lookup: whether the key is relied upon, or the run is looked up before one is started
"""

import json
import os
from pathlib import Path

import httpx

REQUEST = {"workflow": "annual-review", "reference": "partner-4471"}
STARTED = Path("run.json")

runs = httpx.Client(base_url=os.environ["RUNS_URL"], timeout=60)


def start() -> str:
    """Start the run, once more if no answer comes."""
    body = {**REQUEST, "idempotency_key": "annual-review:partner-4471"}
    for attempt in range(3):
        found = look_up() if os.environ.get("TRUST") == "lookup" else None
        if found:
            return found
        try:
            return runs.post("/runs", json=body).raise_for_status().json()["id"]
        except httpx.TransportError as error:
            print(f"attempt {attempt + 1}: {error}")
    raise SystemExit("no answer, three times")


def look_up() -> str | None:
    items = runs.get("/runs", params=REQUEST).raise_for_status().json()["items"]
    return items[0]["id"] if items else None


def main() -> None:
    if STARTED.exists():
        return
    draft = STARTED.with_suffix(".new")
    draft.write_text(json.dumps({"run": start()}))
    draft.replace(STARTED)


if __name__ == "__main__":
    main()
