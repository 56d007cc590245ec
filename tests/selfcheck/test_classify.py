"""What became of a mutant follows from what services saw, and never from the judge's word alone."""

from __future__ import annotations

from dataclasses import replace

from ackgap.model.verdict import VerdictKind
from ackgap.selfcheck.classify import Fate, Reference, ruling_of
from ackgap.selfcheck.seen import Request, Seen
from ackgap.selfcheck.trial import TrialCell, TrialResult

CREATE = Request("tickets.create", "review-1", "{}", matters=True)
FIND = Request("tickets.find", None, "{}", matters=False)
SEEN = Seen(
    effects={"tickets.create 1": 1},
    contents={"tickets.create 1, a": 1},
    order=("tickets.create",),
    paid={"model.chat": 1},
    unapproved=0,
    finished=True,
    in_doubt=False,
    lives=2,
    requests=(CREATE, CREATE),
)
PEACE = TrialCell(
    schedule="1/none", verdict=VerdictKind.OK, headline="", seen=replace(SEEN, lives=1, requests=(CREATE,))
)
CELL = TrialCell(schedule="1/kill@tickets.create#1:applied", verdict=VerdictKind.OK, headline="", seen=SEEN)
RIGHT = TrialResult(peace=PEACE, cells=(CELL,), keyed={"tickets.create": True}, natural={})
TWICE = replace(SEEN, effects={"tickets.create 1": 2}, contents={"tickets.create 1, a": 2})


def cell(seen: Seen, verdict: str = "ok", *remarks: str) -> TrialCell:
    return replace(CELL, seen=seen, verdict=VerdictKind(verdict), headline=f"it is {verdict}", remarks=remarks)


def ruling(*cells: TrialCell, caught: bool = False, right: TrialResult = RIGHT, unreached: bool | None = None, **more):
    return ruling_of(
        Reference(right), replace(RIGHT, **{"cells": cells, "caught": caught, **more}), unreached=unreached
    )


def test_what_the_judge_and_the_services_saw_is_caught():
    found = ruling(cell(TWICE, "duplicate"), caught=True)
    assert (found.fate, found.why, found.verdict) == (Fate.CAUGHT, "it is duplicate", "duplicate")
    assert found.schedule == CELL.schedule


def test_what_only_the_judge_saw_is_a_false_alarm():
    assert ruling(cell(SEEN, "duplicate"), caught=True).fate is Fate.UNFOUNDED


def test_what_only_the_services_saw_is_missed():
    found = ruling(cell(TWICE))
    assert found.fate is Fate.MISSED
    assert "tickets.create 1: 2 instead of 1" in found.why


def test_an_inconclusive_cell_is_no_catch_and_no_proof():
    assert ruling(cell(SEEN, "inconclusive")).fate is Fate.MISSED


def test_the_same_requests_are_equivalent():
    found = ruling(CELL)
    assert found.fate is Fate.EQUIVALENT
    assert "the same requests" in found.why


def test_a_repeat_under_a_key_that_is_honoured_is_equivalent():
    assert ruling(cell(replace(SEEN, requests=(CREATE, CREATE, CREATE)))).fate is Fate.EQUIVALENT


def test_a_repeat_under_another_key_is_not_shown_to_be_equivalent():
    other = replace(CREATE, key="review-2")
    found = ruling(cell(replace(SEEN, requests=(CREATE, other))), unreached=False)
    assert found.fate is Fate.MISSED


def test_a_repeat_without_a_key_is_not_shown_to_be_equivalent():
    keyless = replace(CREATE, key=None)
    assert ruling(cell(replace(SEEN, requests=(CREATE, keyless))), unreached=False).fate is Fate.MISSED


def test_a_service_that_does_not_look_at_keys_makes_a_key_moot_and_a_repeat_not():
    right = replace(RIGHT, keyed={"tickets.create": False})
    keyless = replace(CREATE, key=None)
    assert ruling(cell(replace(SEEN, requests=(keyless, keyless))), right=right).fate is Fate.EQUIVALENT
    assert ruling(cell(replace(SEEN, requests=(CREATE,) * 3)), right=right, unreached=False).fate is Fate.MISSED


def test_a_service_that_recognises_what_it_is_about_makes_a_repeat_moot():
    right = replace(RIGHT, keyed={}, natural={"tickets.create": True})
    assert ruling(cell(replace(SEEN, requests=(CREATE,) * 3)), right=right).fate is Fate.EQUIVALENT


def test_another_look_changes_nothing():
    assert ruling(cell(replace(SEEN, requests=(CREATE, FIND, CREATE)))).fate is Fate.EQUIVALENT


def test_a_point_of_its_own_at_which_nothing_is_done_again_is_equivalent():
    own = replace(CELL, schedule="1/kill@file.state.json.write#1:committing")
    assert ruling(replace(own, seen=replace(SEEN, requests=(CREATE,)))).fate is Fate.EQUIVALENT
    again = replace(SEEN, requests=(CREATE, replace(CREATE, key=None)))
    assert ruling(replace(own, seen=again), unreached=False).fate is Fate.MISSED


def test_a_repeat_that_the_judge_calls_waste_at_a_point_of_its_own_is_measured_by_the_undisturbed_run():
    own = replace(cell(replace(SEEN, paid={"model.chat": 2}), "wasted"), schedule="1/kill@file.new.write#1:committed")
    right = replace(RIGHT, cells=(cell(replace(SEEN, paid={"model.chat": 2})),))
    assert ruling(own, caught=True, right=right).fate is Fate.CAUGHT


def test_a_paid_question_in_other_words_is_equivalent_if_it_is_asked_no_more_often():
    asked = Request("model.chat", None, "one wording", matters=True)
    right = replace(RIGHT, cells=(cell(replace(SEEN, requests=(CREATE, asked))),))
    other = replace(asked, sent="another wording")
    assert ruling(cell(replace(SEEN, requests=(CREATE, other))), right=right).fate is Fate.EQUIVALENT
    often = cell(replace(SEEN, requests=(CREATE, other, other)))
    assert ruling(often, right=right, unreached=False).fate is Fate.MISSED


def test_a_line_that_is_never_reached_is_asked_for_only_where_nothing_else_shows_it():
    other = cell(replace(SEEN, requests=(CREATE, replace(CREATE, key="another"))))
    assert ruling(other) is None
    assert ruling(other, unreached=True).fate is Fate.EQUIVALENT
    assert ruling(other, unreached=False).fate is Fate.MISSED


def test_paying_again_for_what_nothing_had_recorded_is_remarked():
    seen = replace(SEEN, paid={"model.chat": 2})
    assert ruling(cell(seen, "ok", "repeated_unrecorded_paid_work")).fate is Fate.REMARKED
    assert ruling(cell(seen)).fate is Fate.MISSED, "without the remark nobody is told"
    both = replace(TWICE, paid={"model.chat": 2})
    assert ruling(cell(both, "ok", "repeated_unrecorded_paid_work")).fate is Fate.MISSED, "and it files twice"


def test_filing_what_nobody_approved_is_seen_without_a_judge():
    assert ruling(cell(replace(SEEN, unapproved=1))).fate is Fate.MISSED


def test_filing_what_is_filed_at_no_other_time_is_seen_without_a_judge():
    assert ruling(cell(replace(SEEN, contents={"tickets.create 1, null": 1}))).fate is Fate.MISSED


def test_not_finishing_is_seen_without_a_judge():
    assert ruling(cell(replace(SEEN, finished=False))).fate is Fate.MISSED


def test_who_fails_undisturbed_is_not_viable():
    assert ruling(peace=None, failed="it ended with exit status 1").fate is Fate.NOT_VIABLE
    assert ruling(CELL, peace=replace(PEACE, verdict=VerdictKind.DUPLICATE)).fate is Fate.NOT_VIABLE
    nothing = replace(PEACE.seen, effects={}, order=())
    assert ruling(CELL, peace=replace(PEACE, seen=nothing)).fate is Fate.NOT_VIABLE
