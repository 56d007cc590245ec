"""A search of a real worker finds what needs two faults; a replay shows it again, or says that it did not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

TWO = "lose@tickets.create#1:applied;2.kill@file.state.json.replace#1:committed"
FLIPS = """
import json, os, urllib.request
from pathlib import Path

def post(body):
    headers = {"Content-Type": "application/json"}
    if Path(os.environ["MENDED"]).exists():
        headers["Idempotency-Key"] = "review-4471"
    request = urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

if not Path("done").exists():
    post({"partner_id": "4471", "kind": "review", "title": "t"})
    Path("new").write_text("yes")
    os.replace("new", "done")
"""


def search(project, *arguments):
    return project.ackgap("search", *arguments, "--out", "out", limit_s=600)


@pytest.mark.slow
def test_a_bug_that_needs_two_faults_is_found_shrunk_and_shown_again(project):
    found = search(project, "known-answers/two-faults-broken", "--kinds", "kill,lose", "--seed", "2", "--quiet")
    assert found.status == 1, found.err
    assert "Two tickets for kind review" in found.out
    assert f"replay out '{TWO}@default'" in found.out
    assert found.out.count("needed           without it: exactly once") == 2
    assert found.verdicts[f"{TWO}@default"] == "duplicate"
    assert (project.path / "out" / "report.html").exists()
    assert not (project.path / ".hypothesis").exists()

    again = project.ackgap("replay", "out", f"{TWO}@default")
    assert again.status == 1
    assert "Reproduced: duplicate" in again.out

    report = project.ackgap("report", "out")
    assert report.status == 0
    assert "Search of default with seed 2: duplicate" in report.out


@pytest.mark.slow
def test_the_same_seed_runs_the_same_schedules(project):
    def ran():
        outcome = search(project, "known-answers/duplicate-correct", "--examples", "8", "--seed", "7", "--quiet")
        assert outcome.status == 0, outcome.out + outcome.err
        assert "nothing red in 8 different schedules" in outcome.out
        lines = (project.path / "out" / "cells.jsonl").read_text().splitlines()
        return [json.loads(line)["cell"] for line in lines]

    assert ran() == ran()


def test_each_variant_is_searched_and_what_is_red_in_one_is_not_in_the_other(project):
    project.write("worker.py", FLIPS)
    project.write("mended", "")
    project.write(
        "scenario.toml",
        f"""
name = "flips"
[worker]
command = "{{python}} worker.py"
[targets.tickets]
profile = "case-management"
protection = "idempotency-key"
[axes.key.values.none]
env = {{ TICKETS_URL = "{{tickets.url}}", MENDED = "nowhere" }}
[axes.key.values.stable]
env = {{ TICKETS_URL = "{{tickets.url}}", MENDED = "{project.path}/mended" }}
""",
    )
    found = search(project, ".", "--kinds", "kill", "--max-faults", "1", "--examples", "20", "--quiet")
    assert found.status == 1, found.err
    assert "×2 duplicate  key=none" in found.out
    assert "· nothing red  key=stable" in found.out
    assert "Further draws brought nothing new" in found.out
    assert "It came out in each of 5 runs." in found.out
    lines = (project.path / "out" / "cells.jsonl").read_text().splitlines()
    assert len(lines) == len(found.cells), "what is run again is not written down a second time"
    red = {cell for cell, verdict in found.verdicts.items() if verdict == "duplicate"}
    assert red
    assert all(cell.endswith("@key=none") for cell in red)
    only = search(project, ".", "--kinds", "kill", "--max-faults", "1", "--only", "key=stable", "--quiet")
    assert only.status == 0, only.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--kinds", "explode"), "'explode' is not a kind of fault"),
        (("--kinds", ""), "'' is not a kind of fault"),
        (("--fault", "kill,soon=1s"), "'soon' is not an option"),
        (("--fault", "kill,without=db"), "no service 'db'"),
        (("--only", "nonsense=1"), "names no axis"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(project, arguments, said):
    refused = search(project, "known-answers/duplicate-correct", *arguments)
    assert refused.status == 2
    assert said in refused.err
    assert not (project.path / "out" / "cells.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--seed", "x"), "'x' is not a whole number; write one, at least 0"),
        (("--examples", "1.5"), "'1.5' is not a whole number; write one, at least 1"),
        (("--shrinks", "0"), "at least 1"),
    ],
)
def test_what_is_no_number_is_told_in_a_users_words(project, arguments, said):
    refused = search(project, "known-answers/duplicate-correct", *arguments)
    assert refused.status == 2
    assert said in refused.err
    assert "invalid _" not in refused.err


def begun(project, **environment):
    """Start a search that finds nothing for a long time, and return it once it has run some schedules."""
    command = [sys.executable, "-m", "ackgap", "search", "known-answers/duplicate-correct", "--quiet", "--out", "out"]
    process = subprocess.Popen(
        command,
        cwd=project.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    cells = project.path / "out" / "cells.jsonl"
    ends_s = time.monotonic() + 100
    while not cells.exists() or cells.read_bytes().count(b"\n") < 3:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < ends_s
        time.sleep(0.05)
    return process


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_search_that_is_interrupted_shows_what_had_finished(project, number, status):
    process = begun(project)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == status, err
    assert "undisturbed" in out
    cells = len((project.path / "out" / "cells.jsonl").read_text().splitlines())
    assert f"Not complete: {cells} cells had finished. out/report.html" in out
    assert (project.path / "out" / "report.html").exists()


def test_a_search_that_is_killed_leaves_no_directory(project, tmp_path):
    temporary = tmp_path / "t"
    temporary.mkdir()
    process = begun(project, TMPDIR=str(temporary))
    process.kill()
    process.communicate()
    ends_s = time.monotonic() + 30
    while left := [path.name for path in temporary.iterdir()]:
        assert time.monotonic() < ends_s, left
        time.sleep(0.1)


def test_a_replay_that_does_not_reproduce_has_an_answer_and_a_status_of_its_own(project):
    project.write("worker.py", FLIPS)
    more = ("--env", f"MENDED={project.path}/../mended", "--protection", "tickets=idempotency-key")
    cell = "tickets.create#1:applied"
    run = project.run_worker("python worker.py", *more, "--point", cell, target="tickets=case-management")
    assert run.verdicts[f"{cell}@default"] == "duplicate"
    assert project.ackgap("replay", "out", f"{cell}@default").status == 1
    (project.path.parent / "mended").write_text("")
    again = project.ackgap("replay", "out", "applied")  # a part of its name that no other has
    assert again.status == 4
    assert "Did not reproduce: it was duplicate" in again.out
    assert "and is now exactly once" in " ".join(again.out.split())
    unclear = project.ackgap("replay", "out", "default")
    assert unclear.status == 2
    assert "2 cells are like 'default'" in unclear.err


def pytest_of(project, text):
    project.write("test_agent.py", text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_agent.py"]
    return subprocess.run(command, cwd=project.path, capture_output=True, text=True, timeout=300, check=False)


STATEFUL = """
from hypothesis import settings
from ackgap.strategies import crash_machine

class TestMyAgent(crash_machine("known-answers/{name}", max_faults=2)):
    settings = settings(max_examples={examples}, stateful_step_count=3, derandomize=True)
"""


def test_a_stateful_test_fails_at_the_smallest_schedule_that_makes_a_ticket_too_many(project):
    done = pytest_of(project, STATEFUL.format(name="duplicate-broken", examples=15))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Two tickets" in done.stdout
    assert "ackgap replay reports/TestMyAgent" in done.stdout
    assert re.search(r"state\.[a-z_]+\(point='tickets\.create#1:", done.stdout), done.stdout
    assert "1 failed" in done.stdout
    assert (project.path / "reports" / "TestMyAgent" / "report.html").exists()


def test_a_stateful_test_of_a_correct_worker_passes(project):
    done = pytest_of(project, STATEFUL.format(name="duplicate-correct", examples=5))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_a_stateful_test_of_several_variants_is_refused_in_plain_words(project):
    text = 'from ackgap.strategies import crash_machine\nclass TestIt(crash_machine("langgraph-ticket")): pass\n'
    done = pytest_of(project, text)
    assert done.returncode == 1
    assert "one machine drives one" in done.stdout
    assert "choose one value of each axis" in done.stdout
