"""What goes with a fault: what is written, what is refused, and in which lives it is done."""

from __future__ import annotations

import pytest

from ackgap.model.manner import Manner
from ackgap.model.schedule import Schedule


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kill,lives=3", "killed in 3 lives"),
        ("kill,without=db,for=3s", "killed, then without db"),
        ("kill,down=72h", "killed, 3d down"),
        ("slow,for=2m", "answer 2m late"),
        ("fail,status=429", "answered 429"),
        ("toxic,name=cut-answer", "network: cut-answer"),
        ("toxic,name=gone,for=3s", "network: gone for 3s"),
        ("toxic,name=gone,until=desk.send#1:received,for=3s", "network: gone until desk.send#1:received or for 3s"),
    ],
)
def test_a_manner_is_told_in_words_and_reads_itself_back(text, words):
    manner = Manner.parse(text)
    assert manner.words == words
    assert Manner.parse(str(manner)) == manner


def test_a_service_is_gone_for_three_seconds_where_no_time_is_given():
    assert str(Manner.parse("kill,without=db")) == "kill,without=db,for=3s"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("kill,lives=0", "not a number of lives"),
        ("kill,lives=x", "not a number of lives"),
        ("kill,lives=1001", "no more than 1000"),
        ("kill,for=3s", "there is none"),
        ("kill,without=db,lives=2", "leave out lives or without"),
        ("pause,lives=2", "'lives' is not an option"),
        ("lose,without=db", "'without' is not an option"),
        ("explode", "is not a fault"),
        ("toxic", "needs to know which one"),
        ("kill,name=gone", "'name' is not an option"),
        ("toxic,name=gone,until=desk.send#1", "is not a crash point"),
        ("kill,release=", "option 'release' has no value"),
        ("kill,down=3d,stale=1h,down=3d", "'down' is there twice"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_can(text, what):
    with pytest.raises(ValueError, match=what):
        Manner.parse(text)


def test_a_fault_of_several_lives_is_there_for_each_of_them():
    schedule = Schedule.parse("1/2.kill@tickets.create#1:applied,lives=3;5.kill@desk.send#1:received")
    assert [str(next(iter(schedule.faults_in(life)), None)) for life in (1, 2, 3, 4, 5, 6)] == [
        "None",
        "2.kill@tickets.create#1:applied,lives=3",
        "3.kill@tickets.create#1:applied,lives=3",
        "4.kill@tickets.create#1:applied,lives=3",
        "5.kill@desk.send#1:received",
        "None",
    ]


def test_two_faults_that_would_strike_the_same_life_are_refused():
    with pytest.raises(ValueError, match="at most one such fault for each"):
        Schedule.parse("1/kill@tickets.create#1:applied,lives=3;3.kill@desk.send#1:received")


def test_a_toxic_that_would_be_over_where_it_begins_is_refused():
    with pytest.raises(ValueError, match="cannot be over there"):
        Schedule.parse("1/toxic@tickets.create#1:applied,name=gone,until=tickets.create#1:applied")


def test_a_life_can_meet_a_toxic_and_be_killed_later():
    schedule = Schedule.parse("1/toxic@tickets.create#1:applied,name=gone;kill@tickets.create#2:applied")
    assert schedule.depth == 1
    assert [fault.kind.strikes_worker for fault in schedule.faults] == [False, True]
