"""Workers in containers: known answers for each fault, what an image brings along, and that nothing is left behind."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from images import base_image, engine

from ackgap.execute.containers.docker import RUN, labels_of
from ackgap.execute.containers.reaper import left_over, remove_run
from ackgap.matrix_run import run_matrix
from ackgap.model.verdict import VerdictKind

pytestmark = pytest.mark.slow

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "containers"
FOLDERS = sorted(path.parent for path in SCENARIOS.glob("*/scenario.toml"))
EXAMPLE = "ackgap-example:1"
LIMIT_S = 60.0


@pytest.fixture(scope="module", autouse=True)
def example():
    """Have the image that the scenarios name, for as long as it takes; a user's own of that name is kept."""
    name, tag = EXAMPLE.split(":")
    base = base_image()
    api = engine()
    had = bool(api.images(name=EXAMPLE))
    if not had:
        api.tag(base, name, tag)
    yield EXAMPLE
    if not had:
        api.remove_image(EXAMPLE)
    api.close()


@pytest.fixture(scope="module")
def api():
    client = engine()
    yield client
    client.close()


def ours(api, label=RUN):
    """Return everything in the engine that has a label of ackgap's."""
    filters = {"label": label}
    return [
        *(item["Id"] for item in api.containers(all=True, filters=filters)),
        *(item["Id"] for item in api.networks(filters=filters)),
        *(item["Name"] for item in api.volumes(filters=filters)["Volumes"] or ()),
    ]


def run_known(folder, tmp_path, *cells):
    """Run some cells of a known answer; return what came out by cell."""
    schedules = list(dict.fromkeys(cell.rpartition("@")[0] for cell in cells))
    return run_matrix(folder, root=tmp_path, directory=tmp_path / "out", schedules=schedules, jobs=2)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_verdicts_of_a_known_answer_in_a_container(folder, tmp_path):
    expected = json.loads((folder / "expected.json").read_text())
    schedules = [cell for cell in expected if not cell.startswith("undisturbed")]
    found = run_known(folder, tmp_path, *schedules).verdicts
    assert {cell: found.get(cell) for cell in expected} == expected


def test_each_family_of_faults_has_a_broken_and_a_correct_worker():
    names = {path.name.rpartition("-")[0] for path in FOLDERS}
    assert names >= {"kill", "term", "pause", "disconnect", "oom", "host-name", "compose", "any-language"}
    for name in names:
        assert {f"{name}-broken", f"{name}-correct"} <= {path.name for path in FOLDERS}


def test_nothing_is_left_after_the_runs(api):
    assert ours(api) == []


def cells_of(folder):
    return [cell for cell in json.loads((folder / "expected.json").read_text()) if not cell.startswith("undisturbed")]


def events(run, cell, kind):
    history = run.run.history(cell)
    return [event for event in history if event.kind == kind]


def test_a_container_paused_past_its_lease_acts_as_a_zombie_and_files_twice(tmp_path):
    folder = SCENARIOS / "pause-broken"
    found = run_known(folder, tmp_path, *cells_of(folder))
    (cell,) = (cell for cell in found.cells if cell.schedule.faults)
    assert {VerdictKind.ZOMBIE, VerdictKind.DUPLICATE} <= {finding.kind for finding in cell.findings}


def test_a_container_out_of_memory_is_killed_by_the_kernel_and_what_it_printed_is_kept(tmp_path):
    folder = tmp_path / "scenario"
    shutil.copytree(SCENARIOS / "oom-broken", folder)
    worker = folder / "worker.py"
    worker.write_text(worker.read_text() + '\nprint("the work is done", flush=True)\n')
    worker.write_text('print("begun", flush=True)\n' + worker.read_text())
    found = run_known(folder, tmp_path, "oom@tickets.create#1:applied@default")
    (cell,) = (cell for cell in found.cells if cell.schedule.faults)
    first, second = events(found, cell.cell, "incarnation_ended")
    assert (first.signal, first.out_of_memory, first.by_harness) == (signal.SIGKILL, True, True)
    assert first.output_tail == "begun\n"
    assert (second.exit_code, second.out_of_memory) == (0, False)
    assert second.output_tail == "begun\nthe work is done\n"


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
    (cell,) = (cell for cell in found.cells if cell.schedule.faults)
    asked = {(event.host, event.allowed) for event in events(found, cell.cell, "egress_attempted")}
    assert asked == {("example.com", False)}
    said = events(found, cell.cell, "incarnation_ended")[-1].output_tail
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
        [sys.executable, "-m", "ackgap", "run", "--quiet", str(folder), "--out", str(tmp_path / "killed")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until(lambda: any("sleeper" not in item["Command"] and "worker.py" in item["Command"] for item in running(api)))
        run = running(api)[0]["Labels"][RUN]
        everything = [psutil.Process(harness.pid), *psutil.Process(harness.pid).children(recursive=True)]
        for process in everything:  # stopped first, so that nobody learns of another's death
            process.suspend()
        for process in everything:
            process.kill()
    finally:
        harness.kill()
        harness.wait()
    kinds = {one.kind for one in left_over(api)}
    assert kinds == {"container", "network", "volume"}
    inside = [item["Id"] for item in running(api)]
    pids = [api.inspect_container(identity)["State"]["Pid"] for identity in inside]
    assert all(map(psutil.pid_exists, pids))
    run_known(SCENARIOS / "kill-broken", tmp_path, "tickets.create#1:applied@default")
    assert ours(api, f"{RUN}={run}") == []
    assert ours(api) == []
    assert not any(map(psutil.pid_exists, pids))
    assert not [process for process in psutil.process_iter() if run in environment_of(process)]


def running(api):
    return api.containers(filters={"label": RUN})


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


def test_a_run_leaves_alone_what_belongs_to_a_run_that_lives(api):
    process = psutil.Process()
    labels = labels_of("livingrun", owner=f"{process.pid}:{process.create_time()}")
    api.create_network("ackgap-living", labels=labels)
    try:
        assert [one for one in left_over(api) if one.name in ours(api, f"{RUN}=livingrun")] == []
        foreign = labels_of("deadrun", owner="999999999:1.0")
        api.create_network("ackgap-dead", labels=foreign)
        assert [one.kind for one in left_over(api)] == ["network"]
    finally:
        remove_run("livingrun")
        remove_run("deadrun")
    assert ours(api) == []


@pytest.mark.very_slow
def test_after_two_hundred_cells_nothing_is_left(tmp_path, api):
    schedules = [f"kill@tickets.create#1:{phase},down={minutes}m" for phase in ("received", "applied", "returned")
                 for minutes in range(1, 68)]  # fmt: skip
    before = set(psutil.pids())
    found = run_matrix(
        SCENARIOS / "kill-broken", root=tmp_path, directory=tmp_path / "out", schedules=schedules, jobs=2
    )
    assert len(found.cells) > 200
    assert ours(api) == []
    left = [psutil.Process(pid) for pid in set(psutil.pids()) - before]
    assert not [process for process in left if environment_of(process)]
