"""Schedules beyond one kill, on real workers: depth, pruning, both orders, and races that are reported as rates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackgap.matrix_run import MatrixRun, run_matrix
from ackgap.model.verdict import Colour

KNOWN = Path(__file__).parents[2] / "scenarios" / "known-answers"


def deep(name: str, out: Path, **options) -> MatrixRun:
    return run_matrix(KNOWN / name, root=out, directory=out / name, slice_name="deep", warm=True, **options)


def by_depth(run: MatrixRun, depth: int) -> set[str]:
    return {cell.verdict.kind.value for cell in run.cells if cell.schedule.depth == depth}


@pytest.mark.slow
def test_a_bug_of_the_recovery_shows_at_depth_two_only_and_its_repair_at_no_depth(tmp_path):
    broken = deep("depth-two-broken", tmp_path)
    assert by_depth(broken, 1) == {"ok"}
    assert by_depth(broken, 2) == {"ok", "duplicate"}
    red = [cell for cell in broken.cells if cell.verdict.kind.colour is Colour.RED]
    assert {str(cell.schedule.faults[1].point) for cell in red} == {
        "tickets.create#1:applied",
        "tickets.create#1:returned",
    }
    assert all(cell.incarnations == 3 for cell in red)
    bounds = broken.run.info.bounds
    assert bounds is not None
    assert (bounds.depth, bounds.left, bounds.equal, bounds.impossible) == (2, 0, 0, 0)
    assert bounds.held == bounds.ran == len(broken.cells) - 1
    assert set(deep("depth-two-correct", tmp_path).verdicts.values()) == {"ok"}


@pytest.mark.slow
def test_a_pruned_run_has_the_verdicts_of_the_whole_one_and_says_what_it_saved(tmp_path):
    whole = deep("depth-two-broken", tmp_path)
    pruned = deep("depth-two-broken", tmp_path / "pruned", prune=True)
    assert pruned.verdicts == whole.verdicts
    bounds = pruned.run.info.bounds
    assert bounds is not None
    assert bounds.equal > 0
    assert bounds.audited >= 1
    assert bounds.ran + bounds.equal == bounds.held == len(whole.cells) - 1
    assert any(note.startswith(f"Pruned: {bounds.equal} of {bounds.held} cells") for note in pruned.run.info.notes)
    equal = [cell for cell in pruned.cells if cell.equal_to]
    assert len(equal) == bounds.equal
    assert {cell.equal_to for cell in equal} <= {cell.cell for cell in pruned.cells if not cell.equal_to}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "wasted-broken",
        "lost-broken",
        "diverged-broken",
        "phantom-broken",
        "in_doubt-broken",
        "in_doubt-correct",
        "stuck-crash-loop-broken",
    ],
)
def test_pruning_changes_no_verdict_of_a_known_answer(name, tmp_path):
    whole, pruned = (
        run_matrix(KNOWN / name, root=tmp_path, directory=tmp_path / f"pruned-{prune}", warm=True, prune=prune)
        for prune in (False, True)
    )
    assert pruned.verdicts == whole.verdicts
    assert any(note.startswith(("Pruned: ", "Pruning saved nothing: ")) for note in pruned.run.info.notes)
    assert whole.run.info.bounds is not None
    assert pruned.run.info.bounds is not None
    assert pruned.run.info.bounds.held == whole.run.info.bounds.held


@pytest.mark.slow
def test_pruning_says_also_where_it_saves_nothing(project):
    project.write("agent.sh", 'curl -s -X POST -H "Content-Type: application/json" -d "{}" "$TICKETS_URL/tickets"\n')
    done = project.run_worker("sh agent.sh", "--prune")
    assert "Pruning saved nothing: " in done.out.replace("\n", " ")


REMEMBERS_ELSEWHERE = """
import os, urllib.request

os.makedirs("__pycache__", exist_ok=True)
with open("done.new", "w") as file:
    file.write("1")
if not os.path.exists("SEEN"):
    request = urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", b'{"partner": 1}', method="POST")
    request.add_header("Content-Type", "application/json")
    urllib.request.urlopen(request).read()
    os.close(os.open("SEEN", os.O_CREAT | os.O_WRONLY))
os.replace("done.new", "done")
"""
"""It notes in a file without a hook that the ticket is filed."""


@pytest.mark.slow
def test_states_that_only_look_equal_fail_the_run_and_what_had_finished_is_kept(project):
    # Bytecode is no part of a store, and this worker takes its folder for one.
    project.write("agent.py", REMEMBERS_ELSEWHERE.replace("SEEN", "__pycache__/seen"))
    points = ("--point", "*:applied", "--point", "*.replace#1:committing")
    whole = project.run_worker("python agent.py", *points)
    assert {line.partition("#")[0]: verdict for line, verdict in whole.verdicts.items()} == {
        "undisturbed@default": "ok",
        "tickets.POST/tickets": "duplicate",
        "file.done.replace": "ok",
    }
    pruned = project.run_worker("python agent.py", *points, "--prune", out="pruned")
    assert pruned.status == 3
    assert "look like the same crash state and are not" in pruned.err
    assert "tickets.POST/tickets#1:applied@default is duplicate" in pruned.err
    assert "file.done.replace#1:committing@default is exactly once" in pruned.err
    assert "run without --prune" in pruned.err
    assert pruned.verdicts == whole.verdicts
    bounds = json.loads((pruned.directory / "run.json").read_text())["bounds"]
    assert (bounds["ran"], bounds["audited"], bounds["equal"]) == (2, 1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["agent.log", "/TMP/seen"])
def test_what_a_worker_keeps_in_a_log_or_a_temporary_file_is_part_of_a_state_that_others_are_taken_for(project, place):
    agent = REMEMBERS_ELSEWHERE.replace('"SEEN"', f'"{place}".replace("/TMP", os.environ["TMPDIR"])')
    project.write("agent.py", agent)
    points = ("--point", "*:applied", "--point", "*.replace#1:committing")
    pruned = project.run_worker("python agent.py", *points, "--prune")
    assert pruned.status == 1, pruned.err
    assert sorted(pruned.verdicts.values()) == ["duplicate", "ok", "ok"]
    bounds = json.loads((pruned.directory / "run.json").read_text())["bounds"]
    assert (bounds["ran"], bounds["audited"], bounds["equal"]) == (2, 0, 0)


BOTH_AT_ONCE = """
import json, os, sqlite3, threading, time, urllib.request

outbox = sqlite3.connect("outbox.db", isolation_level=None, check_same_thread=False)
committing = threading.Event()

def slow_disk(statement):
    if statement == "COMMIT":
        committing.set()
        time.sleep(0.3)

def keep():
    outbox.execute("BEGIN")
    outbox.execute("create table messages (text)")
    outbox.execute("insert into messages values ('review')")
    outbox.set_trace_callback(slow_disk)
    outbox.execute("COMMIT")
    outbox.set_trace_callback(None)

def confirm():
    committing.wait(1)  # not for ever: the queue wants to know
    os.replace("taken.new", "taken")

def kept():
    return outbox.execute("select * from sqlite_master").fetchall()

if not os.path.exists("taken"):
    with open("taken.new", "w") as file:
        file.write("1")
    threads = [threading.Thread(target=confirm)]
    threads += [] if kept() else [threading.Thread(target=keep)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
if kept():  # else it was confirmed, so there is nothing to do
    request = urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", b'{"partner": 1}', method="POST")
    request.add_header("Content-Type", "application/json")
    request.add_header("Idempotency-Key", "one")
    urllib.request.urlopen(request).read()
"""
"""Keeps a message in one thread and confirms it in another, which is ready first and is to be last."""


@pytest.mark.slow
def test_where_the_order_of_two_writes_decides_the_cell_says_so(project):
    project.write("agent.py", BOTH_AT_ONCE)
    done = project.run_worker("python agent.py", "--orders", "--point", "*#1:committed", "--jobs", "1")
    lines = [json.loads(line) for line in (done.directory / "cells.jsonl").read_text().splitlines()]
    verdicts = {line["schedule"].removeprefix("1/"): line["verdict"] for line in lines}
    kept, taken = "sqlite.outbox.db.commit#1", "file.taken.replace#1"
    assert verdicts[f"kill@{taken}:committed"] == "ok"
    held = f"hold@{kept}:committing,until={taken}"
    assert verdicts[f"{held};kill@{taken}:committed"] == "lost"
    assert verdicts[f"{held};kill@{kept}:committed"] == "ok"
    remarks = [
        (line["schedule"].removeprefix("1/"), finding["summary"])
        for line in lines
        for finding in line["findings"]
        if finding["code"] == "order_dependent"
    ]
    assert [schedule for schedule, _ in remarks] == [f"{held};kill@{taken}:committed"]
    assert "lost where" in remarks[0][1]
    assert "exactly once in the order" in remarks[0][1]
    assert json.loads((done.directory / "run.json").read_text())["bounds"]["orders"] is True


@pytest.mark.slow
def test_bounds_of_the_command_line_are_checked(project):
    project.write("agent.py", BOTH_AT_ONCE)
    for options, word in (
        (("--depth", "4"), "--depth"),
        (("--unsettled", "0"), "--unsettled"),
        (("--unsettled", "3", "--schedule", "a.b#1:applied"), "--unsettled"),
    ):
        done = project.run_worker("python agent.py", *options)
        assert done.status == 2
        assert word in done.err


@pytest.mark.slow
def test_a_race_is_run_as_often_as_asked_and_its_replay_reports_a_rate_too(project):
    project.write("agent.py", BOTH_AT_ONCE)
    done = project.run_worker("python agent.py", "--point", "*:applied", "--unsettled", "3", "--network", "host")
    lines = [json.loads(line) for line in (done.directory / "cells.jsonl").read_text().splitlines()]
    (race,) = (line for line in lines if "unsettled" in line["schedule"])
    assert sum(race["rate"]["counts"].values()) == 3
    rates = [finding["summary"] for finding in race["findings"] if finding["code"] == "rate"]
    assert len(rates) == len(race["rate"]["counts"])
    assert "of 3 (" in rates[0]
    assert any(line["cell"].startswith("POST/tickets") or "applied@" in line["cell"] for line in lines)
    again = project.ackgap("replay", "out", race["cell"])
    assert "Of the runs of this race: " in again.out


@pytest.mark.slow
def test_two_crashes_of_the_flagship_outlast_a_key_that_one_does_not(tmp_path):
    pytest.importorskip("langgraph", reason="pip install 'ackgap[langgraph]'")
    flagship = KNOWN.parent / "langgraph-ticket"
    found = run_matrix(flagship, root=tmp_path, directory=tmp_path / "deep", slice_name="deep", warm=True)
    assert by_depth(found, 1) == {"ok"}
    twice = [cell for cell in found.cells if cell.verdict.kind.value == "duplicate"]
    assert {cell.verdict.kind.value for cell in found.cells} == {"ok", "duplicate"}
    assert {finding.operation for cell in twice for finding in cell.findings if finding.kind} == {"tickets.create"}
    assert {str(cell.schedule.faults[0].point) for cell in twice} == {"tickets.create#1:applied"}
    # No key, no window: what the ticket is about is never forgotten.
    assert {cell.variant["protection"] for cell in twice} == {"idempotency-key"}
    assert {cell.variant["durability"] for cell in twice} == {"sync", "async", "exit"}
    bounds = found.run.info.bounds
    assert bounds is not None
    assert (bounds.depth, bounds.variants, bounds.left) == (2, 4, 0)
