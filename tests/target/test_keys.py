"""Idempotency keys, one axis at a time: where a key is, whose it is, how long it lasts, what is kept and compared."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackgap.model.event import Decision
from ackgap.target.profiles.operation import Operation
from ackgap.target.profiles.rules import KeyRule, Protection
from ackgap.target.protection.keys import (
    KeyRecord,
    Then,
    begin_key,
    complete_key,
    digest_beside_keys,
    fingerprint_of,
    is_forgotten,
    judge_key,
    keeps,
    key_of,
    key_problem,
    replayed,
    scope_of,
    sent_key,
)
from ackgap.target.wire.answer import Answer, AnswerSpec
from ackgap.target.wire.request import Request

HEADER = "header.idempotency-key"
REFUSAL = AnswerSpec(status=422, body={"error": "other request", "key": "{key}"})
FIRST = Answer(status=201, headers=(("Content-Type", "application/json"),), parts=(b'{"id": 1}',), object_id="o-1")


def rule(*places: str, **axes) -> KeyRule:
    return KeyRule(places=places or (HEADER,), **axes)


def request(body=None, *, method="POST", path="/things", **more) -> Request:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    payload = json.loads(raw) if isinstance(body, bytes) else body
    return Request(method=method, path=path, body=raw, payload=payload, **more)


def done(of: KeyRule, first: Request, *, at_s=10.0, answer=FIRST, made=("things", "o-1")) -> KeyRecord:
    record = complete_key(of, begin_key(of, first, 0.0), answer, at_s, made)
    assert record is not None
    return record


# ------------------------------------------------------------------------------------------------ where the key is


@pytest.mark.parametrize(
    ("place", "sent"),
    [
        ("header.idempotency-key", {"headers": {"idempotency-key": "k"}}),
        ("header.Idempotency-Key", {"headers": {"idempotency-key": "k"}}),
        ("body.token.id", {"body": {"token": {"id": "k"}}}),
        ("body.lines.1.id", {"body": {"lines": [{}, {"id": "k"}]}}),
        ("query.requestId", {"query": {"requestId": "k"}}),
        ("path.id", {"path_values": {"id": "k"}}),
        ("graphql.directives.idempotent.key", {"graphql": {"directives": {"idempotent": {"key": "k"}}}}),
    ],
)
def test_a_key_is_found_at_its_place_and_nowhere_else(place, sent):
    assert key_of(rule(place), request(**sent)) == "k"
    assert key_of(rule(place), request()) is None


def test_the_first_place_that_has_a_key_wins():
    both = request({"token": "b"}, headers={"idempotency-key": "h"})
    assert key_of(rule("body.token", HEADER), both) == "b"
    assert key_of(rule(HEADER, "body.token"), both) == "h"
    assert key_of(rule(HEADER, "body.token"), request({"token": "b"}, headers={"idempotency-key": ""})) == "b"


@pytest.mark.parametrize(
    ("value", "key"), [("k", "k"), (7, "7"), (0, "0"), ("", None), (True, None), (None, None), ({"a": 1}, None)]
)
def test_text_and_whole_numbers_are_keys_and_nothing_else_is(value, key):
    assert key_of(rule("body.token"), request({"token": value})) == key


def test_a_key_can_be_made_from_what_is_sent_where_none_is_sent():
    made = rule("body.dedup", digest_of="body.message")
    same = key_of(made, request({"message": {"a": 1, "b": 2}}))
    assert same == key_of(made, request({"message": {"b": 2, "a": 1}, "other": 1}))
    assert same != key_of(made, request({"message": {"a": 1, "b": 3}}))
    assert key_of(made, request({"message": "x", "dedup": "own"})) == "own"
    assert key_of(made, request({"text": "x"})) is None


def test_a_key_is_reported_wherever_any_protection_of_the_profile_or_custom_has_it():
    none, keyed = (
        Protection(name="none", title="n"),
        Protection(name="keyed", title="k", keys=(rule("body.token"),)),
    )
    protections = {"none": none, "keyed": keyed}
    assert sent_key(request({"token": "t"}), protections, none) == "t"
    assert sent_key(request({}, headers={"paypal-request-id": "p"}), protections, none) == "p"
    both = request({"token": "t"}, headers={"idempotency-key": "h"})
    assert sent_key(both, protections, none) == "t"
    assert sent_key(request({}), protections, keyed) is None


def test_a_key_that_the_protection_makes_of_the_request_is_reported_unless_one_was_sent():
    made = Protection(name="made", title="m", keys=(rule("body.dedup", digest_of="body.message"),))
    none = Protection(name="none", title="n")
    protections = {"made": made, "none": none}
    first, same = (sent_key(request({"message": "x", "at": at}), protections, made) for at in (1, 2))
    assert first
    assert first == same != sent_key(request({"message": "y"}), protections, made)
    assert sent_key(request({"message": "x", "dedup": "own"}), protections, made) == "own"
    assert sent_key(request({"message": "x"}), protections, none) is None


def test_bodies_that_differ_in_their_keys_alone_say_the_same():
    protections = {"keyed": Protection(name="keyed", title="k", keys=(rule("body.token"),))}

    def said(body) -> str:
        return digest_beside_keys(request(body), protections)

    assert said({"token": "a", "to": 1}) == said({"token": "b", "to": 1}) != said({"token": "a", "to": 2})
    assert said({"idempotency_key": "a", "to": 1}) == said({"idempotency_key": "b", "to": 1})


# ------------------------------------------------------------------------------------ length, form, missing, ignored


def test_a_key_is_refused_when_it_is_longer_than_allowed_and_the_service_says_so():
    short = rule(max_length=3, too_long=AnswerSpec(status=400))
    assert key_problem(short, "abc") is None
    problem = key_problem(short, "abcd")
    assert problem is not None
    assert (problem[0], problem[1].status) == ("the key is longer than 3", 400)
    assert key_problem(rule(max_length=3), "abcd") is None


def test_a_key_must_match_its_form_in_full():
    form = rule(form=r"[a-z]{2}", bad_form=AnswerSpec(status=400))
    assert key_problem(form, "ab") is None
    assert [key_problem(form, key) is not None for key in ("abc", "a", "ab\n", "AB")] == [True] * 4
    assert key_problem(rule(form=r"[a-z]{2}"), "?") is None


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
name = "update"
method = "PATCH"
path = "/things/{{id}}"
does = "patch"
effect = true
[[operations]]
name = "end"
method = "POST"
path = "/things/{{id}}/end"
collection = "things"
does = "patch"
effect = true
ends = true
[[operations]]
name = "delete"
method = "DELETE"
path = "/things/{{id}}"
does = "delete"
effect = true
[[operations]]
name = "get"
method = "GET"
path = "/things/{{id}}"
does = "get"
[protections.p]
title = "rule under test"
[protections.p.key]
place = "header.idempotency-key"
{axes}
"""


@pytest.fixture
def keyed(shop, profile_file):
    return lambda axes="": shop(profile_file(SHOP.format(axes=axes)))


def said(handled):
    return handled.decision, handled.answer.status, json.loads(handled.answer.body or b"null")


def test_a_missing_key_is_refused_where_the_service_wants_one(keyed):
    things = keyed('missing = { status = 400, body = { error = "send a key" } }')
    assert said(things.ask("POST", "/things", {})) == (Decision.REJECTED, 400, {"error": "send a key"})
    assert things.ask("POST", "/things", {}, key="k").decision is Decision.APPLIED


def test_a_refused_key_leaves_nothing_behind_and_the_refusal_may_name_it(keyed):
    things = keyed('max_length = 2\ntoo_long = { status = 400, body = { bad = "{key}" } }')
    for _ in range(2):
        assert said(things.ask("POST", "/things", {}, key="abc")) == (Decision.REJECTED, 400, {"bad": "abc"})
    assert things.engine.state.keys == {}


def test_a_key_that_is_ignored_protects_from_nothing(keyed):
    things = keyed("ignored = true")
    assert [things.ask("POST", "/things", {}, key="k").decision for _ in range(2)] == [Decision.APPLIED] * 2


def test_a_rule_may_be_about_some_operations_only(keyed):
    things = keyed('operations = ["create"]')
    made = things.ask("POST", "/things", {"a": 1}, key="k")
    path = f"/things/{made.effect_object_id}"
    assert [things.ask("PATCH", path, {"a": 2}, key="k").decision for _ in range(2)] == [Decision.APPLIED] * 2
    read = Operation(name="read", methods=("GET",), path="/", does="get", effect=False, noun=("", ""))
    assert not rule().looks_at(read)


# --------------------------------------------------------------------------------------------- whose the key is


def test_one_key_space_for_the_account_one_an_endpoint_or_one_for_each_value():
    queue_a, queue_b = request({"queue": "a"}), request({"queue": "b"})
    assert scope_of(rule(), queue_a) == scope_of(rule(), request(path="/elsewhere"))
    endpoint = rule(scope="endpoint")
    assert scope_of(endpoint, queue_a) == scope_of(endpoint, queue_b)
    assert scope_of(endpoint, queue_a) != scope_of(endpoint, request(path="/elsewhere"))
    assert scope_of(endpoint, queue_a) != scope_of(endpoint, request(method="PUT"))
    values = rule(scope=("body.queue", "header.x-region"))
    assert scope_of(values, queue_a) == scope_of(values, request({"queue": "a", "text": 1}, path="/elsewhere"))
    assert scope_of(values, queue_a) != scope_of(values, queue_b)
    assert scope_of(values, queue_a) != scope_of(values, request({"queue": "a"}, headers={"x-region": "eu"}))


def test_values_that_tell_key_spaces_apart_cannot_run_into_each_other():
    values = rule(scope=("body.a", "body.b"))
    assert scope_of(values, request({"a": "x", "b": ""})) != scope_of(values, request({"a": "", "b": "x"}))
    assert scope_of(values, request({"a": 1})) != scope_of(values, request({"a": "1"}))


# --------------------------------------------------------------------------------------------- how long it lasts


@pytest.mark.parametrize(
    ("starts", "start_s"), [("first_request", 100.0), ("completion", 130.0), ("object_end", 500.0)]
)
def test_a_window_is_counted_from_its_start_and_closes_on_the_second(starts, start_s):
    of = rule(window_s=60, window_starts=starts)
    record = replace(done(of, request(), at_s=130.0), first_s=100.0)
    assert not is_forgotten(of, record, start_s + 59.999, object_ended_s=500.0)
    assert is_forgotten(of, record, start_s + 60, object_ended_s=500.0)


def test_a_key_is_not_forgotten_without_a_window_nor_while_it_is_worked_on_nor_while_its_object_lives():
    assert not is_forgotten(rule(), done(rule(), request()), 1e12)
    short = rule(window_s=0)
    assert not is_forgotten(short, begin_key(short, request(), 0.0), 1e12)
    lives = rule(window_s=0, window_starts="object_end")
    assert not is_forgotten(lives, done(lives, request()), 1e12)


@pytest.mark.parametrize("end", [("POST", "/end"), ("DELETE", "")])
def test_a_key_that_lasts_as_long_as_its_object_is_free_some_time_after_the_end(keyed, end):
    things = keyed('operations = ["create"]\nwindow_s = 60\nwindow_starts = "object_end"')
    made = things.ask("POST", "/things", {}, key="k")
    things.clock.move(10_000)
    assert things.ask("POST", "/things", {}, key="k").decision is Decision.REPLAYED
    things.ask(end[0], f"/things/{made.effect_object_id}{end[1]}")
    things.clock.move(59)
    assert things.ask("POST", "/things", {}, key="k").decision is Decision.REPLAYED
    things.clock.move(1)
    assert things.ask("POST", "/things", {}, key="k").decision is Decision.APPLIED


# ------------------------------------------------------------------------------------------------- what is kept


@pytest.mark.parametrize(
    ("stores", "never", "kept"),
    [
        ("all", (), {200, 404, 429, 500, 503}),
        ("executed", (), {200, 404, 429, 500, 503}),
        ("successes", (), {200}),
        ("all", ("429", "5xx"), {200, 404}),
        ("all", ("503",), {200, 404, 429, 500}),
        ("successes", ("2xx",), set()),
    ],
)
def test_answers_are_kept_by_their_status(stores, never, kept):
    of = rule(stores=stores, never_stores=never)
    assert {status for status in (200, 404, 429, 500, 503) if keeps(of, Answer(status=status))} == kept


def test_an_answer_that_is_not_kept_gives_the_key_free():
    of = rule(stores="successes")
    assert complete_key(of, begin_key(of, request(), 0.0), Answer(status=402), 1.0) is None
    kept = complete_key(of, begin_key(of, request(), 0.0), FIRST, 1.0, ("things", "o-1"))
    assert kept is not None
    assert (kept.first_s, kept.completed_s, kept.answer, kept.object) == (0.0, 1.0, FIRST, ("things", "o-1"))


# --------------------------------------------------------------------------------------------- what is compared


def same(of: KeyRule, one: Request, two: Request) -> bool:
    return fingerprint_of(of, one) == fingerprint_of(of, two)


@pytest.mark.parametrize(
    ("compares", "equal"),
    [
        ("nothing", {"order", "payload", "query", "path", "method", "header"}),
        ("parameters", {"order", "header"}),
        ("bytes", {"query", "header"}),
        (("body.a", "header.x"), {"order", "query", "path", "method"}),
        (("body.b",), {"order", "payload", "query", "path", "method", "header"}),
    ],
)
def test_what_makes_two_requests_the_same(compares, equal):
    of = rule(compares=compares)
    first = request(b'{"a": 1, "b": 2}')
    others = {
        "order": request(b'{"b": 2, "a": 1}'),
        "payload": request(b'{"a": 9, "b": 2}'),
        "query": replace(first, query={"q": "1"}),
        "path": replace(first, path="/others"),
        "method": replace(first, method="PUT"),
        "header": replace(first, headers={"x": "1"}),
    }
    assert same(of, first, request(b'{"a": 1, "b": 2}'))
    assert {name for name, other in others.items() if same(of, first, other)} == equal


def test_a_value_that_is_not_there_is_not_the_empty_text():
    of = rule(compares=("body.a",))
    assert not same(of, request({}), request({"a": ""}))


def test_some_fields_may_differ_although_parameters_are_compared():
    of = rule(ignores=("body.at", "body.meta.trace"))
    first = request({"a": 1, "at": 1, "meta": {"trace": "x", "kept": 1}})
    assert same(of, first, request({"a": 1, "meta": {"trace": "y", "kept": 1}}))
    assert not same(of, first, request({"a": 1, "at": 1, "meta": {"trace": "x", "kept": 2}}))
    assert not same(of, first, request({"a": 2, "at": 1, "meta": {"trace": "x", "kept": 1}}))
    assert not same(of, request({"a": 1}), request([{"a": 1}]))


def test_a_field_of_each_line_may_differ():
    of = rule(ignores=("body.lines.0.trace",))
    assert same(of, request({"lines": [{"a": 1, "trace": 1}]}), request({"lines": [{"a": 1, "trace": 2}]}))
    assert not same(of, request({"lines": [{"a": 1, "trace": 1}]}), request({"lines": [{"a": 2, "trace": 1}]}))
    assert not same(of, request({"lines": [{"trace": 1}]}), request({"lines": []}))


_PAYLOADS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(one=_PAYLOADS, two=_PAYLOADS)
def test_parameters_are_the_same_exactly_where_the_decoded_payloads_are(one, two):
    equal = json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)
    assert same(rule(), request(one), request(two)) == equal


# ------------------------------------------------------------------------------------------------ what is decided


def test_a_key_that_nobody_remembers_is_a_first_request():
    assert judge_key(rule(), None, request(), {}) is None


@pytest.mark.parametrize(
    ("mismatch", "decision", "then", "status"),
    [
        (REFUSAL, Decision.REJECTED, Then.ANSWER, 422),
        ("original", Decision.REPLAYED, Then.ANSWER, 201),
        ("dropped", Decision.REPLAYED, Then.DROP, 201),
        ("overwrite", Decision.EXISTING, Then.OVERWRITE, 201),
    ],
)
def test_another_payload_is_refused_or_silently_answered_dropped_or_written_over(mismatch, decision, then, status):
    of = rule(mismatch=mismatch)
    ruling = judge_key(of, done(of, request({"a": 1})), request({"a": 2}), {"key": "k"})
    assert ruling is not None
    assert (ruling.decision, ruling.then, ruling.answer.status) == (decision, then, status)
    if mismatch is REFUSAL:
        assert json.loads(ruling.answer.body) == {"error": "other request", "key": "k"}


@pytest.mark.parametrize("mismatch", [REFUSAL, "original", "dropped", "overwrite"])
def test_the_same_payload_is_answered_again_whatever_is_done_about_others(mismatch):
    of = rule(mismatch=mismatch)
    ruling = judge_key(of, done(of, request({"a": 1})), request({"a": 1}), {})
    assert ruling == replayed(of, done(of, request({"a": 1})), {})
    assert (ruling.decision, ruling.then, ruling.answer) == (Decision.REPLAYED, Then.ANSWER, FIRST)


@pytest.mark.parametrize(
    ("concurrent", "then"), [(AnswerSpec(status=409), Then.ANSWER), ("wait", Then.WAIT), (None, None)]
)
def test_while_the_first_request_is_worked_on_a_second_is_refused_waits_or_is_not_noticed(concurrent, then):
    of = rule(concurrent=concurrent)
    ruling = judge_key(of, begin_key(of, request(), 0.0), request(), {})
    assert (ruling and (ruling.decision, ruling.then)) == (then and (Decision.CONFLICT, then))


def test_another_payload_is_refused_even_while_the_first_request_is_worked_on():
    of = rule(concurrent="wait", mismatch=REFUSAL)
    ruling = judge_key(of, begin_key(of, request({"a": 1}), 0.0), request({"a": 2}), {})
    assert ruling is not None
    assert ruling.decision is Decision.REJECTED


def test_a_replay_is_about_the_object_as_it_is_now_only_where_there_is_one():
    of = rule(replays="current")
    assert replayed(of, done(of, request()), {}).then is Then.CURRENT
    assert replayed(of, done(of, request(), made=None), {}).then is Then.ANSWER


def test_the_header_of_a_replay_takes_the_place_of_the_same_one_of_the_first_answer():
    of = rule(replay_headers={"X-Status": "again {key}"})
    first = replace(FIRST, headers=(*FIRST.headers, ("x-status", "new")))
    ruling = replayed(of, done(of, request(), answer=first), {"key": "k"})
    assert ruling.answer.headers == (("Content-Type", "application/json"), ("X-Status", "again k"))


def test_every_first_answer_with_a_key_is_marked_and_a_replay_keeps_what_only_the_first_had(keyed):
    things = keyed('first_headers = { "X-First" = "{key}", "X-Is" = "new" }\nreplay_headers = { "X-Is" = "old" }')
    bare = things.ask("POST", "/things", {})
    first = things.ask("POST", "/things", {}, key="k")
    again = things.ask("POST", "/things", {}, key="k")
    missing = things.ask("PATCH", "/things/none", {}, key="other")
    marks = [
        {name: text for name, text in handled.answer.headers if name.startswith("X-")}
        for handled in (bare, first, again, missing)
    ]
    assert marks == [
        {},
        {"X-First": "k", "X-Is": "new"},
        {"X-First": "k", "X-Is": "old"},
        {"X-First": "other", "X-Is": "new"},
    ]
    assert [name for name, _ in again.answer.headers].count("X-Is") == 1


def test_a_replay_shows_what_the_object_has_become(keyed):
    things = keyed('operations = ["create"]\nreplays = "current"\nreplay_headers = { "X-Again" = "yes" }')
    made = things.ask("POST", "/things", {"a": 1}, key="k")
    path = f"/things/{made.effect_object_id}"
    things.ask("PATCH", path, {"b": 2})
    again = things.ask("POST", "/things", {"a": 1}, key="k")
    assert said(again) == (Decision.REPLAYED, 201, {"a": 1, "b": 2, "id": made.effect_object_id})
    assert ("X-Again", "yes") in again.answer.headers
    things.ask("DELETE", path)
    gone = things.ask("POST", "/things", {"a": 1}, key="k")
    assert (gone.decision, gone.answer.status, gone.effect_object_id) == (Decision.REPLAYED, 404, None)


def test_another_payload_that_is_dropped_looks_done_and_is_not(keyed):
    things = keyed('operations = ["create"]\nmismatch = "dropped"')
    made = things.ask("POST", "/things", {"a": 1}, key="k")
    other = things.ask("POST", "/things", {"a": 2}, key="k")
    assert said(other) == (Decision.REPLAYED, 201, {"a": 2, "id": made.effect_object_id})
    assert said(things.ask("GET", f"/things/{made.effect_object_id}"))[2]["a"] == 1


def test_another_payload_that_is_written_over_the_first_changes_it_and_is_no_second_effect(keyed):
    things = keyed('operations = ["create"]\nmismatch = "overwrite"')
    made = things.ask("POST", "/things", {"a": 1}, key="k")
    other = things.ask("POST", "/things", {"a": 2}, key="k")
    assert said(other) == (Decision.EXISTING, 201, {"a": 2, "id": made.effect_object_id})
    assert other.effect_object_id is None
    assert said(things.ask("GET", f"/things/{made.effect_object_id}"))[2]["a"] == 2


def test_a_second_first_request_that_nobody_noticed_is_the_one_that_is_remembered(keyed):
    things = keyed("")
    one = things.begin("POST", "/things", {"a": 1}, key="k")
    two = things.begin("POST", "/things", {"a": 1}, key="k")
    things.engine.complete(one)
    things.engine.complete(two)
    third = things.ask("POST", "/things", {"a": 1}, key="k")
    assert [handled.decision for handled in (one, two, third)] == [
        Decision.APPLIED, Decision.APPLIED, Decision.REPLAYED,
    ]  # fmt: skip
    assert third.answer.object_id == two.effect_object_id


def test_a_wait_names_the_key_that_it_waits_for(keyed):
    things = keyed('concurrent = "wait"')
    first = things.begin("POST", "/things", {"a": 1}, key="k")
    second = things.begin("POST", "/things", {"a": 1}, key="k")
    assert second.waits_for == ("", "k")
    assert things.engine.is_working_on(("", "k"))
    things.engine.complete(first)
    assert not things.engine.is_working_on(("", "k"))
    assert things.ask("POST", "/things", {"a": 1}, key="k").decision is Decision.REPLAYED


def test_a_protection_uses_the_first_of_its_rules_that_looks_at_an_operation():
    create = Operation(name="create", methods=("POST",), path="/", does="create", effect=True, noun=("", ""))
    one, two = rule("body.a", operations=("other",)), rule("body.b")
    found = Protection(name="p", title="p", keys=(one, two))
    assert found.key_rule_for(create) is two
    assert found.guards(create)
    assert not Protection(name="p", title="p", keys=(rule(ignored=True),)).guards(create)
