"""Answers that list, escape and name things as services do, and ids that a request chooses."""

from __future__ import annotations

import pytest

from ackgap.model.event import Decision
from ackgap.target.wire.answer import AnswerSpec, answer_from, render
from ackgap.target.wire.request import MISSING, dig

PROFILE = """
name = "own"
title = "t"
about = "a"
default_protection = "absent"
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
object_prefix = "thing-"
object_id = "{payload.id}"
[[operations]]
name = "get"
method = "GET"
path = "/things/{id}"
does = "get"
[protections.absent]
title = "none of that id may exist"
[protections.absent.condition]
place = "header.if-none-match"
failed = { status = 412 }
"""
XML = {"Content-Type": "text/xml"}


def test_each_object_of_a_listing_is_shown_as_the_service_shows_it():
    spec = AnswerSpec(status=200, body={"found": "{items}"}, each={"name": "{object.title}"})
    answer = answer_from(spec, {"items": [{"title": "a"}, {"title": "b"}]})
    assert answer.body == b'{"found": [{"name": "a"}, {"name": "b"}]}'


def test_elements_of_an_xml_listing_are_joined_and_only_what_is_put_into_them_is_escaped():
    spec = AnswerSpec(status=200, headers=XML, body="<l>{items}</l>", each="<i>{object.t}</i>")
    assert answer_from(spec, {"items": [{"t": "a<b"}, {"t": "c"}]}).body == b"<l><i>a&lt;b</i><i>c</i></l>"
    assert answer_from(spec, {"items": []}).body == b"<l></l>"


def test_a_field_may_be_named_by_the_request():
    assert render({"{graphql.alias}": 1, "*": "{object}"}, {"graphql": {"alias": "made"}, "object": {"a": 2}}) == {
        "made": 1,
        "a": 2,
    }


@pytest.mark.parametrize("body", [b"\xff\x00\xfe", "Grüße".encode()])
def test_a_body_that_is_no_text_comes_back_byte_for_byte(body):
    raw = body.decode("utf-8", "surrogateescape")
    assert answer_from(AnswerSpec(status=200, body="{object.raw}"), {"object": {"raw": raw}}).body == body


def test_half_a_surrogate_pair_does_not_break_an_answer():
    assert answer_from(AnswerSpec(status=200, body="{object.raw}"), {"object": {"raw": "\ud800"}}).body == b"?"


def test_a_name_may_have_dots_in_it():
    assert dig({"InstanceId.1": "i-1"}, "InstanceId.1") == "i-1"
    assert dig({"a": {"b.c": 1}}, "a.b.c") == 1
    assert dig({"a": {"b": 2}, "a.b": 3}, "a.b") == 2
    assert dig({"a": 1}, "a.b") is MISSING


def test_a_request_may_choose_the_id_of_what_it_makes_and_need_not(shop, profile_file):
    things = shop(profile_file(PROFILE))
    chosen = things.ask("POST", "/things", {"id": "mine"})
    given = things.ask("POST", "/things", {})
    assert [chosen.effect_object_id, given.effect_object_id] == ["mine", "thing-0002"]
    assert things.ask("GET", "/things/mine").answer.status == 200


def test_a_condition_on_a_creation_is_about_the_id_that_was_chosen(shop, profile_file):
    things = shop(profile_file(PROFILE))
    condition = {"headers": {"If-None-Match": "*"}}
    sent = [things.ask("POST", "/things", {"id": name}, **condition).decision for name in ("mine", "mine", "other")]
    assert sent == [Decision.APPLIED, Decision.EXISTING, Decision.APPLIED]
