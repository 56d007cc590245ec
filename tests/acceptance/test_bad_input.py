"""A user's mistake gets one clear message that names the place and the next step, and loses no finished cell."""

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


def assert_says(outcome, status, *words):
    assert outcome.status == status, outcome.err
    for word in (*words, "next:"):
        assert word in outcome.err


def test_a_worker_that_does_not_exist(project):
    assert_says(project.run_worker("no-such-program --now"), 2, "no-such-program", "--worker")


def test_neither_scenario_nor_worker(project):
    assert_says(project.ackgap("run"), 2, "either a scenario or a worker")


def test_a_scenario_that_does_not_exist(project):
    assert_says(project.ackgap("run", "nowhere"), 2, "nowhere")


def test_an_unknown_key_is_named_with_its_file(project):
    project.write("scenario.toml", 'name = "x"\n[worker]\ncommand = "python a.py"\nretries = 3\n')
    assert_says(project.ackgap("run", "scenario.toml"), 2, "scenario.toml", "retries")


def test_an_axis_that_does_not_exist(project):
    assert_says(project.ackgap("run", "langgraph-ticket", "--only", "colour=blue"), 2, "--only", "durability")


def test_a_verdict_that_does_not_exist(project):
    assert_says(project.run_worker("true", "--fail-on", "purple"), 2, "purple", "duplicate")


def test_a_worker_that_exits_at_once_and_does_nothing(project):
    project.write("agent.py", "")
    assert_says(project.run_worker("python agent.py"), 2, "no request of it reached a target", "--env")


def test_a_worker_that_crashes_by_itself_in_the_probe_run_shows_what_it_printed(project):
    project.write("agent.py", TICKET + "post()\nraise SystemExit('the database is locked')\n")
    assert_says(project.run_worker("python agent.py"), 2, "exit status 1", "the database is locked")


def test_a_worker_that_never_ends(project):
    project.write("agent.py", TICKET + "post()\nimport time\ntime.sleep(1000)\n")
    assert_says(project.run_worker("python agent.py", "--life", "1.5"), 2, "still running", "--finished-when")


def test_a_worker_that_only_reads_has_nothing_to_test(project):
    project.write("agent.py", "import os, urllib.request\nurllib.request.urlopen(os.environ['TICKETS_URL'] + '/x')\n")
    assert_says(project.run_worker("python agent.py"), 2, "only read")


@pytest.mark.slow
def test_a_worker_that_prints_hundreds_of_megabytes_is_read_and_not_kept(project):
    project.write("agent.py", TICKET + "post()\nline = 'x' * 65536\nfor _ in range(4000): print(line)\n")
    outcome = project.run_worker("python agent.py", "--point", "*:applied")
    assert outcome.verdicts["tickets.POST/tickets#1:applied@default"] == "duplicate"
    assert (outcome.directory / "histories.jsonl").stat().st_size < 1_000_000


def test_a_report_directory_that_cannot_be_written_is_refused_before_anything_runs(project):
    project.write("agent.py", TICKET + "open('ran', 'w')\npost()\n")
    project.write("taken", "a file where a directory should be")
    outcome = project.ackgap(
        "run", "--worker", "python agent.py", "--target", "tickets=any", "--env", "TICKETS_URL={tickets.url}",
        out="taken/results",
    )  # fmt: skip
    assert_says(outcome, 2, "taken/results", "--out")


def test_a_worker_that_reaches_for_another_host_is_refused_and_the_host_is_named(project):
    project.write(
        "agent.py", "import urllib.request\nurllib.request.urlopen('https://api.bank.example/charges', b'')\n"
    )
    assert_says(project.run_worker("python agent.py"), 2, "api.bank.example", "--allow-host")


def test_results_of_an_earlier_run_are_set_aside_not_lost(project):
    project.write("agent.py", TICKET + "post()\n")
    first = project.run_worker("python agent.py", "--point", "*:applied")
    before = (first.directory / "cells.jsonl").read_text()
    project.run_worker("python agent.py", "--point", "*:received")
    assert (project.path / "out.previous" / "cells.jsonl").read_text() == before


def test_a_temporary_directory_with_a_long_name_is_no_obstacle(project, monkeypatch):
    """The path of a Unix socket is limited to about 100 bytes."""
    long = project.path / ("long" * 30)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    project.write("agent.py", TICKET + "post()\n")
    outcome = project.run_worker("python agent.py", "--point", "*:applied")
    assert outcome.verdicts["tickets.POST/tickets#1:applied@default"] == "duplicate"


def test_a_mistake_costs_no_earlier_results(project):
    project.write("agent.py", TICKET + "post()\n")
    good = project.run_worker("python agent.py", "--point", "*:applied")
    before = (good.directory / "cells.jsonl").read_text()
    for _ in range(2):
        assert_says(project.run_worker("python agent.py", "--point", "nothing-like-this*"), 2, "tickets.POST/tickets#1")
    assert (good.directory / "cells.jsonl").read_text() == before


def test_a_cell_that_does_not_exist_cannot_be_replayed(project):
    project.write("agent.py", TICKET + "post()\n")
    project.run_worker("python agent.py", "--point", "*:applied")
    assert_says(project.ackgap("replay", "out", "nonsense"), 2, "nonsense", "tickets.POST/tickets#1")
    assert_says(project.ackgap("replay", "nowhere", "x@default"), 2, "nowhere")


def test_a_point_that_the_worker_never_comes_to_is_not_replayed(project):
    project.write("agent.py", TICKET + "post()\n")
    project.run_worker("python agent.py", "--point", "*:applied")
    for cell in ("tickets.POST/tickets#2:applied@default", "kill@tickets.POST/ticket#1:applied,down=72h@default"):
        outcome = project.ackgap("replay", "out", cell)
        assert_says(outcome, 2, "never came to", "tickets.POST/tickets#1:applied")
        assert outcome.out == ""


@pytest.mark.slow
def test_a_cell_that_was_not_run_is_replayed_at_a_point_that_is_known(project):
    project.write("agent.py", TICKET + "post()\n")
    project.run_worker("python agent.py", "--point", "*:applied")
    point = "tickets.POST/tickets#1:applied"
    outcome = project.ackgap("replay", "out", f"kill@{point},down=72h;2.kill@{point}@default")
    assert "duplicate" in outcome.out
    assert outcome.err == ""


@pytest.mark.slow
def test_an_interrupted_run_reports_what_it_has_and_leaves_nothing(project):
    project.write("agent.py", TICKET + "for n in range(60): post(f'/t{n}')\n")
    command = [
        sys.executable, "-m", "ackgap", "run", "--worker", "python agent.py", "--target", "tickets=any",
        "--env", "TICKETS_URL={tickets.url}", "--out", "out", "--jobs", "1",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=project.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for_cells(project.path / "out", 3)
        process.send_signal(signal.SIGINT)  # without effect where the tests were started in the background of a script
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Not complete" in out
    assert (project.path / "out" / "report.html").exists()
    assert_nothing_left(project.path)


@pytest.mark.slow
def test_a_harness_that_is_killed_leaves_nothing_behind(project):
    project.write("agent.py", TICKET + "import subprocess\nfor n in range(60):\n    post(f'/t{n}')\n")
    command = [
        sys.executable, "-m", "ackgap", "run", "--worker", "python agent.py", "--target", "tickets=any",
        "--env", "TICKETS_URL={tickets.url}", "--out", "out",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=project.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_cells(project.path / "out", 3)
    process.kill()
    process.wait()
    assert_nothing_left(project.path)
    kept = (project.path / "out" / "cells.jsonl").read_text().splitlines()
    assert all(json.loads(line)["verdict"] for line in kept)


def wait_for_cells(directory: Path, count: int, limit_s: float = 60) -> None:
    ends_s = time.monotonic() + limit_s
    while time.monotonic() < ends_s:
        cells = directory / "cells.jsonl"
        if cells.exists() and len(cells.read_text().splitlines()) >= count:
            return
        time.sleep(0.05)
    raise AssertionError("no cells")


def assert_nothing_left(path: Path, limit_s: float = 15) -> None:
    """No process works in the project's cells any more: none whose environment names a run and whose worker is ours."""
    ends_s = time.monotonic() + limit_s
    while time.monotonic() < ends_s:
        left = [pid for pid in map(str, psutil.pids()) if _is_ours(pid, path)]
        if not left:
            return
        time.sleep(0.05)
    raise AssertionError(f"left behind: {left}")


def _is_ours(pid: str, path: Path) -> bool:
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
        return b"ACKGAP_RUN=" in environ and f"PWD={path}".encode() in environ and int(pid) != os.getpid()
    except OSError:
        return False


def test_more_variants_than_anyone_can_run_are_refused_at_once(project):
    axes = "".join(f"[axes.a{n}.values.x]\n[axes.a{n}.values.y]\n" for n in range(40))
    worker = '[worker]\ncommand = "true"\n[targets.tickets]\nprofile = "any"\n'
    project.write("scenario.toml", f'name = "wide"\n{worker}{axes}')
    assert_says(project.ackgap("run", "scenario.toml", limit_s=20), 2, "1,099,511,627,776 variants", "--only")


def test_the_root_of_the_file_system_is_no_place_for_results(project):
    project.write("agent.py", TICKET + "post()\n")
    assert_says(project.run_worker("python agent.py", out="/"), 2, "root of the file system", "--out")


def test_results_in_the_current_directory_are_set_aside_too(project):
    project.write("agent.py", TICKET + "post()\n")
    for _ in range(2):
        assert project.run_worker("python agent.py", "--point", "*:applied", out=".").status == 1
    assert (project.path.parent / "project.previous" / "cells.jsonl").exists()


def test_two_runs_do_not_write_into_one_directory(project):
    project.write("agent.py", TICKET + "post()\nimport time\ntime.sleep(30)\n")
    command = [
        sys.executable, "-m", "ackgap", "run", "--worker", "python agent.py", "--target", "tickets=any",
        "--env", "TICKETS_URL={tickets.url}", "--out", "out",
    ]  # fmt: skip
    with subprocess.Popen(command, cwd=project.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        try:
            lock = project.path / "out" / ".ackgap.lock"
            ends_s = time.monotonic() + 30
            while not (lock.exists() and lock.read_text()) and time.monotonic() < ends_s:
                time.sleep(0.02)
            assert_says(project.run_worker("python agent.py"), 2, f"process {first.pid}", "--out")
        finally:
            first.kill()
    project.write("agent.py", TICKET + "post()\n")
    assert project.run_worker("python agent.py", "--point", "*:applied").status == 1  # the lock died with its holder
    assert not lock.exists()
