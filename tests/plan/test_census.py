"""From two undisturbed runs to the yardstick."""

from __future__ import annotations

import pytest
from notation import WORLD, expect, h, undisturbed, world

from ackgap.model.event import Decision
from ackgap.model.expectation import ExpectedEffect
from ackgap.model.history import History
from ackgap.plan.census import crash_points, take_census


def counts_of(expectation: object) -> dict[str, int]:
    return {effect.operation: effect.count for effect in expectation.effects}


# --------------------------------------------------------------------- points


def test_points_are_all_phases_of_all_boundaries_in_the_order_of_the_run() -> None:
    points = expect("search.query [found] tickets.create").points
    assert points == (
        "search.query#1:sending",
        "search.query#1:received",
        "search.query#1:applied",
        "search.query#1:returned",
        "found#1:committing",
        "found#1:committed",
        "tickets.create#1:sending",
        "tickets.create#1:received",
        "tickets.create#1:applied",
        "tickets.create#1:returned",
    )


def test_a_point_that_only_one_probe_came_to_is_no_point() -> None:
    one, two = undisturbed("tickets.create notify.send"), undisturbed("tickets.create crm.add")
    assert {point.partition("#")[0] for point in crash_points(one, two)} == {"tickets.create"}
    assert crash_points(one, History(events=())) == ()


def test_the_second_call_of_an_operation_is_a_boundary_of_its_own() -> None:
    points = expect("tickets.create(1) tickets.create(2)", hooks=False).points
    assert points == (
        "tickets.create#1:received",
        "tickets.create#1:applied",
        "tickets.create#2:received",
        "tickets.create#2:applied",
    )


def test_a_read_that_costs_nothing_is_no_boundary() -> None:
    assert expect("tickets.find tickets.create", hooks=False).points == expect("tickets.create", hooks=False).points


# ------------------------------------------------------------- nondeterminism


def test_two_equal_probes_leave_nothing_to_report() -> None:
    assert expect("search.query [found] tickets.create").nondeterministic == ()


@pytest.mark.parametrize(
    ("what", "first", "second"),
    [
        ("effects of tickets.create", "tickets.create", "tickets.create tickets.create"),
        ("effects of notify.send", "tickets.create notify.send", "tickets.create"),
        ("paid attempts of search.query", "search.query tickets.create", "search.query search.query tickets.create"),
        ("passages of found#1:committed", "[found] tickets.create", "tickets.create"),
        ("passages of tickets.create#1:received", "notify.send", "notify.send tickets.create"),
    ],
)
def test_what_differs_between_the_probes_is_reported_from_either_side(what: str, first: str, second: str) -> None:
    there, back = expect(first, second).nondeterministic, expect(second, first).nondeterministic
    assert any(text.startswith(what) for text in there)
    assert any(text.startswith(what) for text in back)


def test_a_difference_names_both_counts() -> None:
    found = expect("search.query tickets.create", "search.query search.query tickets.create").nondeterministic
    assert "paid attempts of search.query: 1 in the first undisturbed run, 2 in the second" in found


def test_another_partner_in_the_second_probe_of_a_described_target_is_nondeterminism() -> None:
    found = expect("tickets.create(1)", "tickets.create(2)").nondeterministic
    assert [text.partition(":")[0] for text in found] == [
        "effects of tickets.create body.partner_id='1'",
        "effects of tickets.create body.partner_id='2'",
    ]


def test_other_words_under_the_same_identity_are_not_nondeterminism() -> None:
    assert expect("tickets.create(1,title=A)", "tickets.create(1,title=B)").nondeterministic == ()
    assert expect("crm.add(1,title=A)", "crm.add(1,title=B)").nondeterministic == ()


# ---------------------------------------------------------- learned identity


def test_identity_is_what_stays_under_drift_and_content_what_moves() -> None:
    facts = expect("crm.add(1,title=A)", "crm.add(1,title=B)").operations["crm.add"]
    assert facts.identity_learned
    assert "body.partner_id" in facts.identity
    assert facts.content_learned == ("body.title",)
    assert "body.title" not in facts.identity


@pytest.mark.parametrize("second", ["crm.add(1,title=A) crm.add(2,title=B)", "crm.add(1,title=B) crm.add(2,title=A)"])
def test_a_field_that_moves_in_one_of_several_effects_is_content_for_all(second: str) -> None:
    facts = expect("crm.add(1,title=A) crm.add(2,title=A)", second).operations["crm.add"]
    assert facts.content_learned == ("body.title",)


def test_a_field_that_only_one_probe_has_is_content() -> None:
    facts = expect("crm.add(1,extra=x)", "crm.add(1)").operations["crm.add"]
    assert facts.content_learned == ("body.extra",)


def test_effects_that_differ_in_what_stays_are_different_actions() -> None:
    expectation = expect("crm.add(1,title=A) crm.add(2,title=A)", "crm.add(1,title=B) crm.add(2,title=B)")
    assert [effect.count for effect in expectation.effects] == [1, 1]


def test_where_nothing_stays_every_effect_of_the_operation_is_the_same_action() -> None:
    facts = {**WORLD}
    one = undisturbed("crm.add(1) crm.add(2)")
    two = undisturbed("crm.add(3) crm.add(4)")
    expectation = take_census(one, two, facts)
    learned = expectation.operations["crm.add"]
    assert "body.partner_id" in learned.content_learned
    assert [(effect.operation, effect.count) for effect in expectation.effects] == [("crm.add", 2)]


def test_a_described_identity_is_not_learned_over() -> None:
    facts = expect("tickets.create(1,title=A)", "tickets.create(1,title=B)").operations["tickets.create"]
    assert facts == WORLD["tickets.create"]


# --------------------------------------------------------------------- counts


def test_an_identity_is_expected_once_at_a_described_target_however_often_it_was_seen() -> None:
    (effect,) = expect("tickets.create tickets.create").effects
    assert (effect.count, effect.assumed, effect.declared) == (1, False, False)


def test_at_an_undescribed_target_the_count_is_taken_and_marked_as_assumed() -> None:
    (effect,) = expect("crm.add crm.add").effects
    assert (effect.count, effect.assumed) == (2, True)


def test_a_declared_count_overrules_what_was_seen_and_is_not_assumed() -> None:
    for operation in ("tickets.create", "crm.add"):
        (effect,) = expect(operation, declared_counts={operation: 3}).effects
        assert (effect.count, effect.assumed, effect.declared) == (3, False, True)


def test_a_declared_count_holds_for_each_identity() -> None:
    expectation = expect("tickets.create(1) tickets.create(2)", declared_counts={"tickets.create": 2})
    assert [effect.count for effect in expectation.effects] == [2, 2]


def test_a_declared_effect_that_no_probe_had_is_expected_all_the_same() -> None:
    expectation = expect("tickets.create", declared_counts={"notify.send": 1})
    assert ExpectedEffect(operation="notify.send", identity={}, count=1, declared=True) in expectation.effects
    assert counts_of(expect("tickets.create", declared_counts={"notify.send": 0})) == {"tickets.create": 1}


def test_paid_counts_are_of_requests_that_were_served() -> None:
    expectation = expect("search.query search.query=>rejected model.chat tickets.create")
    assert expectation.paid_counts == {"search.query": 1, "model.chat": 1}


def test_attempts_that_had_no_effect_are_not_expected() -> None:
    assert counts_of(expect("tickets.create=>existing notify.send")) == {"notify.send": 1}
    assert Decision.EXISTING in {answer.decision for answer in undisturbed("tickets.create=>existing").answers.values()}


def test_the_yardstick_does_not_depend_on_what_the_facts_say_of_operations_that_were_not_used() -> None:
    facts = world("notify.send", honours_keys=True)
    assert expect("tickets.create", facts=facts).effects == expect("tickets.create").effects


def test_a_census_keeps_the_facts_of_every_operation() -> None:
    assert set(expect("tickets.create").operations) == set(WORLD)
    assert h("1> tickets.create DONE").history.finished
