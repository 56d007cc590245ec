"""Broken surroundings (a full disk, a signal, a stopped process) end in one sentence and cost no result."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

TICKET = """
import os, sys, urllib.request
def post(path="/tickets"):
    urllib.request.urlopen(urllib.request.Request(os.environ["TICKETS_URL"] + path, b"{}")).read()
"""


@pytest.mark.parametrize("file", ["report.html", "summary.md"])
def test_a_disk_that_is_full_at_the_end_costs_neither_matrix_nor_exit_status(project, file):
    project.write("agent.py", TICKET + "post()\n")
    (project.path / "out").mkdir()
    (project.path / "out" / f".{file}.part").symlink_to("/dev/full")
    outcome = project.run_worker("python agent.py", "--point", "*:applied", "--jobs", "1")
    assert outcome.status == 1, outcome.err
    assert "No space left on device" in outcome.err
    assert f"out/{file}" in outcome.err
    assert "tickets.POST/tickets#1" in outcome.out
    assert outcome.verdicts["tickets.POST/tickets#1:applied@default"] == "duplicate"
    assert not list(outcome.directory.glob(".*.part"))


def test_standard_output_on_a_full_disk_is_one_sentence(project):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ackgap", "targets"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 3
    assert done.stderr == "ackgap: No space left on device\n  where: standard output\n"


def start(project, *more: str, **popen) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            sys.executable, "-m", "ackgap", "run", "--worker", "python agent.py", "--target", "tickets=any",
            "--env", "TICKETS_URL={tickets.url}", "--out", "out", *more,
        ],
        cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("number", "whole_group"), [("SIGTERM", False), ("SIGTERM", True), ("SIGHUP", False)])
def test_a_run_that_is_told_to_end_reports_what_it_has_and_leaves_nothing(project, number, whole_group):
    project.write("agent.py", TICKET + "for n in range(60): post(f'/t{n}')\n")
    with start(project, "--jobs", "2", start_new_session=True) as process:
        run = run_token(process)
        wait_for_cells(project.path / "out", 3)
        reached = process.pid if not whole_group else -process.pid
        subprocess.run(["kill", f"-{number}", "--", str(reached)], check=True)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + getattr(signal, number)
    assert err == f"ackgap: ended with {number}\n"
    assert "Not complete" in out
    assert (project.path / "out" / "report.html").exists()
    assert_nothing_left(run)


def slots_at_work(run: str) -> list[int]:
    """Return the process ids of the slots of a run that have a worker right now."""
    found = {psutil.Process(pid).ppid() for pid in psutil.pids() if run_of(pid) == run and is_worker(pid)}
    return sorted(found)


def is_worker(pid: int) -> bool:
    try:
        return "agent.py" in psutil.Process(pid).cmdline()
    except psutil.Error:
        return False


@pytest.mark.slow
@pytest.mark.parametrize(("number", "said"), [(signal.SIGSTOP, "stopped from"), (signal.SIGKILL, "killed from")])
def test_a_slot_that_is_lost_costs_its_cell_and_no_other(project, number, said):
    project.write("agent.py", TICKET + "import time\nfor n in range(4): post(f'/t{n}'); time.sleep(0.1)\n")
    with start(project, "--jobs", "2") as process:
        run = run_token(process)
        wait_for_cells(project.path / "out", 2)
        os.kill(wait_until(lambda: slots_at_work(run))[0], number)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert err == ""
    lines = [json.loads(line) for line in (project.path / "out" / "cells.jsonl").read_text().splitlines()]
    lost = [line for line in lines if line["verdict"] == "inconclusive"]
    assert len(lost) == 1
    assert said in lost[0]["headline"]
    assert said in out
    cells = [line["cell"] for line in lines]
    assert len(cells) == len(set(cells)) == 1 + 4 * len({cell.partition(":")[2] for cell in cells if ":" in cell})
    assert_nothing_left(run)


def wait_until(true, limit_s: float = 60):
    ends_s = time.monotonic() + limit_s
    while time.monotonic() < ends_s:
        found = true()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it never came")


def wait_for_cells(directory: Path, count: int) -> None:
    cells = directory / "cells.jsonl"
    wait_until(lambda: cells.exists() and cells.read_text().count("\n") >= count)


def run_token(process: subprocess.Popen[str]) -> str:
    """Return what every process of the run has in its environment, from the run's own temporary directory."""

    def owner() -> str:
        for file in Path("/tmp").glob("ackgap-*/owner.json"):
            try:
                document = json.loads(file.read_text())
            except (OSError, ValueError):
                continue
            if document["pid"] == process.pid:
                return str(document["run"])
        return ""

    return wait_until(owner)


def assert_nothing_left(run: str) -> None:
    wait_until(lambda: not [pid for pid in psutil.pids() if run_of(pid) == run], 15)


def run_of(pid: int) -> str:
    try:
        return psutil.Process(pid).environ().get("ACKGAP_RUN", "")
    except psutil.Error:
        return ""


DAEMON = """
import os, sys
if os.fork():
    os._exit(0)  # as a program does that sends itself into the background
os.setsid()
"""


def test_a_worker_that_goes_into_the_background_is_waited_for_and_killed_there(project):
    project.write("agent.py", DAEMON + TICKET + "import time\ntime.sleep(0.2)\npost()\n")
    outcome = project.run_worker("python agent.py")
    assert outcome.verdicts["tickets.POST/tickets#1:applied@default"] == "duplicate"
    assert outcome.verdicts["tickets.POST/tickets#1:received@default"] == "ok"
    assert "inconclusive" not in outcome.verdicts.values()
    assert outcome.status == 1


def test_what_a_command_leaves_running_is_named(project):
    project.write("agent.py", TICKET + "import subprocess\npost()\nsubprocess.Popen(['sleep', '1000'])\n")
    outcome = project.run_worker("python agent.py", "--life", "4")
    assert outcome.status == 2
    assert "ended with exit status 0, and processes that it had started were still running 4 s later" in outcome.err
    assert "(sleep 1000)" in outcome.err
    assert "--finished-when" in outcome.err


def test_a_service_in_the_background_is_finished_when_the_user_says_so(project):
    project.write("agent.py", DAEMON + TICKET + "import time\npost()\nopen('done', 'w')\ntime.sleep(1000)\n")
    outcome = project.run_worker("python agent.py", "--point", "*:applied", "--finished-when", "test -e done")
    assert outcome.verdicts["tickets.POST/tickets#1:applied@default"] == "duplicate"
