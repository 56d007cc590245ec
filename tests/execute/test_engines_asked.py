"""An engine is asked from outside, without leaving a trace, and never fails at that."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest

from ackgap.execute.engines.dbos import Dbos
from ackgap.execute.engines.engine import worst
from ackgap.execute.engines.temporal import Temporal
from ackgap.execute.state.sqlite_copy import ask_copy
from ackgap.execute.store import DurableStore
from ackgap.model.engine import EngineState, EngineWord
from ackgap.scenario.engine import EngineSpec

TABLES = """
PRAGMA journal_mode = WAL;
CREATE TABLE workflow_status (
    workflow_uuid TEXT PRIMARY KEY, status TEXT, application_version TEXT, executor_id TEXT, recovery_attempts BIGINT
);
CREATE TABLE application_versions (version_name TEXT, version_timestamp BIGINT);
"""


@pytest.fixture
def database(tmp_path):
    """A system database that somebody holds open, with its log beside it."""
    connection = sqlite3.connect(tmp_path / "dbos.sqlite", isolation_level=None)
    connection.executescript(TABLES)
    yield connection
    connection.close()


def told(tmp_path, workflow=None, store="dbos.sqlite"):
    spec = EngineSpec(kind="dbos", store=store, workflow=workflow)
    return asyncio.run(Dbos(spec, store, tmp_path).told())


def statuses(tmp_path):
    sql = "SELECT status FROM workflow_status"
    return ask_copy(tmp_path / "dbos.sqlite", lambda connection: connection.execute(sql).fetchall())


def insert(database, *, workflow="w", status="PENDING", version="1", attempts=1):
    database.execute("INSERT INTO workflow_status VALUES (?, ?, ?, 'local', ?)", (workflow, status, version, attempts))


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("SUCCESS", EngineState.FINISHED),
        ("ERROR", EngineState.FAILED),
        ("CANCELLED", EngineState.FAILED),
        ("MAX_RECOVERY_ATTEMPTS_EXCEEDED", EngineState.FAILED),
        ("DELAYED", EngineState.WAITING),
        ("PENDING", EngineState.RUNNING),
        ("ENQUEUED", EngineState.RUNNING),
        ("SOMETHING_NEW", EngineState.RUNNING),
    ],
)
def test_a_workflow_of_dbos_is_as_far_as_its_status_says(tmp_path, database, status, state):
    insert(database, status=status)
    word = told(tmp_path)
    assert word.state is state
    assert f"the workflow w is {status}" in word.text


def test_work_of_another_version_than_the_one_launched_last_is_nobodys(tmp_path, database):
    insert(database, version="1")
    database.execute("INSERT INTO application_versions VALUES ('1', 100), ('2', 200)")
    word = told(tmp_path)
    assert word.state is EngineState.UNOWNED
    assert "application version 1" in word.text
    assert "launched last is 2" in word.text


def test_a_dbos_that_keeps_no_list_of_versions_says_nothing_of_owners(tmp_path, database):
    insert(database, version="1")
    database.execute("DROP TABLE application_versions")
    assert told(tmp_path).state is EngineState.RUNNING


def test_a_limit_of_attempts_is_told_with_their_number(tmp_path, database):
    insert(database, status="MAX_RECOVERY_ATTEMPTS_EXCEEDED", attempts=4)
    assert "after 4 attempts" in told(tmp_path).text


def test_of_several_workflows_the_worst_counts_unless_one_is_named(tmp_path, database):
    insert(database, workflow="good", status="SUCCESS")
    insert(database, workflow="bad", status="ERROR")
    assert told(tmp_path).state is EngineState.FAILED
    assert told(tmp_path, workflow="good").state is EngineState.FINISHED


def test_no_such_workflow_is_absent_and_no_store_is_unknown(tmp_path, database):
    assert told(tmp_path, workflow="other").state is EngineState.ABSENT
    assert told(tmp_path, store="none.sqlite").state is EngineState.UNKNOWN
    assert told(tmp_path, store="postgresql://nobody@127.0.0.1:1/x").state is EngineState.UNKNOWN


def test_asking_changes_nothing_in_the_store_and_sees_what_is_only_in_its_log(tmp_path, database):
    store = DurableStore(tmp_path, patterns=(), outside=(), beside=None)
    insert(database, status="SUCCESS")
    before, files = store.digest(), sorted(path.name for path in tmp_path.iterdir())
    assert told(tmp_path).state is EngineState.FINISHED
    assert store.digest() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == files


def test_what_is_not_committed_is_not_seen(tmp_path, database):
    insert(database, status="PENDING")
    database.execute("BEGIN")
    database.execute("UPDATE workflow_status SET status = 'SUCCESS'")
    assert statuses(tmp_path) == [("PENDING",)]
    database.execute("COMMIT")
    assert statuses(tmp_path) == [("SUCCESS",)]


def test_a_file_that_is_no_store_is_an_error_to_whoever_asks_and_unknown_to_the_engine(tmp_path):
    (tmp_path / "dbos.sqlite").write_text("no store at all" * 100)
    with pytest.raises(sqlite3.Error):
        statuses(tmp_path)
    assert told(tmp_path).state is EngineState.UNKNOWN


def test_a_server_of_temporal_that_is_not_there_is_unknown():
    pytest.importorskip("temporalio", reason="temporalio missing; get it with: pip install 'ackgap[temporal]'")
    spec = EngineSpec(kind="temporal", address="127.0.0.1:1", workflow="w")
    assert asyncio.run(Temporal(spec, "127.0.0.1:1").told()).state is EngineState.UNKNOWN


def test_no_work_at_all_is_absent():
    assert worst([]).state is EngineState.ABSENT
    words = [EngineWord(state, "") for state in (EngineState.FINISHED, EngineState.UNKNOWN, EngineState.RUNNING)]
    assert worst(words).state is EngineState.UNKNOWN
