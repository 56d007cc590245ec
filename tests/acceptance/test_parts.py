"""A run that was killed goes on where it was; a run in parts on several machines is one run when they are merged."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from itertools import count

import pytest

AGENT = """
import json, os, urllib.request
from pathlib import Path

def post(path, body):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["TICKETS_URL"] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

done = Path("done")
if not done.exists():
    post("/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
    if os.environ.get("NOTES"):
        Path("notes").write_text("filed")
    done.write_text("yes")
"""
SCENARIO = """
name = "parts"
[worker]
command = "{python} agent.py"
env = { TICKETS_URL = "{tickets.url}" }
[targets.tickets]
profile = "case-management"
[axes.notes.values.no]
[axes.notes.values.yes]
env = { NOTES = "1" }
"""


@pytest.fixture
def written(project):
    project.write("agent.py", AGENT)
    project.write("scenario.toml", SCENARIO)
    return project


def run(project, *more: str, out: str):
    outcome = project.ackgap("run", "--quiet", "scenario.toml", "--fail-on", "never", *more, out=out)
    assert outcome.status == 0, outcome.err
    return outcome


def info(outcome) -> dict:
    return json.loads((outcome.directory / "run.json").read_text())


# ------------------------------------------------------------------- parts


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--depth", "2"), ("--prune",)])
def test_the_parts_of_a_run_are_together_what_the_whole_is(written, more):
    more += ("--warm",)  # how a life begins is not what is tested
    whole = run(written, *more, out="whole")
    parts = [run(written, *more, "--shard", f"{number}/3", out=f"part{number}") for number in (1, 2, 3)]
    struck = [{cell for cell in part.cells if not cell.startswith("undisturbed")} for part in parts]
    assert all(struck)
    assert sum(map(len, struck)) == len(set().union(*struck)), "a cell is in two parts"
    merged = written.ackgap("merge", "part2", "part3", "part1", "--out", "merged", "--fail-on", "never", out="merged")
    assert merged.status == 0, merged.err
    assert merged.verdicts == whole.verdicts
    assert info(merged)["row_order"] == info(whole)["row_order"]
    for name in ("planned_cells", "not_applicable", "variants", "expectations", "interrupted", "shard"):
        assert info(merged)[name] == info(whole)[name], name
    held = [info(one)["bounds"] for one in (merged, whole)]
    if "--prune" in more:  # states are compared within a part only, so fewer are known to be equal
        assert sum(held[0][name] for name in ("ran", "equal")) == sum(held[1][name] for name in ("ran", "equal"))
    else:
        assert held[0] == held[1]
    assert (merged.directory / "report.html").exists()
    red = next(cell for cell, verdict in merged.verdicts.items() if verdict == "duplicate")
    again = written.ackgap("replay", "merged", red)
    assert again.status == 1, again.err
    assert "duplicate" in again.out


@pytest.mark.parametrize("few", [("--point", "tickets.*:applied"), ("--schedule", "pause@tickets.create#1:applied")])
def test_a_part_that_gets_no_row_is_a_part_all_the_same(written, few):
    whole = run(written, *few, out="whole")
    assert len(whole.verdicts) == 4
    for number in (1, 2):
        run(written, *few, "--shard", f"{number}/2", out=f"part{number}")
    merged = written.ackgap("merge", "part1", "part2", "--out", "merged", "--fail-on", "never", out="merged")
    assert merged.status == 0, merged.err
    assert merged.verdicts == whole.verdicts
    for name in ("planned_cells", "not_applicable", "bounds", "row_order", "interrupted"):
        assert info(merged)[name] == info(whole)[name], name


def test_a_part_that_was_not_carried_through_proves_nothing_of_the_whole(written):
    few = ("--only", "notes=no", "--point", "tickets.*:received")
    for number in (1, 2):
        run(written, *few, "--shard", f"{number}/2", out=f"part{number}")
    merge = ("merge", "part1", "part2", "--fail-on", "duplicate,inconclusive", "--out")
    assert written.ackgap(*merge, "whole").status == 0
    description = written.path / "part1" / "run.json"
    description.write_text(json.dumps(json.loads(description.read_text()) | {"interrupted": True}))
    outcome = written.ackgap(*merge, "incomplete")
    assert outcome.status == 3
    assert "Interrupted" in outcome.out


def test_a_part_of_a_run_without_any_row_is_refused_like_the_whole(written):
    outcome = written.ackgap("run", "--quiet", "scenario.toml", "--point", "nothing.*", "--shard", "2/2")
    assert outcome.status == 2
    assert "no crash point is like the ones that were asked for" in outcome.err


def test_a_part_that_is_missing_or_there_twice_or_of_another_run_is_told(written):
    for number in (1, 2):
        run(written, "--shard", f"{number}/2", "--only", "notes=no", out=f"part{number}")
    run(written, "--shard", "2/2", out="other")
    run(written, "--only", "notes=no", "--point", "*:applied", out="whole")
    for parts, text in (
        (("part1",), "part 2 of 2 missing"),
        (("part1", "part2", "part1"), "part 1/2 is there twice"),
        (("part1", "other"), "no part of the same run"),
        (("part1", "whole"), "it is no part of a run"),
        (("part1", "nowhere"), "No results"),
    ):
        outcome = written.ackgap("merge", *parts, "--out", "merged")
        assert outcome.status == 2, outcome.out
        assert text in outcome.err
        assert not (written.path / "merged" / "cells.jsonl").exists()
    outcome = written.ackgap("merge", "part1", "part2", "--out", "part1")
    assert outcome.status == 2
    assert "cannot go where one of its parts is" in outcome.err


@pytest.mark.parametrize("text", ["3/2", "0/2", "2", "a/b", "1/2/3", "1/9999"])
def test_a_part_that_there_cannot_be_is_refused_before_anything_runs(written, text):
    outcome = written.ackgap("run", "scenario.toml", "--shard", text)
    assert outcome.status == 2
    assert "write PART/PARTS" in outcome.err


# ------------------------------------------------------------------- resume


def start_and_kill(project, *, after_cells: int) -> bytes:
    """Kill a run once so many cells are written, and return the file of cells."""
    command = [sys.executable, "-m", "ackgap", "run", "--quiet", "scenario.toml", "--jobs", "1", "--out", "out"]
    process = subprocess.Popen(command, cwd=project.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    cells = project.path / "out" / "cells.jsonl"
    for _ in count():
        if cells.exists() and cells.read_bytes().count(b"\n") >= after_cells:
            break
        assert process.poll() is None, "it ended by itself"
        time.sleep(0.02)
    process.kill()
    process.wait()
    return cells.read_bytes()


def test_a_run_that_was_killed_goes_on_and_runs_no_cell_again(written):
    before = start_and_kill(written, after_cells=4)
    with (written.path / "out" / "cells.jsonl").open("ab") as torn:
        torn.write(b'{"cell": "half a')
    measured = json.loads((written.path / "out" / "run.json").read_text())["expectations"]
    outcome = run(written, "--resume", out="out")
    after = (outcome.directory / "cells.jsonl").read_bytes()
    assert after.startswith(before[: before.rindex(b"\n") + 1])
    struck = [json.loads(line)["cell"] for line in after.splitlines()]
    struck = [cell for cell in struck if not cell.startswith("undisturbed")]
    again = {cell.rpartition("@")[2] for cell, times in Counter(struck).items() if times > 1}
    assert not again & set(measured), "a cell ran twice although the yardstick of its variant was known"
    whole = run(written, out="whole")
    assert outcome.verdicts == whole.verdicts
    assert {**info(outcome), "started_at": "", "command": "", "replay_prefix": ""} == {
        **info(whole),
        "started_at": "",
        "command": "",
        "replay_prefix": "",
    }
    assert not (written.path / "out.previous").exists()


def test_resuming_what_was_never_begun_or_is_complete_is_no_mistake(written):
    first = run(written, "--resume", "--only", "notes=no", out="out")
    lines = (first.directory / "cells.jsonl").read_text().splitlines()
    again = run(written, "--resume", "--only", "notes=no", out="out")
    assert again.verdicts == first.verdicts
    struck = [json.loads(line)["cell"] for line in (again.directory / "cells.jsonl").read_text().splitlines()]
    assert len(struck) <= len(lines) + 1, "only the undisturbed run may be there once more"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("agent", "what differs: the files"),
        ("selection", "what differs: the selection"),
        ("scenario", "what differs: the scenario, the files"),
        ("part", "what differs: the part (--shard)"),
    ],
)
def test_a_run_of_something_else_is_not_gone_on_with(written, change, named):
    first = run(written, "--only", "notes=no", out="out")
    more = ["--only", "notes=no"]
    if change == "agent":
        written.write("agent.py", AGENT + "\n# another\n")
    elif change == "scenario":
        written.write("scenario.toml", SCENARIO + "\n[expect]\n'tickets.create' = 1\n")
    else:
        more += ["--point", "*:applied"] if change == "selection" else ["--shard", "1/2"]
    outcome = written.ackgap("run", "--quiet", "scenario.toml", "--resume", *more)
    assert outcome.status == 2, outcome.out
    assert "not what was run" in outcome.err
    assert outcome.err.splitlines()[0].endswith(named)
    assert "run without --resume" in outcome.err
    assert outcome.verdicts == first.verdicts, "nothing was touched"


def test_a_worker_that_does_something_else_undisturbed_is_not_gone_on_with(written):
    outside = written.path.parent / "outside"
    written.write("agent.py", AGENT + f"\nif os.path.exists({str(outside)!r}):\n    Path('more').write_text('x')\n")
    first = run(written, "--only", "notes=no", out="out")
    outside.write_text("")
    outcome = written.ackgap("run", "--quiet", "scenario.toml", "--resume", "--only", "notes=no")
    assert outcome.status in (2, 3), outcome.out
    assert "not what it was in the run that was interrupted" in outcome.err
    assert outcome.verdicts == first.verdicts
