"""Natural keys: what a repeat is recognised by, when a service has not noticed yet, and when it no longer counts."""

from __future__ import annotations

import json

import pytest

from ackgap.model.event import Decision
from ackgap.target.profiles.operation import Operation
from ackgap.target.profiles.rules import NaturalKeyRule, Protection
from ackgap.target.protection.natural import judge_natural_key, natural_key_of
from ackgap.target.wire.answer import AnswerSpec
from ackgap.target.wire.request import Request

PARTNER = NaturalKeyRule(paths=("body.partner", "body.kind"))


def request(body=None, **more) -> Request:
    return Request(method="POST", path="/things", payload=body, **more)


def about(**body) -> str:
    return natural_key_of(PARTNER, request(body))


def known(natural_key, document=None, *, object_id="o-1", created_s=0.0):
    return [(frozenset({natural_key}), object_id, document or {"id": object_id}, created_s)]


def test_the_values_at_the_paths_are_the_key_and_nothing_else_is():
    assert about(partner="1", kind="a") == about(partner="1", kind="a", title="in other words")
    different = [about(partner="2", kind="a"), about(partner="1", kind="b"), about(partner=1, kind="a")]
    assert len({about(partner="1", kind="a"), *different}) == 4


def test_values_do_not_run_into_each_other():
    assert about(partner="12", kind="3") != about(partner="1", kind="23")


def test_two_rules_over_different_paths_never_share_a_key():
    one, two = NaturalKeyRule(paths=("body.a",)), NaturalKeyRule(paths=("body.b",))
    assert natural_key_of(one, request({"a": 1})) != natural_key_of(two, request({"b": 1}))


@pytest.mark.parametrize("body", [None, {}, {"partner": "1"}, [], "text"])
def test_a_request_that_lacks_one_of_the_values_is_about_nothing(body):
    assert natural_key_of(PARTNER, request(body)) == ""
    assert judge_natural_key(PARTNER, "", known(""), {}) is None


def test_what_exists_is_answered_as_it_is_now_with_200_or_as_the_service_puts_it():
    natural_key = about(partner="1", kind="a")
    plain = judge_natural_key(PARTNER, natural_key, known(natural_key, {"id": "o-1", "title": "now"}), {})
    assert plain is not None
    assert (plain.decision, plain.answer.status, plain.answer.object_id) == (Decision.EXISTING, 200, "o-1")
    assert json.loads(plain.answer.body) == {"id": "o-1", "title": "now"}
    assert plain.rule == "one with the same partner, kind exists"
    spec = AnswerSpec(status=409, body={"taken_by": "{object.id}", "for": "{payload.partner}"})
    own = NaturalKeyRule(paths=PARTNER.paths, answer=spec)
    told = judge_natural_key(own, natural_key, known(natural_key), {"payload": {"partner": "1"}})
    assert told is not None
    assert (told.answer.status, json.loads(told.answer.body)) == (409, {"taken_by": "o-1", "for": "1"})


def test_nothing_is_found_where_nothing_is_like_it():
    assert judge_natural_key(PARTNER, about(partner="1", kind="a"), known(about(partner="1", kind="b")), {}) is None
    assert judge_natural_key(PARTNER, about(partner="1", kind="a"), [], {}) is None


@pytest.mark.parametrize(
    ("status", "counts"), [("open", True), ("closed", False), ("merged", False), (None, True), (["closed"], True)]
)
def test_an_object_that_is_past_no_longer_counts(status, counts):
    of = NaturalKeyRule(paths=PARTNER.paths, unless={"state.name": ("closed", "merged")})
    natural_key = about(partner="1", kind="a")
    found = judge_natural_key(of, natural_key, known(natural_key, {"state": {"name": status}}), {})
    assert (found is not None) is counts


def test_a_past_object_does_not_hide_a_later_one():
    of = NaturalKeyRule(paths=PARTNER.paths, unless={"state": ("closed",)})
    natural_key = about(partner="1", kind="a")
    both = known(natural_key, {"state": "closed"}) + known(natural_key, {"state": "open"}, object_id="o-2")
    found = judge_natural_key(of, natural_key, both, {})
    assert found is not None
    assert found.answer.object_id == "o-2"


@pytest.mark.parametrize(("now_s", "noticed"), [(100.0, False), (104.999, False), (105.0, True), (1e9, True)])
def test_a_new_object_is_noticed_only_after_the_lag(now_s, noticed):
    of = NaturalKeyRule(paths=PARTNER.paths, lag_s=5)
    natural_key = about(partner="1", kind="a")
    assert (judge_natural_key(of, natural_key, known(natural_key, created_s=100.0), {}, now_s) is not None) is noticed


def test_only_operations_that_create_are_looked_at_and_of_those_the_named_ones():
    def operation(does, name="one"):
        return Operation(name=name, methods=("POST",), path="/", does=does, effect=True, noun=("", ""))

    assert [PARTNER.looks_at(operation(does)) for does in ("create", "put", "patch", "get")] == [
        True, False, False, False,
    ]  # fmt: skip
    named = NaturalKeyRule(paths=("body.a",), operations=("two",))
    assert [named.looks_at(operation("create", name)) for name in ("one", "two")] == [False, True]
    assert Protection(name="p", title="p", natural_keys=(PARTNER, named)).guards(operation("create"))


SHOP = """
name = "own"
title = "t"
about = "a"
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
[[operations]]
name = "put"
method = "PUT"
path = "/things/{id}"
does = "put"
effect = true
[[operations]]
name = "patch"
method = "PATCH"
path = "/things/{id}"
does = "patch"
effect = true
[[operations]]
name = "delete"
method = "DELETE"
path = "/things/{id}"
does = "delete"
effect = true
[protections.p]
title = "by email, and by reference"
[[protections.p.natural_key]]
paths = ["body.email"]
lag_s = 60
[[protections.p.natural_key]]
paths = ["body.reference"]
unless = { state = ["closed"] }
[protections.both]
title = "a key and what it is about"
[protections.both.key]
place = "header.idempotency-key"
[protections.both.natural_key]
paths = ["body.reference"]
answer = { status = 409, body = { existing = "{object.id}" } }
"""


@pytest.fixture
def things(shop, profile_file):
    return lambda protection="p": shop(profile_file(SHOP), protection)


def test_each_rule_of_a_protection_finds_what_it_is_about(things):
    of = things()
    first = of.ask("POST", "/things", {"email": "e", "reference": "r"})
    assert of.ask("POST", "/things", {"reference": "r"}).answer.object_id == first.effect_object_id
    assert of.ask("POST", "/things", {"email": "e"}).decision is Decision.APPLIED
    of.clock.move(60)
    assert of.ask("POST", "/things", {"email": "e"}).answer.object_id == first.effect_object_id


def test_a_deleted_or_closed_object_makes_room_and_one_that_was_written_over_does_not(things):
    of = things()
    made = of.ask("POST", "/things", {"reference": "r"})
    of.ask("PUT", f"/things/{made.effect_object_id}", {"reference": "r", "state": "open"})
    assert of.ask("POST", "/things", {"reference": "r"}).decision is Decision.EXISTING
    of.ask("PATCH", f"/things/{made.effect_object_id}", {"state": "closed"})
    second = of.ask("POST", "/things", {"reference": "r"})
    assert second.decision is Decision.APPLIED
    of.ask("DELETE", f"/things/{second.effect_object_id}")
    assert of.ask("POST", "/things", {"reference": "r"}).decision is Decision.APPLIED


def test_a_natural_key_is_asked_when_a_key_says_nothing_and_its_answer_is_then_kept_under_the_key(things):
    of = things("both")
    first = of.ask("POST", "/things", {"reference": "r"}, key="one")
    other = of.ask("POST", "/things", {"reference": "r"}, key="two")
    again = of.ask("POST", "/things", {"reference": "r"}, key="two")
    assert [handled.decision for handled in (first, other, again)] == [
        Decision.APPLIED, Decision.EXISTING, Decision.REPLAYED,
    ]  # fmt: skip
    assert (other.answer.status, again.answer.body) == (409, other.answer.body)
    assert json.loads(other.answer.body) == {"existing": first.effect_object_id}
