"""The order of rows over variants, and which points a glob means."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackgap.model.manner import Manner
from ackgap.model.schedule import Schedule
from ackgap.plan.exhaustive import every_point_once, matches_any
from ackgap.plan.rows import merged_order, row_order

POINTS = ("search.query#1:applied", "tickets.create#1:received", "tickets.create#1:applied", "tickets.create#2:applied")


@pytest.mark.parametrize(
    ("merged", "sequences"),
    [
        ("abc", ["abc"]),
        ("abc", ["abc", "abc"]),
        ("abxc", ["abc", "abxc"]),
        ("abxc", ["abxc", "abc"]),
        ("xabc", ["abc", "xabc"]),
        ("abcx", ["abc", "abcx"]),
        ("axbyc", ["abc", "axbc", "abyc"]),
        ("", []),
        ("ab", ["", "ab", ""]),
    ],
)
def test_rows_are_in_one_order_that_agrees_with_every_variant(merged: str, sequences: list[str]) -> None:
    assert merged_order(sequences) == tuple(merged)


def test_where_variants_disagree_the_first_one_decides_and_nothing_is_lost() -> None:
    assert merged_order(["ab", "ba"]) == ("a", "b")


ITEMS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@settings(deadline=None, max_examples=60)
@given(st.lists(ITEMS, max_size=5))
def test_every_item_of_every_variant_is_a_row_exactly_once(sequences: list[list[str]]) -> None:
    merged = merged_order(sequences)
    assert sorted(merged) == sorted({item for sequence in sequences for item in sequence})


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(st.integers(0, 30), unique=True, max_size=10).map(sorted), min_size=1, max_size=5))
def test_the_order_within_the_first_variant_is_never_changed(sequences: list[list[int]]) -> None:
    merged = merged_order(sequences)
    places = [merged.index(item) for item in sequences[0]]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("globs", "count"),
    [
        ((), 4),
        (("*",), 4),
        (("tickets.*",), 3),
        (("*:applied",), 3),
        (("tickets.create#1:*", "search.*"), 3),
        (("TICKETS.*",), 0),
        (("tickets.create#?:applied",), 2),
        (("nothing",), 0),
    ],
)
def test_globs_choose_points(globs: tuple[str, ...], count: int) -> None:
    assert len(every_point_once(POINTS, globs)) == count


def test_each_point_gets_one_kill_of_the_first_life_in_the_order_of_the_points() -> None:
    schedules = every_point_once(POINTS)
    assert [schedule.label for schedule in schedules] == list(POINTS)
    assert all(Schedule.parse(str(schedule)) == schedule for schedule in schedules)


def test_brackets_in_the_name_of_a_boundary_are_no_glob() -> None:
    assert matches_any("graph[a].put#1:committed", ["graph[a].*"])
    assert not matches_any("grapha.put#1:committed", ["graph[a].*"])


def test_each_fault_is_planned_at_the_points_where_it_can_strike():
    points = ["tickets.create#1:received", "tickets.create#1:applied", "file.state.json.write#1:committing"]
    planned = every_point_once(points, (), [Manner.parse(text) for text in ("kill,down=1h", "lose", "fail", "twice")])
    assert [str(schedule.faults[0]) for schedule in planned] == [
        "kill@tickets.create#1:received,down=1h",
        "kill@tickets.create#1:applied,down=1h",
        "kill@file.state.json.write#1:committing,down=1h",
        "lose@tickets.create#1:applied",
        "fail@tickets.create#1:received,status=503",
        "fail@tickets.create#1:applied,status=503",
        "twice@tickets.create#1:received",
    ]


def test_an_error_that_says_that_nothing_was_done_is_tried_only_where_that_is_true():
    points = ["tickets.create#1:received", "tickets.create#1:applied"]
    faults = [Manner.parse(f"fail,status={status}") for status in (400, 409, 429, 500)]
    planned = [str(schedule.faults[0]) for schedule in every_point_once(points, (), faults)]
    assert [text for text in planned if ":applied" in text] == [
        "fail@tickets.create#1:applied,status=409",
        "fail@tickets.create#1:applied,status=500",
    ]
    assert len(planned) == 6


def test_rows_do_not_depend_on_which_cell_was_run_first() -> None:
    named = [Schedule.parse("pause@tickets.create#1:applied")]
    texts = [
        "kill@search.query#1:applied",
        "kill@tickets.create#1:applied",
        "pause@tickets.create#1:applied",
        "lose@search.query#1:applied",
        "lose@tickets.create#1:applied",
        "kill@search.query#1:applied;2.kill@tickets.create#1:received",
        "kill@search.query#1:applied;2.kill@recovery.step#1:committed",
        "kill@tickets.create#1:applied;2.kill@search.query#1:applied",
        "kill@search.query#1:applied;2.kill@search.query#1:applied;3.kill@search.query#1:applied",
    ]
    schedules = [Schedule.parse(text) for text in texts]
    manners = [Manner(), Manner.parse("lose")]
    for mixed in (schedules, schedules[::-1], schedules[4:] + schedules[:4]):
        assert list(row_order(mixed, POINTS, manners, named)) == schedules
