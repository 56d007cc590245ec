"""The order of rows over variants, and which points a glob means."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackgap.model.schedule import Schedule
from ackgap.plan.exhaustive import every_point_once, matches_any
from ackgap.plan.rows import merged_order

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
