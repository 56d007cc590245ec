"""What goes into a history is decoded, redacted and cut."""

from __future__ import annotations

import gzip
import json
from base64 import b64decode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ackgap.model.event import AttemptReceived, EffectApplied
from ackgap.target.wire.headers import telling_headers
from ackgap.target.wire.payload import (
    BODY_LIMIT,
    REDACTED,
    STRING_LIMIT,
    decode_body,
    decode_query,
    digest,
    fingerprint,
    inflate,
    safe,
    shortened,
)


def mark(secret):
    return f"{REDACTED} {fingerprint(secret)[:12]}"


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    "name",
    ["Authorization", "api_key", "API-KEY", "apikey", "access_token", "clientSecret", "password", "db_credentials"],
)
def test_secrets_are_redacted_at_any_depth(name):
    assert safe({"a": [{"b": {name: {"deep": "hush"}}}]}) == {"a": [{"b": {name: mark({"deep": "hush"})}}]}


def test_counts_of_tokens_are_no_secrets():
    usage = {"max_tokens": 100, "usage": {"prompt_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 1}}}
    assert safe(usage) == usage
    assert safe({"max_tokens": "tok_live"}) == {"max_tokens": mark("tok_live")}


def test_secrets_that_differ_stay_different_and_none_can_be_read():
    one, again, other = (safe({"token": value})["token"] for value in ("tok-1", "tok-1", "tok-2"))
    assert one == again != other
    assert one.startswith(f"{REDACTED} ")
    assert len(one) == len(REDACTED) + 13
    assert "tok" not in one


def test_names_and_paths_that_differ_only_after_the_cut_stay_different():
    long = "x" * STRING_LIMIT
    assert len(safe({f"{long}a": 1, f"{long}b": 2})) == 2
    assert shortened(f"{long}a") != shortened(f"{long}b")
    assert shortened(long) == long


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"X-Tenant": "a", "Stripe-Account": "acct_1"}, {"x-tenant": "a", "stripe-account": "acct_1"}),
        ({"X-Author-Id": "7"}, {"x-author-id": "7"}),
        ({"X-Account-Id": "7", "Accept-Language": "de"}, {"x-account-id": "7"}),
        ({"Authorization": "Bearer hush", "Cookie": "hush", "X-Auth-Token": "hush"}, {}),
        ({"User-Agent": "u", "Traceparent": "00-1", "X-Request-Id": "r", "X-Retry-Count": "1"}, {}),
        ({"Idempotency-Key": "k", "X-My-Key": "k", "X-Forwarded-For": "::1"}, {}),
        ({"X-Account-Secret": "hush"}, {"x-account-secret": "[redacted] " + fingerprint("hush")[:12]}),
    ],
)
def test_headers_that_say_who_is_meant_are_kept_and_no_others(run, bench, sent, kept):
    async def work():
        async with bench("any") as b, b.connect() as wire:
            await wire.ask("POST", "/x", {"a": 1}, sent)
            return b.recorder.of(AttemptReceived)

    (received,) = run(work())
    assert received.headers == kept


def test_no_number_of_headers_makes_a_history_large():
    kept = telling_headers({f"x-h{place}": "v" * 60_000 for place in range(500)}, key=None)
    assert len(kept) == 24
    assert len(repr(kept)) < 24 * 2048


def test_a_long_text_is_replaced_by_its_head_size_and_digest():
    long = "é" * STRING_LIMIT
    cut = safe({"text": long, "short": "x" * STRING_LIMIT})
    assert cut["short"] == "x" * STRING_LIMIT
    assert cut["text"]["truncated"] == 2 * STRING_LIMIT
    assert cut["text"]["sha256"] == digest(long.encode())
    assert long.startswith(cut["text"]["head"])


def test_a_large_body_is_replaced_by_its_head_size_and_digest():
    body = {"items": ["x" * 100] * (BODY_LIMIT // 50)}
    cut = safe(body)
    assert cut["truncated"] == len(json.dumps(body))
    assert set(cut) == {"head", "truncated", "sha256"}


def test_texts_that_differ_only_after_the_cut_stay_different():
    assert safe("x" * STRING_LIMIT + "a") != safe("x" * STRING_LIMIT + "b")


@settings(max_examples=40, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_a_worker_sends_can_be_written_down_as_utf8(value):
    json.dumps(safe(value), ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("body", "content_type", "value"),
    [
        (b"", "application/json", None),
        (b'{"a":1}', "application/json; charset=utf-8", {"a": 1}),
        (b'{"a":1}', "application/problem+json", {"a": 1}),
        (b'{"a":1}', FORM, {"a": 1}),
        (b"[1,2]", "", [1, 2]),
        (b"a=1&b=&a=2", FORM, {"a": ["1", "2"], "b": ""}),
        (b"metadata[order]=7&items[]=x&items[]=y", FORM, {"metadata": {"order": "7"}, "items": ["x", "y"]}),
        (b"items[1][price]=p2&items[0][price]=p1", FORM, {"items": [{"price": "p1"}, {"price": "p2"}]}),
        (b"items[1]=b&items[7]=h", FORM, {"items": {"1": "b", "7": "h"}}),
        (b"a[0][0]=x&b[]=y", FORM, {"a": [["x"]], "b": ["y"]}),
        (b"plain", "text/plain", "plain"),
        (b"{not json", "text/plain", "{not json"),
    ],
)
def test_a_body_is_read_by_its_content_type(body, content_type, value):
    decoded = decode_body(body, content_type)
    assert (decoded.value, decoded.problem) == (value, "")


def test_bytes_are_described_rather_than_kept():
    described = decode_body(b"\xff\xfe\x00", "application/octet-stream").value
    assert described["bytes"] == 3
    assert b64decode(described["base64-sha256"]).hex() == digest(b"\xff\xfe\x00")


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 5000, b"[" * 150 + b"]" * 150, b"1" * 5000])
def test_a_body_that_is_not_its_type_says_so_and_breaks_nothing(body):
    decoded = decode_body(body, "application/json")
    assert decoded.problem
    safe(decoded.value)


@given(st.binary(max_size=200), st.sampled_from(["application/json", FORM, "", "text/plain"]))
def test_no_body_breaks_the_decoder(body, content_type):
    safe(decode_body(body, content_type).value)


def test_a_parameter_given_twice_is_a_list():
    assert decode_query("a=1&b=2&a=3&a=4") == {"a": ["1", "3", "4"], "b": "2"}


def test_a_fingerprint_does_not_depend_on_the_order_of_keys():
    assert fingerprint({"a": 1, "b": [1, 2]}) == fingerprint({"b": [1, 2], "a": 1})
    assert fingerprint({"a": [1, 2]}) != fingerprint({"a": [2, 1]})


def test_a_packed_body_that_ends_too_early_is_refused():
    with pytest.raises(ValueError, match="ends too early"):
        inflate(gzip.compress(b"hello")[:-4], "gzip", 100)


def test_secrets_of_a_request_are_in_no_event(run, bench):
    async def work():
        async with bench("any") as b, b.connect() as wire:
            body = {"partner": "1", "password": "hush-1", "nested": {"api_key": "hush-2"}}
            await wire.ask("POST", "/x?access_token=hush-3", body, {"Authorization": "Bearer hush-4"})
            return b.recorder.events

    events = run(work())
    assert "hush" not in repr(events)
    (received,) = [event for event in events if isinstance(event, AttemptReceived)]
    assert received.payload_digest == digest(
        json.dumps({"partner": "1", "password": "hush-1", "nested": {"api_key": "hush-2"}}).encode()
    )


def test_an_identity_that_is_a_secret_tells_actions_apart_without_showing_it(shop, profile_file):
    file = profile_file(
        """
name = "own"
title = "t"
about = "a"
default_protection = "none"
[[sources]]
claim = "made up"
date = "2026-11-29"
grade = "invented"
[[operations]]
name = "revoke"
method = "POST"
path = "/revoke"
does = "create"
effect = true
identity = ["body.token"]
[protections.none]
title = "none"
"""
    )
    service = shop(file)
    one, again, other = (service.ask("POST", "/revoke", {"token": t}).identity["body.token"] for t in ("a", "a", "b"))
    assert one == again != other
    assert one.startswith(REDACTED)


def test_content_of_an_effect_is_cut_as_well(run, bench):
    async def work():
        async with bench("any") as b, b.connect() as wire:
            await wire.ask("POST", "/x", {"text": "x" * 10_000})
            return b.recorder.of(EffectApplied)

    (effect,) = run(work())
    assert effect.content["text"]["truncated"] == 10_000
