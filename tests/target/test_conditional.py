"""Conditional writes and upserts: when a write may happen, and what an id that the client chose protects from."""

from __future__ import annotations

import json

import pytest

from ackgap.model.event import Decision
from ackgap.target.engine import entity_tag
from ackgap.target.profiles.operation import Operation
from ackgap.target.profiles.rules import ConditionRule
from ackgap.target.protection.conditional import judge_condition, states_condition
from ackgap.target.wire.answer import AnswerSpec
from ackgap.target.wire.request import Request

FAILED = AnswerSpec(status=412, body={"error": "no"})
BUSY = AnswerSpec(status=409, body={"error": "busy"})
NONE_THERE = ConditionRule(place="header.if-none-match", holds="*", failed=FAILED, concurrent=BUSY)
AS_KNOWN = ConditionRule(place="header.if-match", needs="unchanged", failed=FAILED)


def request(body=None, **headers) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request(method="PUT", path="/o/1", payload=body, headers=named)


def judged(rule, asked, *, exists=False, entity_tag="", busy=False):
    ruling = judge_condition(rule, asked, exists=exists, entity_tag=entity_tag, busy=busy, values={})
    return None if ruling is None else (ruling.decision, ruling.answer.status)


def test_a_request_without_the_condition_is_not_looked_at():
    assert judged(NONE_THERE, request(), exists=True, busy=True) is None
    assert judged(AS_KNOWN, request(), exists=True, entity_tag="x") is None


@pytest.mark.parametrize(("text", "states"), [("*", True), (" * ", True), ('"abc"', False), ("", False)])
def test_a_condition_counts_only_if_it_holds_the_text(text, states):
    assert states_condition(NONE_THERE, request(if_none_match=text)) is states


def test_a_condition_may_be_in_the_body():
    rule = ConditionRule(place="body.condition", holds="attribute_not_exists", failed=FAILED)
    assert states_condition(rule, request({"condition": "attribute_not_exists(id)"}))
    assert not states_condition(rule, request({"condition": "attribute_exists(id)"}))
    assert not states_condition(rule, request({"condition": None}))


def test_a_write_that_wants_nothing_there_fails_where_something_is():
    asked = request(if_none_match="*")
    assert judged(NONE_THERE, asked) is None
    assert judged(NONE_THERE, asked, exists=True, entity_tag="x") == (Decision.EXISTING, 412)


@pytest.mark.parametrize(
    ("text", "exists", "met"),
    [
        ('"abc"', True, True),
        ("abc", True, True),
        ('W/"abc"', True, False),
        ('"old", "abc"', True, True),
        ("*", True, True),
        ('"old"', True, False),
        ('"ab"', True, False),
        ('"abc"', False, False),
        ("*", False, False),
    ],
)
def test_a_write_that_wants_things_unchanged_fails_where_they_are_not(text, exists, met):
    wanted = None if met else (Decision.REJECTED, 412)
    assert judged(AS_KNOWN, request(if_match=text), exists=exists, entity_tag="abc" if exists else "") == wanted


def test_a_condition_fails_at_once_while_another_is_worked_on_where_the_service_notices():
    asked = request(if_none_match="*")
    assert judged(NONE_THERE, asked, busy=True) == (Decision.CONFLICT, 409)
    unnoticed = ConditionRule(place="header.if-none-match", failed=FAILED)
    assert judged(unnoticed, asked, busy=True) is None


def test_a_rule_may_be_about_some_operations_only():
    def operation(name, effect=True):
        return Operation(name=name, methods=("PUT",), path="/", does="put", effect=effect, noun=("", ""))

    named = ConditionRule(place="header.if-match", failed=FAILED, operations=("write",))
    assert [named.looks_at(operation(name)) for name in ("write", "other")] == [True, False]
    assert not AS_KNOWN.looks_at(operation("write", effect=False))


def test_an_entity_tag_is_the_objects_own_or_changes_with_anything_in_it():
    assert entity_tag({"etag": '"v7"', "a": 1}) == "v7"
    assert entity_tag({"a": 1, "b": 2}) == entity_tag({"b": 2, "a": 1})
    assert len({entity_tag(document) for document in ({"a": 1}, {"a": 2}, {"a": 1, "b": 1}, "a", None)}) == 5


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
name = "write"
method = "PUT"
path = "/objects/{key+}"
does = "put"
effect = true
[[operations]]
name = "read"
method = "GET"
path = "/objects/{key+}"
does = "get"
[[operations]]
name = "set"
method = "PATCH"
path = "/records/{field}/{value}"
does = "upsert"
effect = true
collection = "records"
object_id = "{path.field}={path.value}"
answer = { status = 201, body = { made = "{object.id}" } }
updated = { status = 200, body = { changed = "{object.id}", now = "{object}" } }
[[operations]]
name = "plain"
method = "PUT"
path = "/plain/{id}"
does = "upsert"
effect = true
[protections.p]
title = "conditions"
[[protections.p.condition]]
place = "header.if-none-match"
holds = "*"
failed = { status = 412 }
concurrent = { status = 409 }
[[protections.p.condition]]
place = "header.if-match"
needs = "unchanged"
failed = { status = 412 }
"""


@pytest.fixture
def objects(shop, profile_file):
    return shop(profile_file(SHOP))


ONLY_NEW = {"If-None-Match": "*"}


def test_a_conditional_write_makes_one_object_however_often_it_is_sent(objects):
    decisions = [objects.ask("PUT", "/objects/a/b.txt", {"n": n}, headers=ONLY_NEW).decision for n in range(3)]
    assert decisions == [Decision.APPLIED, Decision.EXISTING, Decision.EXISTING]
    assert json.loads(objects.ask("GET", "/objects/a/b.txt").answer.body)["n"] == 0
    assert objects.ask("PUT", "/objects/a/c.txt", {}, headers=ONLY_NEW).decision is Decision.APPLIED
    assert objects.ask("PUT", "/objects/a/b.txt", {"n": 9}).decision is Decision.APPLIED


def test_a_conditional_write_conflicts_with_one_that_is_worked_on_and_with_no_other(objects):
    first = objects.begin("PUT", "/objects/a", {}, headers=ONLY_NEW)
    assert objects.ask("PUT", "/objects/a", {}, headers=ONLY_NEW).decision is Decision.CONFLICT
    assert objects.ask("PUT", "/objects/b", {}, headers=ONLY_NEW).decision is Decision.APPLIED
    assert objects.ask("PUT", "/objects/a", {"plain": 1}).decision is Decision.APPLIED
    objects.engine.complete(first)
    assert objects.ask("PUT", "/objects/a", {}, headers=ONLY_NEW).decision is Decision.EXISTING


def test_a_write_that_is_told_to_be_done_twice_does_not_end_another(objects):
    first = objects.begin("PUT", "/objects/a", {}, headers=ONLY_NEW)
    objects.engine.complete(first)
    objects.engine.state.remove("objects", "a")
    second = objects.begin("PUT", "/objects/a", {}, headers=ONLY_NEW)
    objects.engine.complete(first)
    assert objects.ask("PUT", "/objects/a", {}, headers=ONLY_NEW).decision is Decision.CONFLICT
    objects.engine.complete(second)
    assert objects.ask("PUT", "/objects/a", {}, headers=ONLY_NEW).decision is Decision.EXISTING


def test_a_write_of_what_was_seen_fails_once_somebody_wrote_in_between(objects):
    objects.ask("PUT", "/objects/a", {"etag": "v1"})
    assert objects.ask("PUT", "/objects/a", {"etag": "v2"}, headers={"If-Match": '"v1"'}).decision is Decision.APPLIED
    late = objects.ask("PUT", "/objects/a", {"etag": "v3"}, headers={"If-Match": '"v1"'})
    assert (late.decision, late.answer.status) == (Decision.REJECTED, 412)


def test_an_upsert_makes_then_changes_and_does_nothing_where_nothing_would_change(objects):
    made = objects.ask("PATCH", "/records/ext/7", {"a": 1, "b": 1})
    changed = objects.ask("PATCH", "/records/ext/7", {"a": 2})
    same = objects.ask("PATCH", "/records/ext/7", {"a": 2})
    part = objects.ask("PATCH", "/records/ext/7", {"b": 1})
    other = objects.ask("PATCH", "/records/ext/8", {"a": 2})
    assert [(handled.decision, handled.answer.status) for handled in (made, changed, same, part, other)] == [
        (Decision.APPLIED, 201),
        (Decision.APPLIED, 200),
        (Decision.EXISTING, 200),
        (Decision.EXISTING, 200),
        (Decision.APPLIED, 201),
    ]
    assert json.loads(same.answer.body) == {"changed": "ext=7", "now": {"id": "ext=7", "a": 2, "b": 1}}
    assert made.effect_object_id == changed.effect_object_id == "ext=7"


def test_an_upsert_without_answers_of_its_own_gives_the_object(objects):
    answers = [objects.ask("PUT", "/plain/7", {"a": 1}).answer for _ in range(2)]
    assert [(answer.status, json.loads(answer.body)) for answer in answers] == [
        (201, {"id": "7", "a": 1}), (200, {"id": "7", "a": 1}),
    ]  # fmt: skip
