"""Rows that hang below a point: a second crash, a race, another order of writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Verdict
from ackgap.report.info import RowInfo, RunInfo
from ackgap.report.lines import lines_of
from ackgap.report.overview import Overview
from ackgap.report.store import Run, read_run
from ackgap.report.view import branch_of

A, B, C = "tickets.create#1:applied", "notify.send#1:received", "notify.send#1:applied"
HOLD = "hold@a#1:committing,until=b#1"


def run(*schedules: str) -> Run:
    cells = [
        CellResult(
            scenario="s",
            variant=Variant(),
            schedule=Schedule.parse(schedule),
            verdict=Verdict.of([]),
            incarnations=2,
        )
        for schedule in schedules
    ]
    order = tuple(RowInfo.of(Schedule.parse(point)) for point in (A, B, C))
    return Run.of(Path("nowhere"), RunInfo(scenario="s", row_order=order), cells)


def lines(*schedules: str, most: int = 10) -> list[tuple[int, str]]:
    return [(line.depth, line.words or line.row.label) for line in lines_of(Overview(run(*schedules)), most=most)]


@pytest.mark.parametrize(
    ("schedule", "words", "parent"),
    [
        (f"kill@{A};2.kill@{B}", f"then killed again at {B}", A),
        (f"kill@{A};3.kill@{B}", f"then killed again in life 3 at {B}", A),
        (f"kill@{A};2.kill@{B};3.kill@{C}", f"then killed again at {C}", f"kill@{A};2.kill@{B}"),
        (f"kill@{A};2.pause@{B}", f"then paused while another takes over at {B}", A),
        (f"kill@{A};2.kill@{B},down=72h", f"then killed, 3d down at {B}", A),
        (f"lose@{A};kill@{C}", f"then killed in the same life at {C}", A),
        (f"kill@{A},unsettled=20", "unsettled, 20 runs", A),
        (f"{HOLD};kill@b#1:committed", "in another order: a#1 after b#1", "b#1:committed"),
    ],
)
def test_a_row_says_how_it_differs_from_the_one_above(schedule: str, words: str, parent: str) -> None:
    branch = branch_of(Schedule.parse(schedule))
    assert branch is not None
    assert (branch.words, branch.parent) == (words, parent)


@pytest.mark.parametrize("schedule", [A, "undisturbed", HOLD])
def test_what_is_done_once_in_the_first_life_hangs_below_nothing(schedule: str) -> None:
    assert branch_of(Schedule.parse(schedule)) is None


def test_second_crashes_stand_below_their_first_point_with_one_line_for_all() -> None:
    assert lines(C, f"kill@{A};2.kill@{C}", A, f"kill@{A};2.kill@{B}", f"kill@{A},unsettled=5") == [
        (0, A),
        (1, "unsettled, 5 runs"),
        (1, "then killed again at any of 2 points"),
        (2, B),
        (2, C),
        (0, C),
    ]


def test_third_crashes_stand_below_the_second() -> None:
    assert lines(f"kill@{A};2.kill@{B};3.kill@{C}", f"kill@{A};2.kill@{B}", f"kill@{A};2.kill@{C}") == [
        (0, A),
        (1, "then killed again at any of 2 points"),
        (2, B),
        (3, f"then killed again at {C}"),
        (2, C),
    ]


def test_orders_of_writes_at_one_point_have_one_line_for_all() -> None:
    other = HOLD.replace("a#1", "c#1")
    assert lines(*(f"{hold};kill@b#1:committed" for hold in (HOLD, other))) == [
        (0, "b#1:committed"),
        (1, "in another order, any of 2"),
        (2, "a#1 after b#1"),
        (2, "c#1 after b#1"),
    ]


def test_a_first_point_at_which_nothing_was_run_is_there_without_cells() -> None:
    overview = Overview(run(f"kill@{A};2.kill@{B}"))
    (column,) = overview.columns(())
    assert [overview.at(row, column) is None for row in overview.rows] == [True, False]


def test_many_second_crashes_are_one_line_for_each_first_point() -> None:
    schedules = [f"kill@{first};2.kill@{second}" for first in (A, B) for second in (A, B, C)]
    assert lines(*schedules, f"kill@{A};2.kill@{A};3.kill@{B}", most=5) == [
        (0, A),
        (1, "then killed again at any of 3 points"),
        (2, f"then killed again at {B}"),
        (0, B),
        (1, "then killed again at any of 3 points"),
    ]


def test_signs_behind_verdicts_say_what_kind_of_cell_it_is(deeper: Path) -> None:
    overview = Overview(read_run(deeper))
    columns = overview.columns(overview.shown_axes(10))
    marks = {
        (row.label, number): merged.mark
        for row in overview.rows
        for number, column in enumerate(columns)
        if (merged := overview.at(row, column)) is not None and merged.mark
    }
    file_ticket = "langgraph.put_writes.file_ticket"
    assert marks == {
        ("kill@tickets.create#1:returned,unsettled=20", 0): "~",
        ("kill@tickets.create#1:returned,unsettled=20", 1): "~",
        (f"{file_ticket}#1:committing", 0): "=",
        (f"{file_ticket}#1:committing", 1): "=",
        (f"hold@langgraph.put.step3#1:committing,until={file_ticket}#1;kill@{file_ticket}#1:committed", 1): "<",
    }
