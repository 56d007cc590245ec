"""DBOS: a workflow with a step for each; the system database is where DATABASE_URL says, or a file."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any

from dbos import DBOS, DBOSConfig

from loops import Loop, work


def config() -> DBOSConfig:
    """Return the configuration, the same for all programs here that use DBOS."""
    url = os.environ.get("DATABASE_URL", "").replace("postgresql://", "postgresql+psycopg://", 1)
    return {
        "name": "steps",
        "system_database_url": url or "sqlite:///dbos.sqlite",
        "application_version": "1",
        "log_level": "ERROR",
    }


@DBOS.step()
def step(number: int) -> dict[str, Any]:
    """Do one step."""
    return work(number)


@DBOS.workflow()
def many(steps: int) -> None:
    """Do so many steps."""
    for number in range(steps):
        step(number)


def modes(_: ExitStack) -> dict[str, Loop]:
    """Return the loops by mode."""
    DBOS(config=config())
    DBOS.launch()
    return {"step": many}
