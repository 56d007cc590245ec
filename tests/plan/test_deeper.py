"""What strikes a recovery: where, how, and after which faults."""

from __future__ import annotations

import pytest
from notation import h

from ackgap.model.schedule import Schedule
from ackgap.plan.deeper import faults_in_recovery, goes_deeper

HISTORY = h("1> [a] tickets.create:applied KILL 2> tickets.create [b] DONE").history
SCHEDULE = Schedule.parse("kill@tickets.create#1:applied,down=1h")


@pytest.mark.parametrize(
    ("text", "depth", "goes"),
    [
        ("kill@a.b#1:sending", 1, False),
        ("kill@a.b#1:sending", 2, True),
        ("term@a.b#1:sending", 2, True),
        ("pause@a.b#1:sending", 3, False),
        ("lose@a.b#1:applied", 3, False),
        ("lose@a.b#1:applied;kill@a.b#2:applied", 2, True),
        ("kill@a.b#1:sending;2.kill@a.b#1:sending", 2, False),
        ("kill@a.b#1:sending;2.kill@a.b#1:sending", 3, True),
        ("kill@a.b#1:sending,lives=2", 2, False),
        ("kill@a.b#1:sending,lives=2", 3, True),
        ("kill@a.b#1:sending,unsettled=20", 3, False),
        ("none", 3, False),
    ],
)
def test_a_death_that_is_carried_out_once_goes_deeper(text, depth, goes):
    assert goes_deeper(Schedule.parse(text), depth) is goes


def test_each_point_of_the_recovery_is_struck_in_the_manner_of_the_last_fault():
    # What is struck has to have struck: the history was made without the option.
    faults = faults_in_recovery(Schedule.parse("kill@tickets.create#1:applied"), HISTORY)
    assert [str(fault) for fault in faults] == [
        "2.kill@tickets.create#1:sending",
        "2.kill@tickets.create#1:received",
        "2.kill@tickets.create#1:applied",
        "2.kill@tickets.create#1:returned",
        "2.kill@b#1:committing",
        "2.kill@b#1:committed",
    ]
    assert {str(fault.manner) for fault in faults_in_recovery(SCHEDULE, HISTORY)} == {"kill,down=1h"}


def test_a_point_that_is_passed_twice_is_struck_once_and_globs_choose():
    faults = faults_in_recovery(SCHEDULE, HISTORY, ["*:applied", "b*"])
    assert [str(fault.point) for fault in faults] == [
        "tickets.create#1:applied",
        "b#1:committing",
        "b#1:committed",
    ]


def test_a_fault_that_did_not_strike_has_no_recovery():
    assert faults_in_recovery(SCHEDULE, h("1> [a] tickets.create [b] DONE").history) == ()
    assert faults_in_recovery(SCHEDULE, h("1> [a] KILL").history) == ()


def test_after_a_crash_loop_the_life_after_the_last_of_it_is_struck_once():
    history = h("1> [a] KILL 2> [a] KILL 3> [b] DONE").history
    faults = faults_in_recovery(Schedule.parse("kill@a#1:committed,lives=2"), history)
    assert [str(fault) for fault in faults] == ["3.kill@b#1:committing", "3.kill@b#1:committed"]


def test_each_of_several_heirs_is_struck_at_its_own_points():
    history = h("1> [a] KILL 2> [b] DONE 3> [c] DONE").history
    faults = faults_in_recovery(Schedule.parse("kill@a#1:committed,heirs=2"), history, ["*:committed"])
    assert [str(fault) for fault in faults] == [
        "2.kill@b#1:committed,heirs=2",
        "3.kill@c#1:committed,heirs=2",
    ]


def test_what_follows_one_of_several_heirs_begins_after_all_of_them():
    history = h("1> [a] KILL 2> [b] KILL 3> [c] DONE 4> [d] DONE").history
    schedule = Schedule.parse("kill@a#1:committed,heirs=2;2.kill@b#1:committed")
    assert [str(fault) for fault in faults_in_recovery(schedule, history, ["*:committed"])] == ["4.kill@d#1:committed"]
