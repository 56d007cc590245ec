"""A node of a picture pipeline: it orders a picture from a paid service and keeps the address of what was made.

Settings, all from the environment:
    STUDIO_URL   base URL of the service
    ON_LOSS      submit | look: what follows a submission whose answer was lost
"""

import json
import os
from pathlib import Path

import httpx

PICTURE = Path("picture.json")
ORDER = {"client_reference": "job-3b8b9c34", "prompt": "a red teapot in the morning light", "model": "large"}

studio = httpx.Client(base_url=os.environ["STUDIO_URL"], timeout=60)


def submit() -> str:
    """Order the picture and return the id of its generation; connection errors are tried again."""
    for attempt in range(4):
        try:
            return studio.post("/v1/generations", json=ORDER).raise_for_status().json()["id"]
        except httpx.TransportError as error:
            print(f"attempt {attempt + 1}: {error}")
        if os.environ.get("ON_LOSS") == "look":
            known = {"client_reference": ORDER["client_reference"]}
            made = studio.get("/v1/generations", params=known).raise_for_status().json()["items"]
            if made:
                return made[0]["id"]
    raise SystemExit("the service cannot be reached")


def main() -> None:
    if PICTURE.exists():
        return
    made = studio.get(f"/v1/generations/{submit()}").raise_for_status().json()
    draft = PICTURE.with_suffix(".new")
    draft.write_text(json.dumps({"url": made["url"]}))
    draft.replace(PICTURE)


if __name__ == "__main__":
    main()
