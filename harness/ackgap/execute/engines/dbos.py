"""DBOS: its table of workflows, in SQLite or PostgreSQL. Seen with dbos 3.4.0.

Recovery waits for polls: of the internal queue, through which a recovered workflow goes, and of whoever waits for a
result, once a second each. The hook inside the worker (`ackgap/worker/dbos_polls.py`) makes them come faster.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ackgap.execute.engines.engine import worst
from ackgap.execute.services.postgres_wire import Login, PostgresRefused, PostgresWire
from ackgap.execute.state.sqlite_copy import ask_copy
from ackgap.model.engine import EngineState, EngineWord
from ackgap.scenario.engine import EngineSpec

__all__ = ["Dbos"]

_COLUMNS = "workflow_uuid, status, application_version, recovery_attempts"
_LIMIT_S = 2.0
_Rows = Sequence[tuple[Any, ...]]
_STATES = {
    "SUCCESS": EngineState.FINISHED,
    "ERROR": EngineState.FAILED,
    "CANCELLED": EngineState.FAILED,
    "MAX_RECOVERY_ATTEMPTS_EXCEEDED": EngineState.FAILED,
    "DELAYED": EngineState.WAITING,
}


class Dbos:
    """The system database of one cell.

    Args:
        spec: What the scenario says.
        store: Where it is, placeholders filled in: a path, absolute or below `directory`, or a URL.
        directory: The cell's.
    """

    name = "DBOS"
    shortens: tuple[str, ...] = (
        "DBOS polls its queues, and whoever waits for a result, every 0.05 s; by default it does so once a second",
    )

    def __init__(self, spec: EngineSpec, store: str, directory: Path) -> None:
        self._workflow = spec.workflow
        self._store = store
        self._directory = directory

    async def told(self) -> EngineWord:
        """Return how far the workflow is."""
        try:
            rows, newest = self._look()
        except (OSError, sqlite3.Error, PostgresRefused) as error:
            return EngineWord(EngineState.UNKNOWN, f"cannot be asked: {error}")
        mine = [row for row in rows if self._workflow in (None, row[0])]
        if not mine and self._workflow is not None:
            return EngineWord(EngineState.ABSENT, f"knows of no workflow {self._workflow}")
        return worst([_word(row, newest) for row in mine])

    async def hurry(self) -> None:
        """Nothing: it is inside the worker that DBOS waits."""

    async def close(self) -> None:
        """Nothing is kept open."""

    def _look(self) -> tuple[_Rows, str]:
        """Return the workflows, and the newest application version."""
        if "://" not in self._store:
            return ask_copy(
                self._directory / self._store,
                lambda connection: _ask(lambda sql: connection.execute(sql).fetchall(), schema=""),
            )
        with PostgresWire(**asdict(Login.of(self._store)), limit_s=_LIMIT_S) as wire:
            return _ask(wire.ask, schema="dbos.")


def _ask(ask: Callable[[str], _Rows], *, schema: str) -> tuple[_Rows, str]:
    rows = ask(f"SELECT {_COLUMNS} FROM {schema}workflow_status")  # noqa: S608 - fixed names
    sql = f"SELECT version_name FROM {schema}application_versions ORDER BY version_timestamp DESC LIMIT 1"  # noqa: S608
    try:
        newest = ask(sql)
    except (sqlite3.Error, PostgresRefused):  # an older DBOS has no list of the versions that were launched
        newest = ()
    return rows, str(newest[0][0]) if newest else ""


def _word(row: tuple[Any, ...], newest: str) -> EngineWord:
    workflow, status, version, attempts = row
    state = _STATES.get(str(status), EngineState.RUNNING)
    text = f"says that the workflow {workflow} is {status}"
    if state is EngineState.RUNNING and version and newest and version != newest:
        return EngineWord(
            EngineState.UNOWNED,
            f"{text}, and belongs to application version {version}; the one that was launched last is {newest}, which "
            "recovers only its own",
        )
    if status == "MAX_RECOVERY_ATTEMPTS_EXCEEDED":
        text += f" after {attempts} attempts"
    return EngineWord(state, text)
