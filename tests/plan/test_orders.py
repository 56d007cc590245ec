"""Durable writes beside each other, and the schedules that turn their order round."""

from __future__ import annotations

from dataclasses import replace

from notation import undisturbed

from ackgap.model.boundary import Phase
from ackgap.model.history import History
from ackgap.model.schedule import Schedule
from ackgap.plan.orders import in_usual_order, other_orders, pairs_beside


def beside(history: History, **writes: tuple[str, ...]) -> History:
    """Return the history in which some writes, by name, were asked for beside others."""
    return History(
        tuple(
            replace(event, beside=writes[event.name])
            if getattr(event, "phase", None) is Phase.COMMITTING and event.name in writes
            else event
            for event in history
        )
    )


PROBE = beside(undisturbed("[put] [writes] tickets.create [last]"), writes=("put#1",), last=("put#1", "writes#1"))
POINTS = tuple(event.point_text for event in PROBE.passages)


def test_each_pair_of_writes_that_ran_beside_each_other_is_found_once():
    assert pairs_beside(PROBE) == (("put#1", "writes#1"), ("put#1", "last#1"), ("writes#1", "last#1"))
    assert pairs_beside(undisturbed("[put] [writes]")) == ()


def test_the_first_write_is_held_until_the_second_has_landed_and_the_worker_killed_after_either():
    schedules = other_orders(PROBE, POINTS)
    assert [schedule.label for schedule in schedules[:2]] == [
        "hold@put#1:committing,until=writes#1;kill@writes#1:committed",
        "hold@put#1:committing,until=writes#1;kill@put#1:committed",
    ]
    assert len(schedules) == 6
    assert all(Schedule.parse(str(schedule)) == schedule for schedule in schedules)


def test_globs_choose_where_the_worker_is_killed():
    assert [schedule.label for schedule in other_orders(PROBE, POINTS, ["put*"])] == [
        "hold@put#1:committing,until=writes#1;kill@put#1:committed",
        "hold@put#1:committing,until=last#1;kill@put#1:committed",
    ]


def test_a_write_that_not_every_undisturbed_run_makes_is_left_alone():
    points = [point for point in POINTS if not point.startswith("writes")]
    assert {schedule.faults[0].manner.until for schedule in other_orders(PROBE, points)} == {"last#1"}


def test_the_usual_order_is_the_same_kill_without_the_write_that_is_held():
    for schedule in other_orders(PROBE, POINTS):
        usual = in_usual_order(schedule)
        assert usual is not None
        assert usual.label == str(schedule.faults[1].point)
    for text in ("kill@a#1:committed", "lose@a.b#1:applied;kill@a.b#2:applied", "none"):
        assert in_usual_order(Schedule.parse(text)) is None
