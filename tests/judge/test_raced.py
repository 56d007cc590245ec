"""A cell in which other writes had landed than in both undisturbed runs says that it raced, and no other cell does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from notation import codes, expect, h, judged, only

from ackgap.judge import judge

USUAL = "[a] [b] tickets.create [journal]"
OTHER = "[b] [a] tickets.create [journal]"


def _raced(history: str, probe: str = USUAL, again: str | None = None, **options: str) -> bool:
    return "raced" in codes(judged(history, probe, again, **options))


def test_a_write_that_had_not_landed_yet_is_named() -> None:
    finding = only(judged("1> [b] KILL | 2> [a] [b] tickets.create [journal] DONE", USUAL), "raced")
    assert finding.kind is None
    assert "when life 1 was struck at b#1:committed, a#1 had not landed yet, other than in both" in finding.summary


def test_a_write_that_had_landed_already_is_named() -> None:
    finding = only(judged("1> [b] [a] KILL | 2> tickets.create [journal] DONE", USUAL), "raced")
    assert "a#1:committed, b#1 had landed already, other than in both undisturbed runs" in finding.summary


@pytest.mark.parametrize(
    ("history", "probe", "again"),
    [
        # As usual, also where it does not matter in which order they landed.
        ("1> [a] [b] KILL | 2> tickets.create [journal] DONE", USUAL, None),
        ("1> [b] [a] tickets.create:applied KILL | 2> [journal] DONE", USUAL, None),
        # The write that is struck has not begun.
        ("1> [a] [b]:committing KILL | 2> [b] tickets.create [journal] DONE", USUAL, None),
        # The undisturbed runs did not agree.
        ("1> [b] KILL | 2> [a] [b] tickets.create [journal] DONE", USUAL, OTHER),
        # What a write has begun before is waited for.
        (
            "1> [a]:committing tickets.create:sending [a] KILL | 2> [journal] DONE",
            "[a]:committing tickets.create [a]",
            None,
        ),
        # Writes that not both undisturbed runs make say nothing.
        ("1> [a] [extra] [b] KILL | 2> tickets.create [journal] DONE", USUAL, None),
        # A later life is not measured by an undisturbed run.
        ("1> [a] KILL | 2> [b] KILL | 3> tickets.create [journal] DONE", USUAL, None),
    ],
)
def test_what_is_no_race_has_no_remark(history: str, probe: str, again: str | None) -> None:
    assert not _raced(history, probe, again)


def test_writes_whose_order_is_turned_round_on_purpose_do_not_race() -> None:
    plan = "hold@a#1:committing,until=b#1;kill@b#1:committed"
    assert not _raced("1> [b] KILL | 2> [a] tickets.create [journal] DONE", plan=plan)


def test_a_yardstick_that_does_not_know_how_the_probes_raced_says_nothing() -> None:
    run = h("1> [b] KILL | 2> [a] [b] tickets.create [journal] DONE")
    assert "raced" in codes(judge(run.history, expect(USUAL), run.schedule))
    assert "raced" not in codes(judge(run.history, replace(expect(USUAL), moved=None), run.schedule))


def test_how_the_probes_raced_makes_no_other_yardstick() -> None:
    one, other = expect(USUAL), expect(USUAL, OTHER)
    assert (one.moved, other.moved) == ((), ("a#1:committing", "a#1:committed", "b#1:committing", "b#1:committed"))
    assert one.without_races() == other.without_races()
