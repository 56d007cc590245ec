"""An engine that is asked: what is stuck has a reason in the engine's words, and waiting is shortened, not changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from needs import need, needed

from ackgap.execute.services.temporal import find_temporal
from ackgap.matrix_run import run_matrix
from ackgap.model.event import EngineReported, GaveUp, Note

REPOSITORY = Path(__file__).parents[2]
ENGINES = REPOSITORY / "scenarios" / "engines"

DBOS_WORKER = """
import os, sys
import httpx
from dbos import DBOS, SetWorkflowID

DBOS(config={
    "name": "reviews",
    "system_database_url": "sqlite:///dbos.sqlite",
    "application_version": os.environ.get("APP_VERSION", "1"),
    "log_level": "ERROR",
})

@DBOS.step()
def file_ticket():
    answer = httpx.post(os.environ["TICKETS_URL"] + "/tickets", json={"partner_id": "4471", "kind": "review"})
    if os.environ.get("RAISE"):
        raise ValueError("this cannot be reviewed")
    return answer.raise_for_status().json()["id"]

@DBOS.step()
def tell_the_desk():
    httpx.post(os.environ["NOTIFY_URL"] + "/messages", json={"to": "desk", "text": "filed"}).raise_for_status()

@DBOS.workflow(max_recovery_attempts=int(os.environ.get("ATTEMPTS", "50")))
def review():
    file_ticket()
    tell_the_desk()

DBOS.launch()
with SetWorkflowID("partner-4471"):
    handle = DBOS.start_workflow(review)
if os.environ.get("LEAVE") and len(sys.argv) > 1:
    os._exit(0)  # the work is somewhere; why wait for it
handle.get_result()
DBOS.destroy()
"""
DBOS_SCENARIO = """
name = "reviews"
[worker]
command = "{python} worker.py"
store = ["dbos.sqlite"]
env = { TICKETS_URL = "{tickets.url}", NOTIFY_URL = "{desk.url}" }
[engine]
kind = "dbos"
store = "dbos.sqlite"
workflow = "partner-4471"
[targets.tickets]
profile = "case-management"
[targets.desk]
profile = "notification"
[limits]
restarts = 2
life_s = 120
"""


@pytest.fixture
def dbos(project, tmp_path):
    """Run one cell of the small worker above: returns its verdict and its history."""
    need("dbos", "httpx", hint="pip install 'ackgap[dbos]'")
    project.write("worker.py", DBOS_WORKER)

    def run(point: str, *, fault: str = "kill", env: str = "", worker: str = ""):
        text = DBOS_SCENARIO.replace("env = {", "env = { " + env, 1).replace("store = [", f"{worker}\nstore = [", 1)
        project.write("scenario.toml", text)
        result = run_matrix(
            "scenario.toml", root=project.path, directory=tmp_path / "out", points=[point], faults=[fault], warm=True
        )
        (cell,) = [cell for cell in result.run.cells if cell.schedule.faults]
        return str(cell.verdict.kind), [finding.code for finding in cell.findings], result.run.history(cell.cell)

    return run


def told(history):
    return [event.state for event in history.of(EngineReported)]


@pytest.mark.slow
def test_work_of_another_version_is_stuck_because_nobody_owns_it_and_not_by_a_time_out(dbos):
    verdict, codes, history = dbos(
        "desk.send#1:received", worker='resume_command = "env APP_VERSION=2 {python} worker.py"'
    )
    assert (verdict, "stuck_engine_unowned" in codes) == ("stuck", True)
    (end,) = history.of(GaveUp)
    assert "DBOS says that the workflow partner-4471 is PENDING, and belongs to application version 1" in end.text
    assert "launched last is 2" in end.text
    assert end.at_s < 60  # a life might have taken 120 s


@pytest.mark.slow
def test_a_workflow_that_an_error_has_ended_is_stuck_because_it_failed(dbos):
    verdict, codes, history = dbos("desk.send#1:received", fault="fail")
    assert (verdict, "stuck_engine_failed" in codes) == ("stuck", True)
    assert "DBOS says that the workflow partner-4471 is ERROR" in history.of(GaveUp)[0].text
    assert set(told(history)) == {"failed"}


@pytest.mark.slow
def test_a_crash_loop_up_to_the_limit_of_the_engine_is_stuck_with_the_number_of_attempts(dbos):
    verdict, codes, history = dbos("tickets.create#1:returned", fault="kill,lives=3", env='ATTEMPTS = "2", ')
    assert (verdict, "stuck_engine_failed" in codes) == ("duplicate", True)
    assert "MAX_RECOVERY_ATTEMPTS_EXCEEDED after" in history.of(GaveUp)[0].text


@pytest.mark.slow
def test_a_worker_that_ends_well_before_its_engine_has_finished_is_started_again(dbos):
    leaves = 'resume_command = "env LEAVE=1 {python} worker.py leave"'
    verdict, codes, history = dbos("desk.send#1:received", worker=leaves)
    assert verdict == "stuck"
    assert told(history) == ["running"] * 3  # killed, left, left again
    assert codes.count("stuck_crash_loop") == 1
    assert "exit status 0" in history.of(GaveUp)[0].text
    assert "DBOS says that the workflow partner-4471 is" in history.of(GaveUp)[0].text


def both_ways(name, tmp_path, **options):
    """Run a part of an engine's scenario with its waiting shortened, and with the engine's own times."""
    return [
        run_matrix(
            ENGINES / name,
            root=tmp_path,
            directory=tmp_path / f"out-{defaults}",
            warm=True,
            engine_defaults=defaults,
            **options,
        )
        for defaults in (False, True)
    ]


@pytest.mark.slow
def test_what_is_shortened_is_said_and_the_verdicts_are_those_of_the_engines_own_times(tmp_path):
    need("dbos", hint="pip install 'ackgap[dbos]'")
    points = ["tickets.create#1:applied", "dbos.step.file_ticket#1:committed"]
    results = both_ways("dbos", tmp_path, only=["mode=step"], points=points)
    assert results[0].verdicts == results[1].verdicts
    for defaults, result in zip((False, True), results, strict=True):
        cell = next(cell.cell for cell in result.run.cells if cell.schedule.faults)
        said = [note.text for note in result.run.history(cell).of(Note) if note.code == "shortened"]
        assert bool(said) is not defaults
        assert any("shortened" in note for note in result.run.info.notes) is not defaults
        source = json.loads((tmp_path / f"out-{defaults}" / "source.json").read_text())
        assert source.get("engine_defaults", False) is defaults  # so that a replay does the same


@pytest.mark.slow
def test_temporal_recovers_at_once_as_it_would_have_after_its_time_outs(tmp_path):
    need("temporalio", hint="pip install 'ackgap[temporal]'")
    with needed():
        find_temporal()
    results = both_ways("temporal", tmp_path, only=["mode=timeout"], points=["tickets.create#1:applied"])
    assert results[0].verdicts == results[1].verdicts
    waited_s = []
    for result in results:
        history = result.run.history("tickets.create#1:applied@mode=timeout,key=none")
        applied = [event.at_s for event in history.effects if event.operation == "tickets.create"]
        waited_s.append(applied[1] - applied[0])
    assert waited_s[0] < 9.5 < waited_s[1]  # the activity has 10 s
