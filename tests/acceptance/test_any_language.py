"""Workers in any language are looked into: by the preload library, and where that cannot be, by their system calls."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from needs import lacking, needed

from ackgap.errors import EnvironmentLacks
from ackgap.execute.trace import seccomp
from ackgap.matrix_run import run_matrix
from ackgap.preload.build import library

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
SCENARIOS = REPOSITORY / "scenarios" / "any-language"
COMPILERS = {
    "c": ("cc", "apt-get install gcc libc6-dev", ("-O2", "-o", "agent", "agent.c")),
    "go": ("go", "apt-get install golang", ("build", "-o", "agent", "main.go")),
    "rust": ("rustc", "apt-get install rustc", ("-O", "-o", "agent", "main.rs")),
}
OTHER_PLACES = {"go": Path("/usr/local/go/bin/go"), "rustc": Path.home() / ".cargo" / "bin" / "rustc"}
PROGRAMS = {
    "node": {"node": "apt-get install nodejs"},
    "sqlite-shell": {"sqlite3": "apt-get install sqlite3", "curl": "apt-get install curl"},
}
BLOCK = re.compile(r"<!-- (.*?) -->\n\n```\w*\n(.*?)```\n", re.DOTALL)


def found(program: str, how: str) -> str:
    place = OTHER_PLACES.get(program)
    path = shutil.which(program) or (str(place) if place and place.exists() else None)
    return path or lacking(f"{program} is missing; get it with: {how}")


@pytest.fixture(scope="module", autouse=True)
def injectors() -> None:
    with needed():
        library()
    if why := seccomp.lacking():
        lacking(f"system calls cannot be made to stand here: {why}")


@pytest.fixture(scope="module")
def subject(tmp_path_factory) -> Callable[[str], Path]:
    """Return a copy of a scenario's folder with its worker compiled; each is compiled once."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            folder = tmp_path_factory.mktemp("subject") / name
            shutil.copytree(SCENARIOS / name, folder)
            for program, how in PROGRAMS.get(name, {}).items():
                found(program, how)
            if name in COMPILERS:
                compiler, how, arguments = COMPILERS[name]
                env = {"CGO_ENABLED": "0", "GO111MODULE": "off", "GOFLAGS": ""}
                command = ["env", *(f"{key}={value}" for key, value in env.items()), found(compiler, how), *arguments]
                subprocess.run(command, cwd=folder, check=True, capture_output=True)
            made[name] = folder
        return made[name]

    return make


def with_injector(folder: Path, injector: str) -> Path:
    """Return the scenario with another injector; a compiled agent is started without a shell before it."""
    text = (folder / "scenario.toml").read_text()
    assert 'injector = "' in text
    text = re.sub(r'injector = "\w+"', f'injector = "{injector}"', text)
    changed = folder / f"{injector}.toml"
    changed.write_text(text.replace('"sh agent.sh"', '"./agent"') if (folder / "agent").exists() else text)
    return changed


def histories(directory: Path) -> list[list[dict]]:
    """Return the events of each cell of a run."""
    return [json.loads(line)["history"] for line in (directory / "histories.jsonl").read_text().splitlines()]


def writes_of(history: list[dict]) -> list[dict]:
    """Return where a life stood at a durable write."""
    return [event for event in history if event.get("boundary_kind") == "checkpoint"]


def sources(directory: Path) -> set[str]:
    """Return who announced durable writes."""
    return {event["source"] for history in histories(directory) for event in writes_of(history)}


@pytest.mark.parametrize(
    ("name", "injector", "source"),
    [
        ("rust", "auto", "preload"),
        ("c", "auto", "preload"),
        ("go", "auto", "trace"),
        ("sqlite-shell", "auto", "preload"),
        ("sqlite-python", "preload", "preload"),
    ],
)
def test_a_duplicate_is_found_between_the_effect_and_the_record_and_a_stable_key_mends_it(
    subject, tmp_path, name, injector, source
):
    folder = subject(name)
    expected = json.loads((folder / "expected.json").read_text())
    run = run_matrix(with_injector(folder, injector), root=tmp_path, directory=tmp_path / "out")
    assert run.verdicts == expected
    assert sources(tmp_path / "out") == {source}


@pytest.mark.parametrize(
    ("name", "injector", "source"),
    [("node", "auto", "preload"), ("c", "trace", "trace"), ("sqlite-python", "trace", "trace")],
)
def test_both_injectors_give_the_same_verdicts_wherever_they_can_be_used(subject, tmp_path, name, injector, source):
    folder = subject(name)
    expected = json.loads((folder / "expected.json").read_text())
    run = run_matrix(
        with_injector(folder, injector),
        root=tmp_path,
        directory=tmp_path / "out",
        only=["key=none"],
        points=["tickets.create#1:applied", "*.replace#1:*", "sqlite.*#3:*"],
    )
    assert run.verdicts == {cell: expected[cell] for cell in run.verdicts}
    assert {"duplicate", "ok"} == set(run.verdicts.values())
    assert len(run.verdicts) == 4
    assert sources(tmp_path / "out") == {source}


CHANGES = """
import os, runpy, sys, urllib.request
urllib.request.urlopen(urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", b'{"a": 1}')).close()
sys.argv = ["file_changes.py", "."]
runpy.run_path("file_changes.py")
"""


def scenario(folder: Path, command: str, injector: str, more: str = "") -> Path:
    """Write the scenario of a worker and return its file."""
    file = folder / "scenario.toml"
    file.write_text(
        f'name = "changes"\n[worker]\ncommand = "{command}"\ninjector = "{injector}"\n{more}\n'
        'env = { TICKETS_URL = "{tickets.url}" }\n[targets.tickets]\nprofile = "any"\n'
    )
    return file


@pytest.mark.parametrize("injector", ["preload", "trace"])
def test_every_change_is_seen_once_and_comes_out_as_without_the_injector(tmp_path, injector):
    (tmp_path / "worker.py").write_text(CHANGES)
    shutil.copy(REPOSITORY / "tests" / "support" / "file_changes.py", tmp_path)
    run = run_matrix(
        scenario(tmp_path, "python worker.py", injector),
        root=tmp_path,
        directory=tmp_path / "out",
        points=["tickets.*:received"],
    )
    assert run.verdicts == {"undisturbed@default": "ok", "tickets.POST/tickets#1:received@default": "ok"}
    history = histories(tmp_path / "out")[0]
    (end,) = (event for event in history if event["kind"] == "incarnation_ended")
    points = writes_of(history)
    begun = [point["name"] for point in points if point["phase"] == "committing"]
    assert {point["source"] for point in points} == {injector}
    assert not any(point["overlapped"] for point in points)  # one at a time, whichever thread or process it is
    wanted = json.loads(end["output_tail"].splitlines()[-1])
    threads = [name for name in wanted if "thread" in name]
    assert sorted(begun) == sorted(wanted)
    assert [name for name in begun if name not in threads] == [name for name in wanted if name not in threads]
    landed = [(point["name"], point["occurrence"]) for point in points if point["phase"] == "committed"]
    assert len(landed) == len(set(landed)) == len(wanted) - 1  # one of them fails on purpose


def test_a_python_worker_has_the_same_verdicts_without_its_own_hooks(tmp_path):
    shutil.copy(REPOSITORY / "scenarios" / "agents" / "python" / "agent.py", tmp_path)
    found = {}
    for injector in ("python", "preload"):
        run = run_matrix(
            scenario(tmp_path, "python agent.py", injector),
            root=tmp_path,
            directory=tmp_path / injector,
            points=["*/tickets#1:applied", "file.*#1:*"],
        )
        found[injector] = run.verdicts
        assert sources(tmp_path / injector) == {injector}
    assert found["preload"] == found["python"]
    assert len(found["python"]) == 6
    assert set(found["python"].values()) == {"ok", "duplicate"}


def test_a_child_without_the_library_makes_every_cell_inconclusive_where_the_library_was_asked_for(subject, tmp_path):
    shutil.copy(subject("go") / "agent", tmp_path)
    (tmp_path / "agent.sh").write_text("./agent\n")
    file = scenario(tmp_path, "sh agent.sh", "preload")
    run = run_matrix(file, root=tmp_path, directory=tmp_path / "out", points=["*:applied"])
    assert set(run.verdicts.values()) == {"inconclusive"}
    said = {finding.code: finding.summary for cell in run.cells for finding in cell.findings}
    assert 'injector = "trace" sees it' in said["unseen_process"]
    file = scenario(tmp_path, "sh agent.sh", "auto")
    run = run_matrix(file, root=tmp_path, directory=tmp_path / "auto", points=["*:applied"])
    assert "duplicate" in run.verdicts.values()
    assert "unseen" in {finding.code for cell in run.cells for finding in cell.findings}


def test_a_static_program_is_refused_where_the_library_was_asked_for(subject, tmp_path):
    shutil.copy(subject("go") / "agent", tmp_path)
    with pytest.raises(EnvironmentLacks, match="linked statically") as raised:
        run_matrix(scenario(tmp_path, "./agent", "preload"), root=tmp_path, directory=tmp_path / "out")
    assert 'injector = "trace"' in raised.value.next_step


def test_requests_park_before_they_leave_where_the_scenario_asks_for_that(subject, tmp_path):
    shutil.copy(subject("c") / "agent", tmp_path)
    file = scenario(tmp_path, "./agent", "preload", "sends = true")
    run = run_matrix(file, root=tmp_path, directory=tmp_path / "out", points=["tickets.*"])
    assert {cell.partition("@")[0].rpartition(":")[2]: verdict for cell, verdict in run.verdicts.items()} == {
        "undisturbed": "ok",
        "sending": "ok",
        "received": "ok",
        "applied": "duplicate",
    }


def test_the_recipe_of_the_documents_can_be_followed(project):
    found("node", "apt-get install nodejs")
    document = (REPOSITORY / "docs" / "network-and-containers.md").read_text()
    recipe = document.partition("## A worker in any language")[2].partition("\n## ")[0]
    orders = BLOCK.findall(recipe)
    assert [order for order, _ in orders] == ["file: agent.mjs", "file: scenario.toml", "run, exit 1"]
    for order, text in orders[:2]:
        project.write(order.removeprefix("file: "), text)
    outcome = project.ackgap(*shlex.split(orders[2][1].removeprefix("$ ackgap ")))
    assert outcome.status == 1, outcome.out + outcome.err
    assert outcome.verdicts == {
        "undisturbed@default": "ok",
        "file.state.json.replace#1:committing@default": "duplicate",
        "file.state.json.replace#1:committed@default": "ok",
    }


def test_cells_begin_with_copies_of_a_worker_whose_system_calls_stand(subject, tmp_path):
    folder = subject("go")
    expected = json.loads((folder / "expected.json").read_text())
    points = ["tickets.create#1:applied", "file.*.write#1:*"]
    file = with_injector(folder, "trace")
    run = run_matrix(file, root=tmp_path, directory=tmp_path / "out", only=["key=none"], points=points, copies=True)
    assert run.verdicts == {cell: expected[cell] for cell in run.verdicts}
    assert any("began with a copy" in note and not note.startswith("No cell") for note in run.run.info.notes)
