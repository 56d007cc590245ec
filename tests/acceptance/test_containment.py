"""What a worker may take of the machine, and that all it has started ends with its cell."""

from __future__ import annotations

import os
import re
from pathlib import Path

import psutil
import pytest
from needs import needed

from ackgap.errors import EnvironmentLacks
from ackgap.execute.control_group import ControlGroup, NotPermitted
from ackgap.model.event import IncarnationEnded, Note
from ackgap.report.store import read_run

REPOSITORY = Path(__file__).parents[2]
RECIPE = (
    (REPOSITORY / "docs" / "network-and-containers.md").read_text().partition("## Containment")[2].partition("\n## ")[0]
)
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n\n```\w+\n(.*?)```", RECIPE, re.DOTALL))
POINT = "tickets.create#1:received"


@pytest.fixture
def limited() -> None:
    with needed():
        try:
            ControlGroup(memory_bytes=2**26, processes=10).close()
        except NotPermitted as reason:
            raise EnvironmentLacks(str(reason), next_step="run as root, or in a delegated control group") from None


@pytest.fixture
def recipe(project):
    for name, text in FILES.items():
        project.write(name, text)
    return project


@pytest.mark.slow
@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize("more", [(), ("--warm",)], ids=["plain", "warm"])
def test_a_recovery_that_needs_more_memory_than_it_may_have_is_stuck_and_the_history_says_why(recipe, more):
    outcome = recipe.ackgap("run", "scenario.toml", "--point", POINT, *more)
    cell = f"{POINT}@default"
    assert outcome.verdicts == {"undisturbed@default": "ok", cell: "stuck"}
    run = read_run(outcome.directory)
    first, *later = run.history(cell).of(IncarnationEnded)
    assert not first.out_of_memory
    assert later
    assert all(end.out_of_memory and end.signal == 9 and not end.by_harness for end in later)
    [stuck] = [result.verdict.worst for result in run.cells if result.cell == cell]
    assert stuck is not None
    assert stuck.attribution is not None
    assert stuck.attribution.worker == "was killed by the kernel, which had no memory left for it"
    assert "for want of memory" in " ".join(recipe.ackgap("show", "out", cell).out.split())
    assert not list(Path("/sys/fs/cgroup").glob("**/ackgap-*"))


@pytest.mark.slow
@pytest.mark.usefixtures("limited")
def test_with_enough_memory_the_same_worker_gets_through(recipe):
    recipe.write("scenario.toml", FILES["scenario.toml"].replace("134217728", "1073741824"))
    outcome = recipe.ackgap("run", "scenario.toml", "--point", POINT)
    assert set(outcome.verdicts.values()) == {"ok"}


FILES_ONE = """
import json, os, time, urllib.request

body = json.dumps({"partner_id": "4471", "kind": "review", "title": "Review"}).encode()
headers = {"Content-Type": "application/json"}
urllib.request.urlopen(urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", body, headers)).read()
"""
FORKS = (
    FILES_ONE
    + """
if os.path.exists("begun"):
    for _ in range(500):
        try:
            if os.fork() == 0:
                time.sleep(600)
        except BlockingIOError:
            break
"""
)
DAEMON = (
    FILES_ONE
    + """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 1024)
        time.sleep(600)
    os._exit(0)
os.wait()
"""
)


@pytest.mark.slow
@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize(
    ("worker", "limit"),
    [
        ("kept = b'x' * (100 << 20)\n", "memory_bytes = 33554432"),
        ("import os\nfor _ in range(9): os.fork()\n", "processes = 4"),
    ],
)
def test_a_limit_that_is_too_low_for_an_undisturbed_run_is_named(project, worker, limit):
    project.write("worker.py", worker)
    name, _, number = limit.partition(" = ")
    scenario = 'name = "low"\n[worker]\ncommand = "python worker.py"\n[targets.tickets]\nprofile = "case-management"\n'
    project.write("scenario.toml", f"{scenario}[limits]\n{limit}\n")
    outcome = project.ackgap("run", "scenario.toml", "--jobs", "1")
    assert outcome.status == 2
    assert f"limits.{name}" in outcome.err
    assert number in outcome.err


BEGINS = "import os\nBEGUN = os.path.exists('begun') or open('begun', 'w').close()\n"


@pytest.mark.slow
@pytest.mark.usefixtures("limited")
def test_a_worker_that_forks_without_end_is_refused_and_all_of_it_is_gone_afterwards(recipe):
    recipe.write(
        "agent.py", FORKS.replace('if os.path.exists("begun")', "if BEGUN").replace("\nimport", BEGINS + "import", 1)
    )
    recipe.write("scenario.toml", FILES["scenario.toml"] + "life_s = 4\nrestarts = 0\n")
    outcome = recipe.ackgap("run", "scenario.toml", "--point", POINT, limit_s=300)
    cell = f"{POINT}@default"
    assert outcome.verdicts[cell] == "stuck", "its children never end"
    notes = [note for note in read_run(outcome.directory).history(cell).of(Note) if note.code == "processes_refused"]
    assert [note.incarnation for note in notes] == [2]
    assert "more than 64 processes" in notes[0].text
    assert not _left_in(recipe.path)


@pytest.mark.slow
def test_a_grandchild_that_has_become_a_daemon_ends_with_the_cell(recipe):
    recipe.write("agent.py", DAEMON)
    recipe.write("scenario.toml", FILES["scenario.toml"].partition("[limits]")[0] + "[limits]\nlife_s = 3\n")
    outcome = recipe.ackgap("run", "scenario.toml", "--point", "tickets.create#1:applied")
    assert "still running" in " ".join(outcome.err.split()), outcome.err
    assert not _left_in(recipe.path)


def _left_in(directory: Path) -> list[str]:
    """Processes that still run the agent."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and "agent.py" in " ".join(process.cmdline()):
                found += [str(process)] if process.environ().get("PWD", "").startswith(str(directory)) else []
        except psutil.Error:
            continue
    return found
