"""Plain, warm and copied runs have the same verdicts: what differs is how a life begins, and nothing else may."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from needs import need

from ackgap.errors import HarnessFailed
from ackgap.matrix_run import MatrixRun, run_matrix
from ackgap.report.store import read_run

SCENARIOS = Path(__file__).parents[2] / "scenarios"
KNOWN = sorted(path.parent for path in SCENARIOS.glob("known-answers/*/scenario.toml"))
PLAIN = {
    "dbos": ("dbos",),
    "langgraph": ("langgraph.checkpoint.sqlite",),
    "plain-journal": ("httpx",),
}
"""Engines that are also run plainly, with what they need: a start of their interpreters takes seconds."""


def killed(found: MatrixRun) -> list:
    return [cell for cell in found.cells if cell.schedule.faults]


@pytest.mark.slow
@pytest.mark.parametrize("folder", KNOWN, ids=lambda path: path.name)
def test_a_known_answer_is_the_same_where_recoveries_begin_with_copies(folder, tmp_path):
    expected = json.loads((folder / "expected.json").read_text())
    schedules = [cell.rpartition("@")[0] for cell in expected]

    found = run_matrix(
        folder, root=tmp_path, directory=tmp_path / "out", schedules=schedules, warm=True, copies=True
    ).verdicts

    assert {cell: found.get(cell) for cell in expected} == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
def test_an_engine_is_the_same_where_every_life_is_a_fresh_interpreter(name, tmp_path):
    need(*PLAIN[name], hint=f"pip install 'ackgap[{name}]'")
    expected = json.loads((SCENARIOS / "engines" / name / "expected.json").read_text())

    found = run_matrix(
        SCENARIOS / "engines" / name,
        root=tmp_path,
        directory=tmp_path / "out",
        points=["tickets.create#1:applied"],
        only=["key=none"],
    ).verdicts

    assert found
    assert {cell: expected[cell] for cell in found} == found


JOURNAL = """
import json, os, pathlib, time, urllib.request

def post(path, body):
    request = urllib.request.Request(
        os.environ["TICKETS_URL"] + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

journal = pathlib.Path("journal.txt")
"""


def run(path: Path, text: str, **more) -> MatrixRun:
    project = path / "project"
    project.mkdir()
    (project / "agent.py").write_text(JOURNAL + text)
    return run_matrix(
        None,
        root=project,
        directory=path / "out",
        worker="python agent.py",
        targets=["tickets=any"],
        env=["TICKETS_URL={tickets.url}"],
        copies=True,
        **more,
    )


def test_a_copied_cell_says_that_nothing_was_killed(tmp_path):
    found = run(tmp_path, "post('/t', {'of': 1})\njournal.write_text('done')\n")

    assert {cell.copied for cell in killed(found)} == {True}
    history = found.run.history("tickets.POST/t#1:applied@default")
    first = history.ends[1]
    assert (first.copied, first.signal, first.exit_code) == (True, None, None)
    assert first.store_digest == history.faults[0].store_digest
    assert found.verdicts["tickets.POST/t#1:applied@default"] == "duplicate"
    assert any("were run again with a real kill" in note for note in found.run.info.notes)


def test_what_a_target_was_at_is_the_same_for_a_recovery_that_begins_with_a_copy(tmp_path):
    # The key is being worked on when the copy is made: whoever comes with it next finds the work done.
    text = """
request = urllib.request.Request(
    os.environ["TICKETS_URL"] + "/tickets", b'{"partner_id": "1", "kind": "review", "title": "t"}',
    {"Content-Type": "application/json", "Idempotency-Key": "review-1"},
)
made = json.load(urllib.request.urlopen(request))
journal.write_text(json.dumps(made))
"""
    project = tmp_path / "project"
    project.mkdir()
    (project / "agent.py").write_text(JOURNAL + text)
    results = [
        run_matrix(
            None,
            root=project,
            directory=tmp_path / f"out-{copies}",
            worker="python agent.py",
            targets=["tickets=case-management"],
            protections=["tickets=idempotency-key"],
            env=["TICKETS_URL={tickets.url}"],
            copies=copies,
        )
        for copies in (False, True)
    ]

    assert results[0].verdicts == results[1].verdicts
    for cell in killed(results[0]):
        decisions = [
            [(event.status, event.decision) for event in result.run.history(cell.cell) if event.kind == "answered"]
            for result in results
        ]
        assert decisions[0] == decisions[1]


def test_a_copy_that_is_not_what_a_kill_leaves_ends_the_run(tmp_path):
    # A copy of a file is another file, and this worker minds.
    text = """
if not journal.exists():
    journal.touch()
    journal.write_text(str(journal.stat().st_ino))
    post("/t", {"of": 1})
elif journal.read_text() != str(journal.stat().st_ino):
    post("/t", {"of": 1})
"""
    with pytest.raises(HarnessFailed, match=r"a copy is not what a kill leaves: .*@default is "):
        run(tmp_path, text, points=["tickets.*:applied"])
    kept = read_run(tmp_path / "out")
    (cell,) = [cell for cell in kept.cells if cell.schedule.faults]
    assert not cell.copied
    assert kept.history(cell.cell)


def test_what_cannot_be_copied_is_killed_and_says_why(tmp_path):
    text = "os.link(__file__, 'again.py') if not os.path.exists('again.py') else None\npost('/t', {'of': 1})\n"

    found = run(tmp_path, text, points=["tickets.*:applied"])

    (cell,) = killed(found)
    assert not cell.copied
    notes = [
        event.text for event in found.run.history(cell.cell) if event.kind == "note" and event.code == "not_copied"
    ]
    assert len(notes) == 1
    assert "is no plain file, or has several names" in notes[0]
    assert any(note.startswith("No cell began with a copy") for note in found.run.info.notes)


def test_a_file_that_only_changed_its_mode_is_copied_as_it_is(tmp_path):
    text = """
mark = pathlib.Path("mark")
if os.access("mark", os.F_OK) and mark.stat().st_mode & 0o777 == 0o400:
    raise SystemExit(0)
post("/t", {"of": 1})
mark.chmod(0o400)
post("/u", {"of": 2}) if os.environ.get("NEVER") else None
journal.write_text("done")
"""
    project = tmp_path / "project"
    project.mkdir()
    mark = project / "mark"
    mark.write_text("old")
    os.utime(mark, (1_000_000_000, 1_000_000_000))
    (project / "agent.py").write_text(JOURNAL + text)
    found = run_matrix(
        None,
        root=project,
        directory=tmp_path / "out",
        worker="python agent.py",
        targets=["tickets=any"],
        env=["TICKETS_URL={tickets.url}"],
        copies=True,
    )
    assert found.verdicts["file.journal.txt.write#1:committing@default"] == "ok"
    assert found.run.history("file.journal.txt.write#1:committing@default").ends[1].copied
