"""Whatever bytes come: an answer in the service's own shape, a line in the ledger, and nobody is disturbed."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ackgap.model.event import (
    AttemptAnswered,
    AttemptDropped,
    AttemptReceived,
    Decision,
    DiscardedAtDeath,
    EffectApplied,
    Note,
)
from ackgap.model.event_codec import event_from_json, event_to_json

TICKET = {"partner_id": "4471", "kind": "review"}

ODD = """
name = "odd"
title = "A service that says back what it was told"
about = "For tests."
default_protection = "keyed"
[[sources]]
claim = "made up"
date = "2026-11-29"
grade = "invented"
[[operations]]
name = "make"
method = "POST"
path = "/things"
does = "create"
effect = true
identity = ["body.a", "header.x-trace"]
[operations.answer]
status = 201
body = { said = "{payload}", raw = "{raw}" }
headers = { "X-Back" = "{payload.a}", "X-Query" = "{query.q}" }
[[operations]]
name = "empty"
method = "PUT"
path = "/things/{id}"
does = "put"
effect = true
answer = { status = 204, body = { said = "nothing may stand here" } }
[[operations]]
name = "letter"
method = "POST"
path = "/letters"
does = "create"
effect = true
answer = { status = 200, body = "<said>{payload.a}</said>", headers = { "content-type" = "text/xml" } }
[protections.keyed]
title = "a key from anywhere"
[protections.keyed.key]
place = ["header.idempotency-key", "body.key", "query.key"]
first_headers = { "Idempotency-Key" = "{key}" }
"""
GRAPHQL = ODD.replace("about =", "graphql = true\nabout =") + 'digest_of = "graphql.args"\n'


def raw_request(method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: x", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n" + body


# --------------------------------------------------------------------------------------- the errors of one's own


@pytest.mark.parametrize(
    ("data", "status", "decision"),
    [
        (b"POST /v1/nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 404, Decision.UNKNOWN_PATH),
        (b"PUT /v1/charges HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 405, Decision.UNKNOWN_PATH),
        (b"PROPFIND /v1/charges HTTP/1.1\r\nHost: x\r\n\r\n", 405, Decision.UNKNOWN_PATH),
        (b"GET http://[::1/v1/charges HTTP/1.1\r\nHost: x\r\n\r\n", 404, Decision.UNKNOWN_PATH),
        (b"GET /%ff%00/../.. HTTP/1.1\r\nHost: x\r\n\r\n", 404, Decision.UNKNOWN_PATH),
        (b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 404, Decision.UNKNOWN_PATH),
        (b"POST /v1/charges\r\n\r\n", 400, Decision.MALFORMED),
        (b"POST /v1/charges HTTP/1.1\r\n\r\n", 400, Decision.MALFORMED),
        (b"POST /v1/charges HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, Decision.MALFORMED),
        (b"POST /v1/charges HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", 413, None),
        (b"POST /v1/charges HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", 413, Decision.MALFORMED),
        (b"POST /v1/charges HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, Decision.MALFORMED),
        (b"POST /v1/charges HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, Decision.MALFORMED),
        (b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 405, Decision.MALFORMED),
        (b"PRI * HTTP/2.0\r\n\r\n", 505, Decision.MALFORMED),
    ],
    ids=lambda value: value[:40].decode("latin-1").replace("\r\n", "|") if isinstance(value, bytes) else None,
)
def test_a_refusal_has_the_services_own_shape_and_stands_in_the_ledger(run, bench, data, status, decision):
    async def work():
        async with bench("stripe") as b, b.connect() as wire:
            await wire.send(data)
            answer = await wire.answer("POST")
            answered = await b.recorder.seen(AttemptAnswered)
            async with b.connect() as good:
                assert (await good.ask("GET", "/v1/charges")).status == 200
            return answer, answered, b.recorder.of(Note), b.recorder.of(AttemptReceived)

    answer, answered, notes, received = run(work())
    # A length of thousands of digits is refused by the parser before it is a length.
    assert answer.status == answered.status
    assert answer.status in ({400, 413} if decision is None else {status})
    assert answered.decision is (decision or Decision.MALFORMED)
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert notes == []
    assert [event.attempt for event in received] == [1, 2]


@pytest.mark.parametrize("status", [405])
def test_a_wrong_method_is_told_which_are_right(run, bench, status):
    async def work():
        async with bench("stripe") as b, b.connect() as wire:
            return await wire.ask("PUT", "/v1/charges", {})

    answer = run(work())
    assert answer.status == status
    assert set(answer.headers["allow"].split(", ")) == {"GET", "POST"}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{"),
        ("application/json", b"\xff"),
        ("application/json", b'{"a": NaN}'),
        ("application/json", b'{"a": 1e999}'),
        ("application/json", b'{"a": ' + b"9" * 5000 + b"}"),
        ("application/json", b"[" * 5000 + b"]" * 5000),
        ("application/problem+json", b"no"),
    ],
)
def test_a_body_that_no_json_reader_takes_is_malformed(run, bench, profile_file, kind, body):
    async def work():
        async with bench(profile_file(ODD)) as b, b.connect() as wire:
            answer = await wire.ask("POST", "/things", body, {"Content-Type": kind})
            return answer.status, (await b.recorder.seen(AttemptAnswered)).decision, b.recorder.of(EffectApplied)

    assert run(work()) == (400, Decision.MALFORMED, [])


@pytest.mark.parametrize(
    ("kind", "body", "payload"),
    [
        ("text/plain", b"hello", "hello"),
        ("", b'{"a": 1}', {"a": 1}),
        ("application/octet-stream", b"\x00\xff", {"bytes": 2}),
        ("application/x-www-form-urlencoded", b"a=1&b[c]=2", {"a": "1", "b": {"c": "2"}}),
        ("multipart/form-data; boundary=x", b"--x--", "--x--"),
    ],
)
def test_a_content_type_that_the_service_did_not_expect_is_kept_as_it_came(
    run, bench, profile_file, kind, body, payload
):
    async def work():
        async with bench(profile_file(ODD)) as b, b.connect() as wire:
            answer = await wire.ask("POST", "/things", body, {"Content-Type": kind})
            return answer.status, b.recorder.of(AttemptReceived)[0].payload

    status, kept = run(work())
    assert status == 201
    assert kept == payload or (isinstance(kept, dict) and payload.items() <= kept.items())


# ------------------------------------------------------------------------------------------------- what comes back


@pytest.mark.parametrize(
    "text", [" k", "k\t", "a\x0bb", "a\x0cb", "\x7f", "é", "€", "a\r\nX-Evil: 1", "\x01\x1f", "\u2028"]
)
def test_what_a_worker_sent_comes_back_in_a_header_whatever_it_is(run, bench, profile_file, text):
    async def work():
        async with bench(profile_file(ODD)) as b, b.connect() as wire:
            answer = await wire.ask("POST", "/things", {"a": text, "key": text})
            again = await wire.ask("POST", "/things", {"a": text, "key": text})
            return answer, again, b.recorder.of(Note)

    answer, again, notes = run(work())
    assert (answer.status, again.status, notes) == (201, 201, [])
    assert answer.json()["said"]["a"] == text
    assert "x-evil" not in answer.headers


def test_an_answer_that_may_have_no_body_has_none(run, bench, profile_file):
    async def work():
        async with bench(profile_file(ODD)) as b, b.connect() as wire:
            statuses = [(await wire.ask("PUT", "/things/1", {"a": number})).status for number in range(2)]
            return statuses, (await wire.ask("POST", "/things", {})).status, b.recorder.of(Note)

    assert run(work()) == ([204, 204], 201, [])


def test_text_in_xml_is_escaped_in_whatever_letters_the_type_is_written(run, bench, profile_file):
    async def work():
        async with bench(profile_file(ODD)) as b, b.connect() as wire:
            return (await wire.ask("POST", "/letters", {"a": "<&>"})).body

    assert run(work()) == b"<said>&lt;&amp;&gt;</said>"


# ---------------------------------------------------------------------------------------------------- slow and many


def test_clients_that_send_drop_by_drop_or_nothing_hold_up_nobody(run, bench, as_bytes):
    async def work():
        async with bench("case-management") as b:
            slow = [b.connect() for _ in range(20)]
            for number, wire in enumerate(slow):
                await wire.__aenter__()
                await wire.send(as_bytes("POST", "/tickets", TICKET)[: number * 5])
            async with b.connect() as good:
                for _ in range(5):
                    assert (await good.ask("POST", "/tickets", TICKET)).status == 201
            await slow[7].send(as_bytes("POST", "/tickets", TICKET)[35:])
            assert (await slow[7].answer()).status == 201
            attempts = len(b.recorder.of(AttemptReceived))
            await b.service.drain(1)
            ends = [await wire.end() for wire in slow]
            for wire in slow:
                await wire.close()
            return attempts, set(ends), b.recorder.of(DiscardedAtDeath), b.recorder.of(Note)

    attempts, ends, discarded, notes = run(work())
    assert attempts == 6
    assert ends <= {b"", b"reset"}
    assert {event.complete_request for event in discarded} == {False}
    assert len(discarded) == 18  # one had sent nothing, and one was answered
    assert notes == []


def test_bad_bytes_of_an_old_cell_are_in_no_other_ledger(run, bench, as_bytes):
    async def work():
        async with bench("case-management") as b, b.connect() as old, b.connect() as half:
            await half.send(as_bytes("POST", "/tickets", TICKET)[:-2])
            await old.send(b"\x00\x01 nonsense\r\n\r\n")
            assert (await old.answer()).status == 400
            before, first = len(b.recorder.events), b.recorder
            b.begin("case-management")
            with suppress(OSError):
                await half.send(as_bytes("POST", "/tickets", TICKET)[-2:])
            assert await half.end() in {b"", b"reset"}
            async with b.connect() as good:
                assert (await good.ask("POST", "/tickets", TICKET)).status == 201
            return len(first.events) - before, [type(event) for event in b.recorder.events]

    assert run(work()) == (0, [AttemptReceived, EffectApplied, AttemptAnswered])


# ------------------------------------------------------------------------------------------------------------- fuzz

_METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "post", "G@T", "CONNECT", ""])
_TARGETS = st.one_of(
    st.sampled_from(
        ["/things", "/things?key=k", "/things/1", "/letters", "*", "/", "//", "http://x/things", "http://[",
         "http://[x]:a/",
         "/%", "/%zz", "/things?q=%0d%0a", "/things?a[b]=1&a=2", "/things#x", "/things/" + "a" * 3000, "/{id}",
         "/things/{x"]
    ),
    st.text(st.characters(min_codepoint=33, max_codepoint=255), max_size=12).map(lambda text: "/" + text),
)  # fmt: skip
_HEADERS = st.lists(
    st.tuples(
        st.sampled_from(
            ["Content-Type", "Content-Length", "Content-Encoding", "Transfer-Encoding", "Expect", "Connection",
             "Upgrade", "Idempotency-Key", "X-Trace", "Host", "Cookie", "Bad Name", ""]
        ),
        st.one_of(
            st.sampled_from(
                ["application/json", "application/x-www-form-urlencoded", "text/xml; charset=nonsense", "gzip",
                 "deflate", "chunked", "100-continue", "close", "keep-alive", "h2c", "0", "5", "-1",
                 "1,1", "k", "\xff", "a\x00b"]
            ),
            st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=8),
        ),
    ),
    max_size=4,
)  # fmt: skip
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "key", "query", "variables", "id", "*", "token"]), inner, max_size=3)
    ),
    max_leaves=6,
)
_BODIES = st.one_of(
    st.binary(max_size=20),
    _JSON.map(lambda value: json.dumps(value).encode()),
    st.sampled_from(
        [b'{"query": "mutation($a: X) { make(a: $a) @k(a: $b) { id } }"}', b'{"query": "{ make(a: 1e999) }"}',
         b'{"a": "\\ud800"}', b'{"key": " x\\u000b"}', b"a[b][c]=1&a[]=2&a=3", b"5\r\nhello\r\n0\r\n\r\n"]
    ),
)  # fmt: skip


@st.composite
def _requests(draw: Any) -> bytes:
    body = draw(_BODIES)
    headers = draw(_HEADERS)
    if draw(st.integers(0, 3)):  # most are framed as they should be, or nothing behind the parser is reached
        headers = [header for header in headers if header[0] not in {"Content-Length", "Transfer-Encoding", "Host"}]
        headers.append(("Content-Length", str(len(body))))
    if draw(st.booleans()):
        headers.append(("Content-Type", "application/json"))
    data = raw_request(draw(_METHODS), draw(_TARGETS), headers, body)
    cut = draw(st.none() | st.integers(0, len(data)))
    noise = draw(st.sampled_from([b"", b"", b"\r\n", b"\x00", b"GET / HTTP/1.1\r\n"]))
    return data[:cut] + noise


async def fuzzed(bench: Any, profile: Any, pieces: list[bytes]) -> tuple[Any, bytes]:
    """Send pieces over one connection, half-close it, read what comes back; a good client works beside it."""
    async with bench(profile) as b, b.connect() as bad, b.connect() as good:
        assert (await good.ask("POST", "/things", {"a": 1})).status == 201
        for piece in pieces:
            with suppress(OSError):
                await bad.send(piece)
        with suppress(OSError):
            bad.writer.write_eof()
        said = await bad.end()
        await b.until(lambda: b.service.open_connections(1) == 1)
        assert (await good.ask("POST", "/things", {"a": 2})).status == 201
        return b.recorder, said


def consistent(recorder: Any, said: bytes) -> None:
    attempts = [event.attempt for event in recorder.of(AttemptReceived)]
    ends = [event.attempt for event in recorder.events if isinstance(event, AttemptAnswered | AttemptDropped)]
    effects = [event.attempt for event in recorder.of(EffectApplied)]
    applied = [
        event.attempt
        for event in recorder.events
        if isinstance(event, AttemptAnswered | AttemptDropped) and event.decision is Decision.APPLIED
    ]
    assert recorder.of(Note) == []
    assert attempts == list(range(1, len(attempts) + 1))
    assert sorted(ends) == attempts
    assert sorted(effects) == sorted(applied)
    assert b"HTTP/1.1 500" not in said
    for event in recorder.events:
        assert event_from_json(json.loads(json.dumps(event_to_json(event), allow_nan=False))) == event


FUZZ = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("kind", ["described", "graphql", "any"])
@FUZZ
@given(pieces=st.lists(_requests(), min_size=1, max_size=3))
@example(pieces=[b"POST /things HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n"])
@example(pieces=[b"CONNECT /things HTTP/1.1\r\nHost: x\r\n\r\n"])
@example(pieces=[b"GET http://[ HTTP/1.1\r\nHost: x\r\n\r\n"])
@example(pieces=[raw_request("POST", "/things", [("Content-Length", "14")], b'{"key": " \\f"}')])
def test_any_bytes_are_answered_or_dropped_and_counted_and_disturb_nobody(run, bench, tmp_path_factory, kind, pieces):
    file = tmp_path_factory.getbasetemp() / "odd.toml"
    file.write_text(GRAPHQL if kind == "graphql" else ODD, encoding="utf-8")
    recorder, said = run(fuzzed(bench, "any" if kind == "any" else file, pieces))
    consistent(recorder, said)


@pytest.mark.slow
@settings(FUZZ, max_examples=120)
@given(pieces=st.lists(_requests() | st.binary(max_size=60), min_size=1, max_size=3))
def test_very_many_bytes_are_answered_or_dropped_and_counted(run, bench, tmp_path_factory, pieces):
    file = tmp_path_factory.getbasetemp() / "odd.toml"
    file.write_text(GRAPHQL, encoding="utf-8")
    recorder, said = run(fuzzed(bench, file, pieces))
    consistent(recorder, said)
