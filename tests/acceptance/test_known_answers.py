"""Every shipped known answer comes out as known: a broken and a correct worker for each verdict kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackgap.matrix_run import run_matrix
from ackgap.model.verdict import VerdictKind

KNOWN = Path(__file__).parents[2] / "scenarios" / "known-answers"
FOLDERS = sorted(path.parent for path in KNOWN.glob("*/scenario.toml"))


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_verdicts_of_a_known_answer(folder, tmp_path):
    expected = json.loads((folder / "expected.json").read_text())
    schedules = [cell.rpartition("@")[0] for cell in expected]
    found = run_matrix(folder, root=tmp_path, directory=tmp_path / "out", schedules=schedules).verdicts
    assert {cell: found.get(cell) for cell in expected} == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "schedule", "code"),
    [
        ("stuck-poison-broken", "tickets.create#1:applied", "poison"),
        ("stuck-slow-broken", "tickets.create#2:applied", "slow_recovery"),
        ("stuck-crash-loop-broken", "tickets.create#1:applied", "stuck_crash_loop"),
        ("stuck-waiting-broken", "tickets.create#1:applied", "stuck_waiting"),
    ],
)
def test_work_that_is_stuck_says_which_way(name, schedule, code, tmp_path):
    found = run_matrix(KNOWN / name, root=tmp_path, directory=tmp_path / "out", schedules=[schedule])
    (cell,) = (cell for cell in found.cells if cell.schedule.faults)
    assert [finding.code for finding in cell.findings if finding.kind is VerdictKind.STUCK] == [code]


def test_every_verdict_kind_has_a_broken_and_a_correct_worker():
    broken = {verdict for path in FOLDERS for verdict in json.loads((path / "expected.json").read_text()).values()}
    assert broken == set(VerdictKind)
    names = {path.name.removesuffix("-broken").removesuffix("-correct") for path in FOLDERS}
    for name in names - {"zombie-duplicate"}:
        assert {f"{name}-broken", f"{name}-correct"} <= {path.name for path in FOLDERS}
