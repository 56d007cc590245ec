"""The same agent on each engine: what is repeated, skipped or lost around the call that files the ticket."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from needs import need, needed

from ackgap.errors import ProbeFailed
from ackgap.execute.services.postgres import find_binaries
from ackgap.execute.services.redis import find_redis
from ackgap.execute.services.temporal import find_temporal
from ackgap.matrix_run import MatrixRun, run_matrix
from ackgap.model.boundary import Phase
from ackgap.model.event import BoundaryReached

REPOSITORY = Path(__file__).parents[2]
ENGINES = REPOSITORY / "scenarios" / "engines"
MODULES = {
    "plain-journal": ("httpx",),
    "dbos": ("dbos",),
    "dbos-postgres": ("dbos", "psycopg"),
    "temporal": ("temporalio",),
    "prefect": ("prefect",),
    "celery": ("celery", "redis"),
    "pydantic-ai": ("dbos", "pydantic_ai"),
    "pydantic-ai-temporal": ("openai", "pydantic_ai", "temporalio"),
    "openai-agents": ("agents",),
    "llamaindex": ("workflows",),
    "langgraph": ("langgraph.checkpoint.sqlite",),
    "langgraph-functional": ("langgraph.checkpoint.sqlite",),
    "langgraph-postgres": ("langgraph.checkpoint.postgres", "psycopg"),
    "langgraph-functional-postgres": ("langgraph.checkpoint.postgres", "psycopg"),
}
SERVERS = {
    "dbos-postgres": find_binaries,
    "langgraph-postgres": find_binaries,
    "langgraph-functional-postgres": find_binaries,
    "pydantic-ai-temporal": find_temporal,
    "temporal": find_temporal,
    "celery": find_redis,
}
COPIED = ("dbos", "langgraph", "langgraph-functional", "llamaindex", "openai-agents", "plain-journal", "pydantic-ai")
"""Engines whose state is in files alone: most of their cells begin with a copy, and the others are the proof of it."""
EXTRA = {"langgraph-functional": "langgraph"}
GAP = ("tickets.create#1:applied", "tickets.create#1:returned")


def require(name):
    need(*MODULES[name], hint=f"pip install 'ackgap[{EXTRA.get(name, name)}]'")
    with needed():
        SERVERS.get(name, str)()


@pytest.fixture
def make_engines(monkeypatch):
    monkeypatch.syspath_prepend(str(REPOSITORY / "docs"))  # what it shares with the script on claims
    spec = importlib.util.spec_from_file_location("make_engines", REPOSITORY / "docs" / "make_engines.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def gap(name: str, tmp_path: Path, **options) -> MatrixRun:
    require(name)
    return run_matrix(ENGINES / name, root=tmp_path, directory=tmp_path / "out", slice_name="gap", warm=True, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_the_verdicts_of_an_engine_are_the_documented_ones(name, tmp_path, make_engines):
    # These cells wait for a server's time-outs most of the time.
    jobs = {"jobs": 5} if name in ("temporal", "celery") else {}
    result = gap(name, tmp_path, copies=name in COPIED, **jobs)
    assert name not in COPIED or all(cell.copied for cell in result.cells if cell.schedule.faults)
    assert result.verdicts == json.loads((ENGINES / name / "expected.json").read_text())
    document = (REPOSITORY / "docs" / "engines.md").read_text()
    rows = list(make_engines.rows(result.run, name))
    assert rows
    assert [row for row in rows if f"| {' | '.join(row)} |" not in document] == []


def test_whatever_acts_at_least_once_repeats_in_the_gap_without_protection_and_not_with_a_stable_key():
    seen = set()
    for name in MODULES:
        for cell, verdict in json.loads((ENGINES / name / "expected.json").read_text()).items():
            point, _, variant = cell.rpartition("@")
            if point in GAP and not any(f"mode={mode}" in variant for mode in ("before", "once", "early")):
                # Under `run` the words are paid for again: they are kept, and a later run does not use them.
                keyed = "wasted" if "mode=run" in variant else "ok"
                assert verdict == ("duplicate" if "key=none" in variant else keyed), f"{name}: {cell}"
                seen.add((name, point))
    assert seen == {(name, point) for name in MODULES for point in GAP}


@pytest.mark.parametrize(
    ("name", "commit"),
    [("dbos", "sqlite.cases.sqlite.commit#3"), ("dbos-postgres", "pg.tickets+datasource_outputs.commit#1")],
)
def test_a_row_in_the_transaction_that_records_the_step_is_there_exactly_once(name, commit):
    verdicts = json.loads((ENGINES / name / "expected.json").read_text())
    transaction = {cell: verdict for cell, verdict in verdicts.items() if "mode=transaction" in cell}
    assert {f"{commit}:committing", f"{commit}:committed"} <= {cell.rpartition("@")[0] for cell in transaction}
    assert set(transaction.values()) == {"ok"}


@pytest.mark.slow
def test_a_row_that_a_plain_step_writes_is_there_twice_and_the_check_in_place_of_a_target_says_so(tmp_path):
    require("dbos")
    folder = tmp_path / "step"
    folder.mkdir()
    for name in ("scenario.toml", "worker.py", "check.py"):
        text = (ENGINES / "dbos" / name).read_text().replace('command = "python ', 'command = "{python} ')
        text = text.replace("@datasource.transaction()", "@DBOS.step()").replace(
            "datasource.sql_session().execute(",
            'datasource.engine.connect().execution_options(isolation_level="AUTOCOMMIT").execute(',
        )
        (folder / name).write_text(text)
    point = "dbos.step.insert_ticket#1:committing"
    result = run_matrix(
        folder, root=tmp_path, directory=tmp_path / "out", points=[point], only=["mode=transaction", "key=none"],
        warm=True,
    )  # fmt: skip
    assert {cell.partition("@")[0]: verdict for cell, verdict in result.verdicts.items()} == {
        "undisturbed": "ok",
        point: "duplicate",
    }


def why(result: MatrixRun) -> list[str]:
    """What the findings of the one cell with a fault say."""
    (cell,) = (cell for cell in result.cells if cell.schedule.faults)
    assert cell.verdict.kind.value == "stuck"
    return [finding.summary for finding in cell.findings]


@pytest.mark.slow
def test_one_ordinary_error_ends_a_workflow_of_dbos_for_good(tmp_path):
    require("dbos")
    result = run_matrix(
        ENGINES / "dbos", root=tmp_path, directory=tmp_path / "out", warm=True, only=["mode=step", "key=none"],
        schedules=["fail@tickets.create#1:received,status=503"],
    )  # fmt: skip
    said = why(result)
    assert any("DBOS says that the workflow partner-4471 is ERROR" in text for text in said)
    assert any("exit status 1" in text for text in said)
    (cell,) = (cell for cell in result.cells if cell.schedule.faults)
    calls = [event for event in result.run.history(cell.cell).passages if event.name == "tickets.create"]
    assert {event.incarnation for event in calls} == {1}, "no later life tries again"


@pytest.mark.slow
def test_steps_of_a_workflow_are_named_and_settled_although_dbos_writes_from_its_own_threads(tmp_path):
    require("dbos")
    point = "dbos.step.file_ticket#1:committing"
    result = run_matrix(
        ENGINES / "dbos", root=tmp_path, directory=tmp_path / "out", points=[point], only=["mode=step", "key=none"],
        warm=True,
    )  # fmt: skip
    cell = f"{point}@mode=step,key=none"
    (settling,) = {one.settling for one in result.cells if one.cell == cell}
    assert settling == "settled"
    reached = [event for event in result.run.history(cell).of(BoundaryReached) if event.incarnation == 2]
    names = [event.name for event in reached]
    assert "dbos.workflow.recover" in names
    assert names.index("dbos.workflow.recover") < names.index("tickets.create")
    assert "model.chat" not in names, "a step that is recorded does not run again"


@pytest.mark.slow
def test_tasks_of_langgraphs_functional_api_wait_for_no_write_whatever_the_durability(tmp_path):
    """As seen with langgraph 1.2.24: what one task returned may be unwritten when the next one acts."""
    require("langgraph-functional")
    folder = tmp_path / "waiting"
    folder.mkdir()
    text = (ENGINES / "langgraph-functional" / "scenario.toml").read_text()
    assert text.count('expect = "goes_on"') == 2  # for `async` and for `sync`: the runs above prove it
    text = text.replace('expect = "goes_on"', 'expect = "waits"').replace('command = "python ', 'command = "{python} ')
    (folder / "scenario.toml").write_text(text)
    (folder / "worker.py").write_bytes((ENGINES / "langgraph-functional" / "worker.py").read_bytes())
    with pytest.raises(ProbeFailed, match="mode=sync"):
        run_matrix(
            folder, root=tmp_path, directory=tmp_path / "out", points=["tickets.create#1:returned"],
            only=["mode=sync", "key=none"], warm=True,
        )  # fmt: skip


RESUMED = ENGINES / "langgraph-resume" / "expected.json"
BETWEEN = [f"langgraph.put_writes.{node}#1:committed" for node in ("write_words", "approve", "file_ticket")]


def points_of(verdict: str, resume: str) -> list[str]:
    found = json.loads(RESUMED.read_text())
    return [cell.partition("@")[0] for cell in found if found[cell] == verdict and cell.endswith(f"@resume={resume}")]


def test_a_graph_that_is_resumed_only_if_it_names_a_next_node_loses_work_and_no_other_way_does():
    assert points_of("lost", "next") == BETWEEN
    assert [points_of("lost", resume) for resume in ("none", "answer", "input")] == [[], [], []]


def test_only_who_hands_over_the_answer_does_not_ask_a_person_again():
    assert points_of("duplicate", "answer") == []
    assert points_of("duplicate", "none") == points_of("duplicate", "next") == ["approvals.request#1:applied"]
    assert set(points_of("ok", "input")) == {"undisturbed"}


@pytest.mark.slow
def test_how_a_graph_is_resumed_decides_what_is_lost_and_what_is_asked_again(tmp_path):
    require("langgraph")
    result = run_matrix(
        ENGINES / "langgraph-resume", root=tmp_path, directory=tmp_path / "out", slice_name="gap", warm=True
    )
    assert result.verdicts == json.loads(RESUMED.read_text())
    effects = {cell.cell: cell.effects for cell in result.cells}
    everything = {"approvals.request": 1, "tickets.create": 1, "desk.send": 1}
    left = [
        {},
        {"approvals.request": 1},
        {"approvals.request": 1, "tickets.create": 1},
    ]
    assert [effects[f"{point}@resume=next"] for point in BETWEEN] == left
    assert [effects[f"{point}@resume=none"] for point in BETWEEN] == [everything] * 3


@pytest.mark.slow
def test_a_tool_that_the_workflow_runs_by_itself_is_run_again_by_whoever_takes_the_workflow_up(tmp_path):
    """As seen with pydantic-ai-slim 2.68.0 and temporalio 1.35.0: nothing keeps a blocking client out of a workflow."""
    require("pydantic-ai-temporal")
    point = "desk.send#1:received"
    result = run_matrix(
        ENGINES / "pydantic-ai-temporal", root=tmp_path, directory=tmp_path / "out", points=[point], warm=True,
        only=["mode=function", "key=none"],
    )  # fmt: skip
    assert {cell.partition("@")[0]: verdict for cell, verdict in result.verdicts.items()} == {
        "undisturbed": "ok",
        point: "duplicate",
    }
    (cell,) = (cell for cell in result.cells if cell.schedule.faults)
    reached = [event for event in result.run.history(cell.cell).of(BoundaryReached) if event.incarnation == 2]
    calls = [event.name for event in reached if event.phase is Phase.RECEIVED]
    assert calls[0] == "tickets.create", "the model's words are recorded, the ticket is not"
