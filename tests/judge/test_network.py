"""After a fault of the network, what a target has answered need not have reached the worker."""

from __future__ import annotations

import pytest
from notation import codes, judged, only

from ackgap.model.verdict import VerdictKind

TICKET = "tickets.create [journal]"


@pytest.mark.parametrize("hooks", [True, False])
def test_whoever_never_heard_an_answer_may_be_in_doubt(hooks):
    told = judged("1> tickets.create:applied TOXIC(cut) UNHEARD EXIT(3) DOUBT", TICKET, hooks=hooks)
    assert told.kind is VerdictKind.IN_DOUBT


def test_whoever_heard_the_answer_has_no_reason_for_doubt():
    told = judged("1> tickets.create:applied TOXIC(slow) tickets.create#1 EXIT(3) DOUBT", TICKET)
    assert told.kind is VerdictKind.STUCK
    assert only(told, "doubt_without_cause")


def test_a_repeat_that_is_answered_ends_the_doubt_and_one_that_is_not_heard_either_does_not():
    first = "1> tickets.create(key=k):applied TOXIC(cut) UNHEARD"
    heard = judged(f"{first} tickets.create(key=k)=>replayed EXIT(3) DOUBT", TICKET)
    assert only(heard, "doubt_without_cause")
    lost = judged(f"{first} tickets.create(key=k)=>replayed:applied UNHEARD EXIT(3) DOUBT", TICKET)
    assert lost.kind is VerdictKind.IN_DOUBT


@pytest.mark.parametrize("hooks", [True, False])
def test_a_paid_call_whose_answer_was_lost_may_be_made_again(hooks):
    again = judged(
        "1> search.query:applied TOXIC(cut) UNHEARD search.query tickets.create [journal] DONE",
        f"search.query {TICKET}",
        hooks=hooks,
    )
    assert again.kind is VerdictKind.OK
    assert "repeated_unrecorded_paid_work" in codes(again)


def test_a_paid_call_whose_answer_was_heard_is_wasted_when_it_is_made_again():
    again = judged(
        "1> search.query:applied TOXIC(slow) search.query#1 search.query tickets.create [journal] DONE",
        f"search.query {TICKET}",
    )
    assert again.kind is VerdictKind.WASTED


def test_a_toxic_that_could_not_be_switched_on_proves_nothing():
    told = judged("1> tickets.create:applied TOXIC(cut) NOTE(toxic_failed) tickets.create#1 [journal] DONE", TICKET)
    assert told.kind is VerdictKind.INCONCLUSIVE
    assert only(told, "toxic_failed")


def test_what_was_written_after_an_answer_that_was_lost_does_not_record_it():
    probe = "search.query tickets.create [journal]"
    lost = judged(
        "1> search.query:applied TOXIC(cut) UNHEARD [note] EXIT(1) 2> search.query tickets.create [journal] DONE", probe
    )
    assert lost.kind is VerdictKind.OK
    heard = judged(
        "1> search.query [note] EXIT(1) 2> search.query tickets.create [journal] DONE", probe, plan="undisturbed"
    )
    assert heard.kind is VerdictKind.WASTED


@pytest.mark.parametrize("hooks", [True, False])
def test_what_lasts_over_lives_takes_the_answers_of_later_ones_too_until_it_is_over(hooks):
    later = "1> tickets.create:received TOXIC(cut) DIES(9) 2> tickets.create:applied UNHEARD EXIT(3)"
    assert judged(f"{later} DOUBT", TICKET, hooks=hooks).kind is VerdictKind.IN_DOUBT
    healed = "1> tickets.create:received TOXIC(cut) DIES(9) HEALED(cut) 2> tickets.create EXIT(3)"
    assert only(judged(f"{healed} DOUBT", TICKET, hooks=hooks), "doubt_without_cause")
