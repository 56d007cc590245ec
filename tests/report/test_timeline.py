"""The story of one cell in a terminal, where lives overlap."""

from __future__ import annotations

import io
from dataclasses import replace
from types import ModuleType

from ackgap.model.matrix import CellResult
from ackgap.report.terminal import make_console
from ackgap.report.timeline import render_timeline


def told(result: CellResult) -> list[str]:
    stream = io.StringIO()
    make_console(stream).print(render_timeline(result))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_lives_that_overlap_stand_side_by_side_with_their_numbers(builders: ModuleType) -> None:
    script = "1> POST KILL 2> 3> 2> POST 3> POST 2> APPLY ANSWER 3> ANSWER EXIT 2> EXIT"
    lines = told(builders.overlapping("kill@tickets.create#1:received,heirs=2", script))
    requests = [line.split("→")[0].rstrip() for line in lines if "→" in line]
    assert [request.endswith(" s 1") for request in requests] == [True, False, False]
    assert requests[1].endswith(" s 2")
    assert requests[2].endswith(" s   3")
    assert [line.split("←")[0].rstrip()[-1] for line in lines if "←" in line] == ["2", "3"]


def test_lives_that_follow_one_another_have_no_numbers_before_each_line(builders: ModuleType) -> None:
    lines = told(builders.overlapping("kill@tickets.create#1:received", "1> POST KILL 2> POST APPLY ANSWER EXIT"))
    assert all(line.split("→")[0].rstrip().endswith(" s") for line in lines if "→" in line)


def test_a_cell_that_was_not_run_names_the_one_with_its_state(builders: ModuleType) -> None:
    result = builders.overlapping("kill@tickets.create#1:received", "1> POST KILL")
    lines = told(replace(result, history=(), equal_to="tickets.create#1:sending@default"))
    assert any("Not run: the same state as tickets.create#1:sending@default." in line for line in lines)
