"""Small things that services do with ids, filters and ends, on a service that exists only here."""

from __future__ import annotations

import json

import pytest

from ackgap.model.event import Decision
from ackgap.target.wire.payload import decode_body

FORM = "application/x-www-form-urlencoded"
PROFILE = """
name = "own"
title = "t"
about = "a"
default_protection = "token"
[[sources]]
claim = "made up"
date = "2026-11-29"
grade = "invented"
[[operations]]
name = "start"
method = "POST"
path = "/"
match = { "body.Action" = "Start" }
does = "create"
effect = true
collection = "machines"
object_prefix = "m-"
[[operations]]
name = "end"
method = "POST"
path = "/"
match = { "body.Action" = "End" }
does = "patch"
effect = true
ends = true
collection = "machines"
object_id = "{payload.Id.1}"
object = { state = "ended" }
[[operations]]
name = "all"
method = "POST"
path = "/"
match = { "body.Action" = "List", "body.Filter.1" = "" }
does = "list"
collection = "machines"
[[operations]]
name = "get"
method = "GET"
path = "/machines/{id}"
does = "get"
collection = "machines"
lag_s = 5
consistent_when = { "query.consistent" = "true" }
[[operations]]
name = "list"
method = "GET"
path = "/machines"
does = "list"
collection = "machines"
filters = { begins = "Name*" }
[protections.token]
title = "by token"
[protections.token.key]
place = "body.Token"
operations = ["start"]
window_s = 100
window_starts = "object_end"
ignores = ["body.Placement.Zone"]
mismatch = { status = 400 }
"""


@pytest.fixture
def machines(shop, profile_file):
    return shop(profile_file(PROFILE))


def names(handled):
    return [item["Name"] for item in json.loads(handled.answer.body)["items"]]


def test_a_read_of_one_object_may_lag_too_and_be_asked_to_be_consistent(machines):
    machines.ask("POST", "/", {"Action": "Start"})
    assert machines.ask("GET", "/machines/m-0001").answer.status == 404
    assert machines.ask("GET", "/machines/m-0001?consistent=true").answer.status == 200
    machines.clock.move(5)
    assert machines.ask("GET", "/machines/m-0001").answer.status == 200


def test_a_filter_may_ask_for_the_beginning_of_a_value(machines):
    for name in ("run=1/a", "run=1/b", "run=10", "x/run=1/"):
        machines.ask("POST", "/", {"Action": "Start", "Name": name})
    assert names(machines.ask("GET", "/machines?begins=run=1/")) == ["run=1/a", "run=1/b"]


def test_an_operation_may_be_the_one_without_a_parameter(machines):
    assert machines.ask("POST", "/", {"Action": "List"}).decision is Decision.READ
    sent = b"Action=List&Filter.1=x"
    with pytest.raises(AssertionError):  # no operation means that
        machines.ask("POST", "/", sent, content_type=FORM)


def test_what_has_ended_does_not_end_again_and_its_key_is_remembered_from_the_first_end_on(machines):
    start = {"Action": "Start", "Token": "t"}
    machines.ask("POST", "/", start)
    ends = [machines.ask("POST", "/", b"Action=End&Id.1=m-0001", content_type=FORM) for _ in range(2)]
    assert [end.decision for end in ends] == [Decision.APPLIED, Decision.EXISTING]
    assert [json.loads(end.answer.body)["state"] for end in ends] == ["ended", "ended"]
    machines.clock.move(99)
    assert machines.ask("POST", "/", start).decision is Decision.REPLAYED
    machines.clock.move(1)
    assert machines.ask("POST", "/", start).decision is Decision.APPLIED


def test_a_name_with_dots_in_it_may_be_left_out_of_the_comparison(machines):
    def sent(zone, kind="small"):
        body = f"Action=Start&Token=t&Placement.Zone={zone}&Kind={kind}".encode()
        return machines.ask("POST", "/", body, content_type=FORM)

    assert sent("a").decision is Decision.APPLIED
    assert sent("b").decision is Decision.REPLAYED
    assert sent("a", "large").answer.status == 400


@pytest.mark.parametrize(
    ("kind", "is_json"),
    [
        ("application/json", True),
        ("text/json; charset=utf-8", True),
        ("application/problem+json", True),
        ("application/x-amz-json-1.0", True),
        ("application/json-seq", False),
        ("application/x-ndjson", False),
    ],
)
def test_bodies_are_read_as_json_by_every_type_that_says_so(kind, is_json):
    assert (decode_body(b"{", kind).problem != "") is is_json
    assert (decode_body(b"[1]", kind).value == [1]) is is_json
