"""What follows from all results of a run: certainty, equal states, rates, bounds."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ackgap.model.bounds import Bounds
from ackgap.model.verdict import Colour
from ackgap.report.derived import Certainties, bounds_facts, bounds_sentence, certain_words, facts_of
from ackgap.report.rates import rate_lines
from ackgap.report.store import Run, read_run
from ackgap.report.summary import summary_markdown
from ackgap.report.terminal import make_console, print_run
from ackgap.report.write import JUNIT_FILE, SUMMARY_FILE, write_reports

VARIANT = "durability=sync,key=payload,protection=key"
RACE = "kill@tickets.create#1:returned,unsettled=20"
EQUAL = "langgraph.put_writes.file_ticket#1:committing"
SECOND = "kill@tickets.create#1:applied;2.kill@tickets.create#1:"


def words(run: Run, schedule: str) -> str:
    result = next(cell for cell in run.cells if cell.cell == f"{schedule}@{VARIANT}")
    certainty = Certainties(run).of(result)
    assert certainty is not None
    return certain_words(certainty, result)


def test_a_late_point_of_the_gap_is_traced_back_to_the_effect(deeper: Path) -> None:
    assert words(read_run(deeper), "tickets.create#1:returned") == (
        "Certain since tickets.create#1:applied: 3 cells end in the same way from there on. One point earlier, at "
        "tickets.create#1:received, it ends otherwise."
    )


def test_a_second_crash_is_traced_into_the_first_life_by_the_points_of_the_recovery(deeper: Path) -> None:
    said = words(read_run(deeper), f"{SECOND}applied")
    assert said.startswith("Certain since tickets.create#1:applied of life 1: 3 cells end in the same way")
    assert "Not run in between: tickets.create#1:sending, model.chat#1:returned, model.chat#1:applied" in said


def test_a_second_crash_alone_is_to_blame_where_the_first_ends_well(deeper: Path) -> None:
    first = "kill@langgraph.put.step3#1:committed;2.kill@tickets.create#1:"
    said = words(read_run(deeper), f"{first}returned")
    assert said.startswith("Certain since tickets.create#1:applied of life 2: 2 cells end in the same way")
    assert "at tickets.create#1:received, it ends otherwise" in said


def test_without_the_histories_of_earlier_cells_the_cells_own_says_what_its_life_passed(
    deeper: Path, tmp_path: Path
) -> None:
    run = read_run(deeper)
    kept = tuple(cell for cell in run.cells if cell.cell != f"tickets.create#1:applied@{VARIANT}")
    said = words(replace(run, cells=kept), f"{SECOND}applied")
    assert said.startswith("Certain since tickets.create#1:received of life 2")


def test_reports_from_the_files_alone_say_the_same(deeper: Path, tmp_path: Path) -> None:
    for name in ("run.json", "cells.jsonl", "histories.jsonl"):
        shutil.copy(deeper / name, tmp_path / name)
    write_reports(tmp_path)
    for name in (SUMMARY_FILE, JUNIT_FILE):
        assert (tmp_path / name).read_bytes() == (deeper / name).read_bytes()
    assert "Certain since tickets.create" in (tmp_path / SUMMARY_FILE).read_text(encoding="utf-8")
    assert "Certain since tickets.create#1:applied of life 1" in (tmp_path / JUNIT_FILE).read_text(encoding="utf-8")


def test_what_decided_at_its_own_point_needs_no_line(deeper: Path) -> None:
    run = read_run(deeper)
    result = next(cell for cell in run.cells if cell.cell == f"tickets.create#1:applied@{VARIANT}")
    assert list(facts_of(result, Certainties(run))) == []


def test_a_rate_and_an_equal_state_are_told_in_junit_also_where_the_cell_passes(deeper: Path) -> None:
    root = ET.fromstring((deeper / JUNIT_FILE).read_text(encoding="utf-8"))
    told = {
        (case.get("classname"), case.get("name")): "".join(case.itertext())
        for case in root.iter("testcase")
        if case.get("name")
        in ("kill@tickets.create#1:returned,unsettled=20", "langgraph.put_writes.file_ticket#1:committing")
    }
    fixed = "partner-review.durability=sync,key=fixed,protection=key"
    assert "exactly once 20 of 20 (100 %, 95 % interval 84 % to 100 %)" in told[fixed, RACE]
    assert "the same state as tickets.create#1:returned" in told[fixed, EQUAL]
    payload = f"partner-review.{VARIANT}"
    assert "duplicate 3 of 20 (15 %" in told[payload, RACE]


def test_a_terminal_shows_branches_signs_bounds_and_certainty(deeper: Path) -> None:
    stream = io.StringIO()
    print_run(make_console(stream), read_run(deeper), width=80)
    lines = stream.getvalue().splitlines()
    text = " ".join(" ".join(lines).split())
    assert "16 followed by another during the recovery" in text
    assert "71 ran, 2 equal one that ran, 4 cannot happen, 1 was not reached" in text
    assert "Certain since tickets.create#1:applied: 3 cells end in the same way from there on." in text
    (race,) = (line for line in lines if "unsettled, 20 runs" in line)
    assert race.split()[-2:] == ["×2~", "✓~"]
    assert [line for line in lines if line.startswith("~ raced and repeated")]
    assert "Raced, not settled ~ kill@tickets.create#1:returned,unsettled=20@" in text
    assert "duplicate in 3 of 20 (15 %, 95 % interval 5 % to 36 %)" in text
    assert "exactly once in 20 of 20 (100 %, 95 % interval 84 % to 100 %)" in text
    start = next(place for place, line in enumerate(lines) if line.startswith("killed at"))
    end = next(place for place, line in enumerate(lines) if line.startswith("×2 duplicate"))
    assert all(len(line.rstrip()) <= 80 for line in lines[start:end])


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        (
            Bounds(depth=2, faults=("killed", "answer lost"), variants=4, ran=30, equal=5, impossible=2, audited=1),
            (
                "Bounds: up to 2 crashes in a row, killed, answer lost at every point, 4 variants; 37 schedules: 30 "
                "ran, 5 equal one that ran, 2 cannot happen. 1 ran only to see whether equal states are equal."
            ),
        ),
        (
            Bounds(faults=("killed",), points=("tickets.*",), named=2, ran=9, left=1),
            "Bounds: killed at tickets.* and 2 by name, 1 variant; 10 schedules: 9 ran, 1 was not reached.",
        ),
        (Bounds(faults=(), named=1, ran=1), "Asked for by name, 1 variant: 1 schedule, all ran."),
    ],
)
def test_bounds_are_told_with_what_became_of_every_schedule(bounds: Bounds, said: str) -> None:
    assert bounds_sentence(bounds) == said
    facts = dict(bounds_facts(bounds))
    assert facts["Schedules in all"] == str(bounds.held)
    assert bool(facts["Not reached"]) is bool(bounds.left)


def test_a_summary_has_the_rate_of_each_cell_that_was_raced_and_a_long_list_ends(deeper: Path) -> None:
    run = read_run(deeper)
    raced = next(cell for cell in run.cells if cell.rate is not None and cell.verdict.kind.colour is Colour.RED)
    text = summary_markdown(run)
    assert "### Raced, not settled" in text
    assert "duplicate in 3 of 20 (15 %, 95 % interval 5 % to 36 %)" in text
    many = replace(run, cells=(raced,) * 15)
    assert len(list(rate_lines(many))) == 13
    assert list(rate_lines(many))[-1] == "and 3 more in report.html"
