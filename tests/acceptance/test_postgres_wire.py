"""PostgreSQL on the wire: commits in any language are boundaries, and a killed worker leaves no lock behind."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from needs import lacking, need, needed

from ackgap.execute.services.postgres import find_binaries
from ackgap.matrix_run import MatrixRun, run_matrix
from ackgap.model.event import Injector

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
SCENARIOS = REPOSITORY / "scenarios"
KNOWN = SCENARIOS / "postgres-wire"
FOLDERS = sorted(path.parent for path in KNOWN.glob("*/scenario.toml"))

RECIPE = (REPOSITORY / "docs" / "network-and-containers.md").read_text().partition("## PostgreSQL on the wire")[2]
BLOCK = re.compile(r"<!-- (.*?) -->\n\n```\w*\n(.*?)```\n", re.DOTALL)


@pytest.fixture(autouse=True)
def _postgres() -> None:
    with needed():
        find_binaries()


def by_point(result: MatrixRun) -> dict[str, str]:
    return {cell.partition("@")[0]: verdict for cell, verdict in result.verdicts.items()}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_verdicts_of_a_known_answer(folder, tmp_path):
    need("psycopg", hint="pip install 'psycopg[binary]'")
    expected = json.loads((folder / "expected.json").read_text())
    schedules = [cell.rpartition("@")[0] for cell in expected]
    found = run_matrix(folder, root=tmp_path, directory=tmp_path / "out", schedules=schedules)
    assert {cell: found.verdicts.get(cell) for cell in expected} == expected


def test_a_node_worker_is_killed_before_and_after_its_commits_as_the_recipe_of_the_documents_says(project, program):
    program("node", "apt-get install nodejs")
    program("npm", "apt-get install npm")
    *files, (how, commands) = BLOCK.findall(RECIPE.partition("\n## ")[0])
    assert how == "run, exit 1"
    for order, text in files:
        project.write(order.removeprefix("file: "), text)
    install, run = commands.strip().splitlines()
    quiet = [*shlex.split(install.removeprefix("$ ")), "--no-audit", "--no-fund"]
    done = subprocess.run(quiet, cwd=project.path, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        lacking(f"npm could not install pg: {done.stderr[-300:]}")
    outcome = project.ackgap(*shlex.split(run.removeprefix("$ ackgap ")))
    assert outcome.status == 1, outcome.err
    assert {cell.partition("@")[0]: verdict for cell, verdict in outcome.verdicts.items()} == {
        "undisturbed": "ok",
        "tickets.create#1:received": "ok",
        "tickets.create#1:applied": "duplicate",
        "pg.steps.commit#1:committing": "duplicate",
        "pg.steps.commit#1:committed": "ok",
    }
    reached = outcome.history("pg.steps.commit#1:committed@default")
    assert {event["source"] for event in reached if event.get("name", "").startswith("pg.")} == {"store"}


def on_wire(name: str, tmp_path: Path) -> Path:
    """Return a copy of a shipped scenario whose database is understood on the wire.

    What it proves by names of the engine's own is left out: those names are given by hooks, and here there are none.
    """
    folder = tmp_path / name
    shutil.copytree(SCENARIOS / "engines" / name, folder)
    scenario = folder / "scenario.toml"
    text = scenario.read_text().replace('kind = "postgres"\n', 'kind = "postgres"\nwire = true\n')
    text = text.replace('"python ', '"{python} ')  # the one that has the engine
    text = re.sub(r"^(hold_proof|proofs) = .*(langgraph|dbos)\..*\n", "", text, flags=re.MULTILINE)
    scenario.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("name", "modules", "only", "rows"),
    [
        (
            "langgraph-postgres",
            ("langgraph.checkpoint.postgres", "psycopg"),
            ["mode=sync", "key=none"],
            {"langgraph.put_writes.file_ticket#1": "pg.checkpoint_writes.commit#3"},
        ),
        # Its cells are slow, and this row is called the same either way.
        ("dbos-postgres", ("dbos", "psycopg"), ["mode=transaction", "key=none"], {}),
    ],
)
def test_engines_on_the_wire_have_the_verdicts_that_they_have_with_hooks(name, modules, only, rows, tmp_path):
    need(*modules, hint=f"pip install 'ackgap[{name}]'")
    shared = (
        "tickets.create#1:applied",
        "pg.tickets+datasource_outputs.commit#1:",
        "langgraph.put_writes.file_ticket#1:",
    )
    variant = ",".join(only)
    expected = {}
    for cell, verdict in json.loads((SCENARIOS / "engines" / name / "expected.json").read_text()).items():
        point, _, where = cell.partition("@")
        if where == variant and point.startswith(shared):
            boundary, _, phase = point.rpartition(":")
            expected[f"{rows.get(boundary, boundary)}:{phase}"] = verdict
    assert expected
    result = run_matrix(
        on_wire(name, tmp_path), root=tmp_path, directory=tmp_path / "out", points=list(expected), only=only, warm=True
    )
    assert by_point(result) == {"undisturbed": "ok", **expected}
    passed = {event.name: event.source for event in result.run.history(f"undisturbed@{variant}").passages}
    assert not [name for name in passed if name.startswith(("langgraph.", "dbos."))], (
        "announced once, by the proxy alone"
    )
    assert {source for name, source in passed.items() if name.startswith("pg.")} == {Injector.STORE}
