"""Every protection walked: repeat, other payload, concurrent, after the window."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackgap.model.event import Decision

DAY_S = 86400
TICKET = {"partner_id": "4471", "kind": "review", "title": "one"}

OWN = """
name = "own"
title = "A service of one's own"
about = "For tests."
default_protection = "p"
[[sources]]
claim = "made up"
date = "2026-11-29"
grade = "invented"
[[operations]]
name = "create"
method = "POST"
path = "/things"
does = "create"
effect = true
required = ["body.a"]
[[operations.outcomes]]
when = {{ "body.a" = "boom" }}
answer = {{ status = 500, body = {{ error = "broken" }} }}
[[operations.outcomes]]
when = {{ "body.a" = "late" }}
answer = {{ status = 500, body = {{ error = "broken after the effect" }} }}
effect = true
[[operations]]
name = "other"
method = "POST"
path = "/others"
does = "create"
effect = true
[protections.p]
title = "rule under test"
[protections.p.key]
{rule}
"""

KEYED = 'place = "header.idempotency-key"\n'


def test_without_protection_a_repeat_is_a_second_ticket(shop):
    tickets = shop("case-management", "none")
    first = tickets.ask("POST", "/tickets", TICKET, key="k")
    second = tickets.ask("POST", "/tickets", TICKET, key="k")
    assert (first.decision, second.decision) == (Decision.APPLIED, Decision.APPLIED)
    assert first.effect_object_id != second.effect_object_id


@pytest.mark.parametrize("profile", ["case-management", "any"])
def test_a_repeat_with_the_same_key_gets_the_first_answer_and_no_effect(shop, profile):
    tickets = shop(profile, "idempotency-key")
    first = tickets.ask("POST", "/tickets", TICKET, key="k")
    again = tickets.ask("POST", "/tickets", TICKET, key="k")
    assert again.decision is Decision.REPLAYED
    assert again.effect_object_id is None
    assert (again.answer.status, again.answer.body) == (first.answer.status, first.answer.body)


def test_the_order_of_fields_does_not_make_another_payload(shop):
    tickets = shop("case-management", "idempotency-key")
    tickets.ask("POST", "/tickets", TICKET, key="k")
    assert tickets.ask("POST", "/tickets", dict(reversed(TICKET.items())), key="k").decision is Decision.REPLAYED


def test_another_payload_under_the_same_key_is_refused_and_has_no_effect(shop):
    tickets = shop("case-management", "idempotency-key")
    tickets.ask("POST", "/tickets", TICKET, key="k")
    reworded = tickets.ask("POST", "/tickets", TICKET | {"title": "two"}, key="k")
    assert (reworded.decision, reworded.answer.status) == (Decision.REJECTED, 422)
    assert reworded.effect_object_id is None


def test_another_key_or_none_is_another_ticket(shop):
    tickets = shop("case-management", "idempotency-key")
    decisions = [tickets.ask("POST", "/tickets", TICKET, key=key).decision for key in ("a", "b", None, "")]
    assert decisions == [Decision.APPLIED] * 4


def test_the_same_key_is_a_conflict_while_its_first_request_is_worked_on(shop):
    tickets = shop("case-management", "idempotency-key")
    first = tickets.begin("POST", "/tickets", TICKET, key="k")
    meanwhile = tickets.ask("POST", "/tickets", TICKET, key="k")
    assert (meanwhile.decision, meanwhile.answer.status) == (Decision.CONFLICT, 409)
    tickets.engine.complete(first)
    assert tickets.ask("POST", "/tickets", TICKET, key="k").decision is Decision.REPLAYED


@pytest.mark.parametrize(("down_s", "decision"), [(DAY_S - 1, Decision.REPLAYED), (DAY_S, Decision.APPLIED)])
def test_a_key_is_forgotten_when_its_window_has_closed(shop, down_s, decision):
    tickets = shop("case-management", "idempotency-key")
    tickets.ask("POST", "/tickets", TICKET, key="k")
    tickets.clock.move(down_s)
    assert tickets.ask("POST", "/tickets", TICKET, key="k").decision is decision


def test_a_forgotten_key_that_comes_again_is_remembered_anew(shop):
    tickets = shop("case-management", "idempotency-key")
    tickets.ask("POST", "/tickets", TICKET, key="k")
    tickets.clock.move(DAY_S)
    tickets.ask("POST", "/tickets", TICKET, key="k")
    tickets.clock.move(DAY_S - 1)
    assert tickets.ask("POST", "/tickets", TICKET, key="k").decision is Decision.REPLAYED


def test_a_window_may_start_at_completion(shop, profile_file):
    things = shop(profile_file(OWN.format(rule=KEYED + 'window_s = 100\nwindow_starts = "completion"')))
    slow = things.begin("POST", "/things", {"a": 1}, key="k")
    things.clock.move(90)
    things.engine.complete(slow)
    things.clock.move(90)
    assert things.ask("POST", "/things", {"a": 1}, key="k").decision is Decision.REPLAYED
    things.clock.move(10)
    assert things.ask("POST", "/things", {"a": 1}, key="k").decision is Decision.APPLIED


def test_without_a_rule_for_concurrent_requests_they_are_not_detected(shop, profile_file):
    things = shop(profile_file(OWN.format(rule=KEYED)))
    things.begin("POST", "/things", {"a": 1}, key="k")
    assert things.ask("POST", "/things", {"a": 1}, key="k").decision is Decision.APPLIED


def test_without_a_rule_for_other_payloads_the_original_answer_comes_back(shop, profile_file):
    things = shop(profile_file(OWN.format(rule=KEYED)))
    first = things.ask("POST", "/things", {"a": 1}, key="k")
    other = things.ask("POST", "/things", {"a": 2}, key="k")
    assert (other.decision, other.answer.body) == (Decision.REPLAYED, first.answer.body)


@pytest.mark.parametrize(
    ("stores", "failure", "decision"),
    [
        ("all", {"a": "boom"}, Decision.REPLAYED),
        ("executed", {"a": "boom"}, Decision.REPLAYED),
        ("successes", {"a": "boom"}, Decision.REJECTED),
        ("all", {"b": 1}, Decision.REPLAYED),
        ("executed", {"b": 1}, Decision.REJECTED),
    ],
)
def test_what_is_stored_of_failures_is_the_services_choice(shop, profile_file, stores, failure, decision):
    things = shop(profile_file(OWN.format(rule=KEYED + f'stores = "{stores}"')))
    assert things.ask("POST", "/things", failure, key="k").decision is Decision.REJECTED
    assert things.ask("POST", "/things", failure, key="k").decision is decision


def test_a_failure_after_the_effect_is_an_effect_and_is_replayed_as_a_failure(shop, profile_file):
    things = shop(profile_file(OWN.format(rule=KEYED)))
    first = things.ask("POST", "/things", {"a": "late"}, key="k")
    again = things.ask("POST", "/things", {"a": "late"}, key="k")
    assert (first.decision, first.answer.status) == (Decision.APPLIED, 500)
    assert (again.decision, again.answer.status, again.effect_object_id) == (Decision.REPLAYED, 500, None)


def test_a_replay_can_be_marked_by_a_header(shop, profile_file):
    things = shop(profile_file(OWN.format(rule=KEYED + 'replay_headers = { "Idempotency-Replayed" = "true" }')))
    marked = ("Idempotency-Replayed", "true")
    assert marked not in things.ask("POST", "/things", {"a": 1}, key="k").answer.headers
    assert marked in things.ask("POST", "/things", {"a": 1}, key="k").answer.headers


@pytest.mark.parametrize(("scope", "decision"), [("account", Decision.REPLAYED), ("endpoint", Decision.APPLIED)])
def test_a_key_belongs_to_the_account_or_to_the_endpoint(shop, profile_file, scope, decision):
    things = shop(profile_file(OWN.format(rule=KEYED + f'scope = "{scope}"')))
    things.ask("POST", "/things", {"a": 1}, key="k")
    assert things.ask("POST", "/others", {"a": 1}, key="k").decision is decision


@pytest.mark.parametrize("place", ["body.token.id", "query.requestId"])
def test_a_key_may_lie_in_body_or_query(shop, profile_file, place):
    things = shop(profile_file(OWN.format(rule=f'place = "{place}"')))

    def ask(key):
        if place.startswith("query"):
            return things.ask("POST", f"/things?requestId={key}", {"a": 1})
        return things.ask("POST", "/things", {"a": 1, "token": {"id": key}})

    assert [ask(key).decision for key in ("x", "x", "y")] == [Decision.APPLIED, Decision.REPLAYED, Decision.APPLIED]


def test_bytes_are_compared_where_the_service_compares_bytes(shop, profile_file):
    rule = KEYED + 'compares = "bytes"\nmismatch = { status = 422 }'
    things = shop(profile_file(OWN.format(rule=rule)))
    things.ask("POST", "/things", b'{"a":1,"b":2}', key="k")
    assert things.ask("POST", "/things", b'{"b":2,"a":1}', key="k").decision is Decision.REJECTED


def test_a_natural_key_finds_the_open_ticket_of_the_same_partner_and_kind(shop):
    tickets = shop("case-management", "natural-key")
    first = tickets.ask("POST", "/tickets", TICKET)
    reworded = tickets.ask("POST", "/tickets", TICKET | {"title": "in other words"})
    assert (reworded.decision, reworded.answer.status) == (Decision.EXISTING, 200)
    assert reworded.answer.object_id == first.effect_object_id
    assert json.loads(reworded.answer.body)["title"] == "one"


@pytest.mark.parametrize("change", [{"partner_id": "4472"}, {"kind": "audit"}])
def test_another_partner_or_kind_is_another_ticket(shop, change):
    tickets = shop("case-management", "natural-key")
    tickets.ask("POST", "/tickets", TICKET)
    assert tickets.ask("POST", "/tickets", TICKET | change).decision is Decision.APPLIED


def test_a_closed_ticket_no_longer_counts(shop):
    tickets = shop("case-management", "natural-key")
    first = tickets.ask("POST", "/tickets", TICKET)
    tickets.ask("POST", f"/tickets/{first.effect_object_id}/close")
    assert tickets.ask("POST", "/tickets", TICKET).decision is Decision.APPLIED


def test_a_request_without_the_natural_key_is_applied_each_time(shop):
    tickets = shop("case-management", "natural-key")
    decisions = [tickets.ask("POST", "/tickets", {"partner_id": "1"}).decision for _ in range(2)]
    assert decisions == [Decision.APPLIED, Decision.APPLIED]


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from(["k1", "k2", None]), st.sampled_from(["x", "y"])),
        st.tuples(st.just("move"), st.integers(0, 130), st.none()),
    ),
    max_size=25,
)


@settings(max_examples=80, deadline=None)
@given(steps=_STEPS)
def test_any_sequence_of_requests_agrees_with_a_tiny_model_of_the_key_rule(shop, tmp_path_factory, steps):
    file = tmp_path_factory.getbasetemp() / "rule.toml"
    file.write_text(OWN.format(rule=KEYED + "window_s = 100\nmismatch = { status = 422 }"), encoding="utf-8")
    things = shop(file)
    known: dict[str, tuple[str, float]] = {}
    now = 0.0
    for kind, first, word in steps:
        if kind == "move":
            now += first
            things.clock.move(first)
            continue
        decision = things.ask("POST", "/things", {"a": word}, key=first).decision
        remembered = known.get(first) if first else None
        if remembered and now - remembered[1] < 100:
            assert decision is (Decision.REPLAYED if remembered[0] == word else Decision.REJECTED)
        else:
            assert decision is Decision.APPLIED
            if first:
                known[first] = (word, now)
