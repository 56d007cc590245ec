"""Workers in containers: known answers for each fault, what an image brings along, and that nothing is left behind."""

from __future__ import annotations

import functools
import itertools
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest
from images import engine, example_image

from ackgap.execute.containers.docker import OWNER, RUN
from ackgap.execute.ground import prepare_ground
from ackgap.execute.slot import MARKER_FILE
from ackgap.matrix_run import run_matrix
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import VerdictKind

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
SCENARIOS = REPOSITORY / "scenarios" / "containers"
FOLDERS = sorted(path.parent for path in SCENARIOS.glob("*/scenario.toml"))
LIMIT_S = 60.0
_SELF = psutil.Process()
OF_THIS_PROCESS = f"{OWNER}={_SELF.pid}:{_SELF.create_time()}"
"""Other tests may have containers at the same time."""


@pytest.fixture(scope="module", autouse=True)
def example():
    """Have the image that the scenarios name; what a user has of that name is kept."""
    example_image()


@pytest.fixture(scope="module")
def api():
    client = engine()
    yield client
    client.close()


def ours(api, label):
    """Return everything in the engine that has a label."""
    return [item for found in kinds(api, label) for item in found]


def kinds(api, label):
    """Return the containers, networks and volumes that have a label."""
    filters = {"label": label}
    return (
        [item["Id"] for item in api.containers(all=True, filters=filters)],
        [item["Id"] for item in api.networks(filters=filters)],
        [item["Name"] for item in api.volumes(filters=filters)["Volumes"] or ()],
    )


def run_known(folder, directory, *cells):
    """Run some cells of a known answer."""
    schedules = list(dict.fromkeys(cell.rpartition("@")[0] for cell in cells))
    return run_matrix(folder, root=directory, directory=directory / "out", schedules=schedules, jobs=2)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """Return what a known answer came to; each is run once."""

    @functools.cache
    def run(name):
        expected = json.loads((SCENARIOS / name / "expected.json").read_text())
        cells = [cell for cell in expected if not cell.startswith("undisturbed")]
        return run_known(SCENARIOS / name, tmp_path_factory.mktemp(name), *cells)

    return run


def disturbed(run):
    (cell,) = (cell for cell in run.cells if cell.schedule.faults)
    return cell


def events(run, cell, kind):
    return [event for event in run.run.history(cell.cell) if event.kind == kind]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_verdicts_of_a_known_answer_in_a_container(folder, known):
    expected = json.loads((folder / "expected.json").read_text())
    found = known(folder.name).verdicts
    assert {cell: found.get(cell) for cell in expected} == expected


def test_each_family_of_faults_has_a_broken_and_a_correct_worker():
    names = {path.name.rpartition("-")[0] for path in FOLDERS}
    assert names >= {"kill", "term", "pause", "disconnect", "oom", "host-name", "compose", "any-language"}
    for name in names:
        assert {f"{name}-broken", f"{name}-correct"} <= {path.name for path in FOLDERS}


def test_a_container_paused_past_its_lease_acts_as_a_zombie_and_files_twice(known):
    found = {finding.kind for finding in disturbed(known("pause-broken")).findings}
    assert {VerdictKind.ZOMBIE, VerdictKind.DUPLICATE} <= found


def test_a_container_out_of_memory_is_killed_by_the_kernel_and_what_it_printed_is_kept(known):
    run = known("oom-broken")
    first, second = events(run, disturbed(run), "incarnation_ended")
    assert (first.signal, first.out_of_memory, first.by_harness) == (signal.SIGKILL, True, True)
    assert first.output_tail == "begun\n"
    assert (second.exit_code, second.out_of_memory) == (0, False)
    assert second.output_tail == "begun\ndone\n"


def test_a_worker_in_a_container_reaches_no_other_machine_and_who_it_asked_for_is_told(tmp_path):
    folder = tmp_path / "scenario"
    shutil.copytree(SCENARIOS / "any-language-correct", folder)
    script = folder / "worker.sh"
    asks = (
        "curl -sS --max-time 5 -o /dev/null http://example.com/ && touch reached\n"
        "curl -sS --max-time 5 -o /dev/null http://192.0.2.1/ && touch reached\n"
    )
    script.write_text(script.read_text() + asks + "true\n")
    found = run_known(folder, tmp_path, "tickets.create#1:applied@default")
    cell = disturbed(found)
    asked = {(event.host, event.allowed) for event in events(found, cell, "egress_attempted")}
    assert asked == {("example.com", False)}
    said = events(found, cell, "incarnation_ended")[-1].output_tail
    assert "example.com" in said
    assert "192.0.2.1" in said
    assert cell.verdict.kind is VerdictKind.OK


SLEEPER = """
name = "sleeper"
[worker]
image = "ackgap-example:1"
command = "python worker.py"
env = { TICKETS_URL = "{tickets.url}" }
[targets.tickets]
profile = "case-management"
[services.stack]
compose = "compose.yaml"
"""
COMPOSE = """
services:
  beside:
    image: ackgap-example:1
    command: sleep 1000
    volumes: ["kept:/data"]
"""
WAITS = "import os, time, urllib.request\nprint('up', flush=True)\ntime.sleep(600)\n"


def test_what_a_killed_harness_has_left_is_gone_once_the_next_run_has_started(tmp_path, api):
    """The harness and its slots are killed in the middle of a cell; nothing of theirs could clear away."""
    folder = tmp_path / "sleeper"
    folder.mkdir()
    (folder / "scenario.toml").write_text(SLEEPER)
    (folder / "compose.yaml").write_text(COMPOSE)
    (folder / "worker.py").write_text(WAITS)
    harness = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "ackgap",
            "run",
            "--quiet",
            "--jobs",
            "1",
            str(folder),
            "--out",
            str(tmp_path / "killed"),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        mine = f"{OWNER}={harness.pid}:{psutil.Process(harness.pid).create_time()}"
        until(lambda: any("worker.py" in item["Command"] for item in running(api, mine)))
        everything = [psutil.Process(harness.pid), *psutil.Process(harness.pid).children(recursive=True)]
        for process in everything:  # stopped first, so that nobody learns of another's death
            process.suspend()
        inside = running(api, mine)
        run = inside[0]["Labels"][RUN]
        pids = [api.inspect_container(item["Id"])["State"]["Pid"] for item in inside]
        assert len(inside) == 2
        assert all(map(psutil.pid_exists, pids))
        assert [len(found) for found in kinds(api, mine)] == [2, 1, 1]
        for process in everything:
            process.kill()
    finally:
        harness.kill()
        harness.wait()
    run_known(SCENARIOS / "kill-broken", tmp_path, "tickets.create#1:applied@default")
    assert ours(api, mine) == []
    assert not any(map(psutil.pid_exists, pids))
    assert not [process for process in psutil.process_iter() if run in environment_of(process)]


FILES_LATE = """
import os, time, urllib.request
time.sleep(0.5)
headers = {"Content-Type": "application/json"}
body = b'{"partner_id": "4471", "kind": "review"}'
urllib.request.urlopen(urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", body, headers)).close()
"""


def test_a_slot_that_is_killed_costs_its_cell_and_its_successor_takes_away_what_it_has_left(project, api):
    for name, text in (("scenario.toml", SLEEPER), ("compose.yaml", COMPOSE), ("worker.py", FILES_LATE)):
        project.write(name, text)
    kills = [f"--schedule=kill@tickets.create#1:{phase}" for phase in ("sending", "received", "applied")]
    command = [sys.executable, "-m", "ackgap", "run", "scenario.toml", "--out", "out", "--jobs", "1", *kills]
    with subprocess.Popen(
        command, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as harness:
        try:
            mine = f"{OWNER}={harness.pid}:{psutil.Process(harness.pid).create_time()}"
            cells = project.path / "out" / "cells.jsonl"
            until(lambda: cells.exists() and cells.read_text().count("\n") >= 1)
            until(lambda: any("worker.py" in item["Command"] for item in running(api, mine)))
            before = kinds(api, mine)
            assert [len(found) for found in before] == [2, 1, 1]
            (slot,) = slots_of(running(api, mine)[0]["Labels"][RUN])
            slot.kill()
            out, err = harness.communicate(timeout=LIMIT_S)
        finally:
            harness.kill()
    assert err == "", out
    found = {line["cell"]: line for line in map(json.loads, cells.read_text().splitlines())}
    assert len(found) == 4
    (lost,) = (line for line in found.values() if line["verdict"] == "inconclusive")
    assert "its slot was killed from outside" in lost["headline"]
    assert ours(api, mine) == []


TOO_MUCH = "import threading, time\nkept = [threading.Thread(target=time.sleep, args=(0.1,)) for _ in range(20)]\n"


@pytest.mark.parametrize(
    ("worker", "limit", "said"),
    [
        ("kept = b'x' * (100 << 20)\n", "memory_bytes = 33554432", "more memory than the 33554432 bytes"),
        (TOO_MUCH + "for one in kept: one.start()\n", "processes = 4", "limits.processes allows a container 4"),
    ],
)
def test_a_limit_that_is_too_low_for_an_undisturbed_run_is_named(project, worker, limit, said):
    project.write("scenario.toml", SLEEPER.partition("[services")[0] + f"[limits]\n{limit}\n")
    project.write("worker.py", worker)
    outcome = project.ackgap("run", "scenario.toml", "--jobs", "1")
    assert outcome.status == 2
    assert said in outcome.err
    assert f"limits.{limit.partition(' ')[0]}" in outcome.err


def test_a_name_that_no_image_can_have_is_told_in_a_sentence_with_its_key(project):
    project.write("scenario.toml", SLEEPER.partition("[services")[0].replace("ackgap-example:1", "UPPER CASE"))
    project.write("worker.py", "")
    outcome = project.ackgap("run", "scenario.toml")
    assert outcome.status == 2
    assert outcome.err.startswith("ackgap: the Docker engine takes 'UPPER CASE' for no name of an image")
    assert "where: worker.image" in outcome.err


def slots_of(run):
    """Return the slots of a run that are at work, by what they write down of that."""
    for directory in Path(tempfile.gettempdir()).glob("ackgap-*"):
        owner = directory / "owner.json"
        if owner.exists() and json.loads(owner.read_text())["run"] == run:
            return [psutil.Process(json.loads(file.read_text())[0]) for file in directory.glob(f"s*/{MARKER_FILE}")]
    return []


def running(api, label):
    return api.containers(filters={"label": label})


def until(condition):
    ends_s = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < ends_s, "not within the limit"
        time.sleep(0.05)


def environment_of(process):
    try:
        return process.environ().get("ACKGAP_RUN", "")
    except psutil.Error:
        return ""


@pytest.mark.parametrize("times", [1, pytest.param(67, marks=pytest.mark.very_slow)])
def test_after_many_cells_nothing_is_left(times, tmp_path, api, monkeypatch):
    """With 67 times three schedules and the undisturbed run these are more than 200 cells."""
    tokens = []

    def noted():
        ground = prepare_ground()
        tokens.append(ground.run_token)
        return ground

    monkeypatch.setattr("ackgap.campaign.stage.prepare_ground", noted)
    schedules = [
        f"kill@tickets.create#1:{phase},down={minutes}m"
        for phase in ("received", "applied", "returned")
        for minutes in range(1, times + 1)
    ]
    found = run_matrix(SCENARIOS / "kill-broken", root=tmp_path, directory=tmp_path, schedules=schedules, jobs=2)
    assert len(found.cells) == 3 * times + 1
    assert {cell.verdict.kind for cell in found.cells} == {VerdictKind.OK, VerdictKind.DUPLICATE}
    assert ours(api, OF_THIS_PROCESS) == []
    assert not [process for process in psutil.process_iter() if environment_of(process) in tokens]
    assert len(tokens) == 1


SECTION = (REPOSITORY / "docs" / "network-and-containers.md").read_text().partition("## A worker in a container")[2]
BLOCK = re.compile(r"<!-- (.*?) -->\n\n```\w*\n(.*?)```\n", re.DOTALL)
ORDERS = BLOCK.findall(SECTION.partition("\n## ")[0])
COMMANDS = [(order, shlex.split(text.removeprefix("$ ackgap "))) for order, text in ORDERS if order.startswith("run")]
BLOCKS = sorted({tuple(itertools.takewhile("--schedule".__ne__, words)) for _, words in COMMANDS})
"""Commands that differ only in their schedule are run as one."""


@pytest.mark.parametrize("block", BLOCKS, ids=lambda words: words[1])
def test_the_recipes_of_the_documents_can_be_followed(project, block):
    for order, text in ORDERS:
        if order.startswith("file: "):
            project.write(order.removeprefix("file: "), text)
    mine = [(order, words[len(block) :]) for order, words in COMMANDS if tuple(words[: len(block)]) == block]
    outcome = project.ackgap(*block, *(word for _, more in mine for word in more), "--jobs", "2")
    assert outcome.status == 1, outcome.out + outcome.err
    for order, more in mine:
        row = f"{Schedule.parse(more[1]).label}@" if more else "tickets."
        cells = [verdict for cell, verdict in outcome.verdicts.items() if cell.startswith(row)]
        assert (not cells, "duplicate" in cells) == (False, order == "run, exit 1"), (more, outcome.verdicts)
