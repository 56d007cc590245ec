"""A target in front of a service: what goes through, what its answers are taken for, and what is recorded of them."""

from __future__ import annotations

import asyncio
import gzip
import json
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from ackgap.errors import UsageInvalid
from ackgap.model.boundary import Phase
from ackgap.model.event import AttemptAnswered, AttemptDropped, AttemptReceived, Decision, EffectApplied, Note
from ackgap.target.upstream.interposer import Interposer, ObjectMemory
from ackgap.target.upstream.live import LiveUpstream, split_stream
from ackgap.target.upstream.playback import Player
from ackgap.target.upstream.recording import Recording, RecordingWriter

EVENTS = [f'data: {{"n": {n}, "choices": []}}\n\n' for n in range(6)]
CHAT = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


class Service:
    """A real service, as far as a target can tell: aiohttp, with whatever answers a test needs."""

    def __init__(self) -> None:
        self.asked: list[web.BaseRequest] = []
        self.bodies: list[bytes] = []
        self.answer = lambda request, body: web.json_response({"id": f"t-{len(self.asked)}"}, status=201)
        self.release = asyncio.Event()
        self.release.set()
        self.came = asyncio.Event()

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        self.asked.append(request)
        self.bodies.append(body)
        self.came.set()
        await self.release.wait()
        answer = self.answer(request, body)
        return await answer if asyncio.iscoroutine(answer) else answer


@asynccontextmanager
async def standing_before(bench, profile="any", *, player=None, base="", memory=None, writer=None, gate=None, **more):
    """A target in front of a service, or of a recording."""
    service = Service()
    runner = web.ServerRunner(web.Server(service.serve))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    source = player or LiveUpstream(f"http://127.0.0.1:{port}{base}", limit_s=more.pop("limit_s", 10))
    interposer = Interposer(source=source, cell="cell", own_words="1abc", memory=memory, writer=writer)
    try:
        async with bench(profile, gate=gate, interposer=interposer, **more) as b:
            interposer.own_url = b.service.url
            yield b, service, port
    finally:
        service.release.set()
        await runner.cleanup()


def answers(b):
    return [(event.decision, event.status) for event in b.recorder.of(AttemptAnswered)]


def notes(b):
    return [note.code for note in b.recorder.of(Note)]


def test_a_request_and_its_answer_go_through_as_they_are(run, bench):
    async def work():
        async with standing_before(bench, base="/v2") as (b, service, port), b.connect() as wire:
            service.answer = lambda request, body: web.Response(
                status=201,
                body=b'{"id": "t-9"}',
                headers={"X-Own": "kept", "Location": f"http://127.0.0.1:{port}/v2/t/9"},
            )
            headers = {"Authorization": "Bearer abcdef123", "X-Hop": "no", "Connection": "keep-alive, X-Hop"}
            answer = await wire.ask("POST", "/t?a=%2F&b", {"title": "x"}, headers)
            asked = service.asked[0]
            assert asked.raw_path == "/v2/t?a=%2F&b"
            assert service.bodies == [b'{"title": "x"}']
            assert asked.headers["Authorization"] == "Bearer abcdef123"
            assert asked.headers["Host"] == f"127.0.0.1:{port}"
            assert "X-Hop" not in asked.headers
            assert (answer.status, answer.headers["x-own"], answer.json()) == (201, "kept", {"id": "t-9"})
            assert answer.headers["location"] == f"{b.service.url}/t/9"
            (effect,) = b.recorder.of(EffectApplied)
            assert effect.object_id == "t-9"
            assert "abcdef123" not in str(b.recorder.events)

    run(work())


def test_the_boundaries_stand_before_and_after_the_upstream(run, bench, as_bytes, parking_gate):
    async def work():
        gate = parking_gate(Phase.RECEIVED, Phase.APPLIED)
        async with standing_before(bench, gate=gate) as (b, service, _), b.connect() as wire:
            await wire.send(as_bytes("POST", "/t", {"title": "x"}))
            await gate.parked()
            assert service.asked == []
            gate.release()
            await gate.parked()
            assert len(service.asked) == 1
            assert len(b.recorder.of(EffectApplied)) == 1
            gate.release()
            assert (await wire.answer()).status == 201

    run(work())


def test_what_has_gone_on_when_its_sender_dies_is_still_counted_before_the_next_life(run, bench, as_bytes):
    async def work():
        async with standing_before(bench) as (b, service, _), b.connect() as wire:
            service.release.clear()
            await wire.send(as_bytes("POST", "/t", {"title": "x"}))
            await service.came.wait()
            b.service.expect_death(1)
            draining = asyncio.ensure_future(b.service.drain(1))
            await asyncio.sleep(0)
            assert not draining.done()
            service.release.set()
            await draining
            assert [type(event) for event in b.recorder.events] == [AttemptReceived, EffectApplied, AttemptDropped]

    run(work())


@pytest.mark.parametrize(
    ("method", "replies", "decisions"),
    [
        ("POST", [(201, {"id": 1}), (201, {"id": 2})], ["applied", "applied"]),
        ("POST", [(201, {"id": 1}), (200, {"id": 1})], ["applied", "existing"]),
        ("POST", [(201, {"ticket": {"id": 1}}), (201, {"ticket": {"id": 1}})], ["applied", "existing"]),
        ("POST", [(200, {"sent": True}), (200, {"sent": True})], ["applied", "applied"]),
        ("POST", [(200, {"id": "x"}), (200, {"id": "x"})], ["applied", "applied"]),  # the request says x itself
        ("POST", [(409, {"id": 1}), (422, {}), (301, {})], ["rejected", "rejected", "rejected"]),
        ("POST", [(200, {"ok": False}), (200, {"ok": True})], ["rejected", "applied"]),
        ("PUT", [(200, {}), (200, {})], ["applied", "existing"]),
        ("DELETE", [(204, None), (204, None)], ["applied", "existing"]),
        ("PATCH", [(200, {}), (200, {})], ["applied", "applied"]),
        ("GET", [(200, {"id": 1})], ["read"]),
    ],
)
def test_an_effect_is_what_the_upstream_answered(run, bench, method, replies, decisions):
    async def work():
        async with standing_before(bench) as (b, service, _), b.connect() as wire:
            pending = iter(replies)

            def answer(request, body):
                status, document = next(pending)
                return web.Response(status=status) if document is None else web.json_response(document, status=status)

            service.answer = answer
            for _ in replies:
                await wire.ask(method, "/t", None if method in ("GET", "DELETE") else {"title": "x"})
            assert [decision.value for decision, _ in answers(b)] == decisions
            assert len(b.recorder.of(EffectApplied)) == decisions.count("applied")

    run(work())


def test_a_success_that_names_no_object_is_marked_as_assumed(run, bench):
    async def work():
        async with standing_before(bench) as (b, service, _), b.connect() as wire:
            service.answer = lambda request, body: web.json_response({"sent": True})
            await wire.ask("POST", "/t", {"title": "x"})
            assert notes(b) == ["effect_assumed"]
            assert b.recorder.of(AttemptAnswered)[0].rule.endswith("assumed")

    run(work())


def test_a_known_key_and_a_mark_of_the_upstream_show_a_repeat(run, bench):
    async def work():
        async with standing_before(bench) as (b, service, _), b.connect() as wire:
            service.answer = lambda request, body: web.json_response({"id": 7})
            for _ in range(2):
                await wire.ask("POST", "/t", {"title": "x"}, {"Idempotency-Key": "k-1"})
            service.answer = lambda request, body: web.json_response({}, headers={"Idempotent-Replayed": "true"})
            await wire.ask("POST", "/t", {"title": "x"}, {"Idempotency-Key": "k-0"})
            assert [decision for decision, _ in answers(b)] == [Decision.APPLIED, Decision.REPLAYED, Decision.REPLAYED]

    run(work())


def test_an_object_of_an_earlier_cell_is_noticed_and_one_of_this_cell_is_not(run, bench, tmp_path):
    memory = ObjectMemory(tmp_path / "objects.jsonl")

    async def work(expected):
        async with standing_before(bench, memory=memory) as (b, service, _), b.connect() as wire:
            service.answer = lambda request, body: web.json_response({"id": 7})
            await wire.ask("POST", "/t", {"title": "x"})
            assert notes(b) == expected

    run(work([]))
    memory_of_another = ObjectMemory(tmp_path / "objects.jsonl")
    assert memory_of_another.is_known("another", "tickets.POST/t", "7")
    assert not memory_of_another.is_known("another", "tickets.POST/t", "8")
    run(work(["known_before"]))


def test_no_answer_and_errors_of_the_service_leave_open_what_happened(run, bench):
    async def work():
        async with standing_before(bench, limit_s=3) as (b, service, _), b.connect() as wire:
            service.answer = lambda request, body: web.json_response({}, status=503)
            assert (await wire.ask("POST", "/t", {})).status == 503
            service.release.clear()
            assert (await wire.ask("POST", "/t", {})).status == 502
            assert notes(b) == ["upstream_unclear", "upstream_failed"]
            assert b.recorder.of(EffectApplied) == []

    run(work())


def test_an_answer_that_breaks_off_is_no_answer(run, bench):
    async def broken(request):
        response = web.StreamResponse(headers={"Content-Length": "100"})
        await response.prepare(request)
        await response.write(b"{")
        request.transport.abort()
        return response

    async def work():
        async with standing_before(bench) as (b, service, _), b.connect() as wire:
            service.answer = lambda request, body: broken(request)
            assert (await wire.ask("POST", "/t", {})).status == 502
            assert notes(b) == ["upstream_failed"]

    run(work())


def test_compressed_answers_are_read_and_go_through_compressed(run, bench):
    async def work():
        async with standing_before(bench) as (b, service, _), b.connect() as wire:
            packed = gzip.compress(b'{"id": "t-5"}')
            service.answer = lambda request, body: web.Response(
                body=packed, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"}
            )
            answer = await wire.ask("POST", "/t", {}, {"Accept-Encoding": "gzip, br, zstd"})
            assert service.asked[0].headers["Accept-Encoding"] == "gzip"
            assert (answer.headers["content-encoding"], answer.body) == ("gzip", packed)
            assert b.recorder.of(EffectApplied)[0].object_id == "t-5"

    run(work())


def test_a_head_request_has_the_length_that_the_upstream_gave(run, bench):
    async def work():
        async with standing_before(bench) as (b, service, _), b.connect() as wire:
            service.answer = lambda request, body: web.Response(headers={"Content-Length": "1234"})
            assert (await wire.ask("HEAD", "/t/1")).headers["content-length"] == "1234"

    run(work())


@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_is_relayed_event_by_event_and_stops_in_its_middle(run, bench, as_bytes, parking_gate, packed):
    async def streamed(request):
        headers = {"Content-Type": "text/event-stream"} | ({"Content-Encoding": "gzip"} if packed else {})
        response = web.StreamResponse(headers=headers)
        await response.prepare(request)
        body = "".join(EVENTS).encode()
        body = gzip.compress(body) if packed else body
        for start in range(0, len(body), 17):  # however the network cuts it
            await response.write(body[start : start + 17])
        return response

    async def work():
        gate = parking_gate(Phase.STREAM_HALF)
        async with standing_before(bench, "openai", gate=gate) as (b, service, _), b.connect() as wire:
            service.answer = lambda request, body: streamed(request)
            await wire.send(as_bytes("POST", "/v1/chat/completions", {**CHAT, "stream": True}))
            await gate.parked()
            await wire.reader.readuntil(b"\r\n\r\n")
            for event in EVENTS[:3]:
                size = int(await wire.reader.readuntil(b"\r\n"), 16)
                assert (await wire.reader.readexactly(size + 2))[:-2].decode() == event
            assert wire.reader._buffer == b""
            gate.release(stop_parking=True)
            assert b"".join([await wire._chunks()]).decode() == "".join(EVENTS[3:])

    run(work())


def test_a_model_is_charged_for_the_tokens_that_it_says_it_used(run, bench):
    async def work():
        settings = {"input_price": 2.0, "output_price": 10.0}
        async with standing_before(bench, "openai", settings=settings) as (b, service, _), b.connect() as wire:
            usage = {"prompt_tokens": 1000, "completion_tokens": 100}
            service.answer = lambda request, body: web.json_response({"id": "c-1", "usage": usage})
            await wire.ask("POST", "/v1/chat/completions", CHAT)
            assert b.recorder.of(AttemptAnswered)[0].cost == pytest.approx(0.003)
            assert answers(b) == [(Decision.READ, 200)]

    run(work())


def test_a_request_that_the_profile_does_not_know_does_not_go_on(run, bench):
    async def work():
        async with standing_before(bench, "openai") as (b, service, _), b.connect() as wire:
            assert (await wire.ask("POST", "/v1/elsewhere", {})).status == 404
            assert service.asked == []

    run(work())


# ------------------------------------------------------------------ recordings


def recorded(run, bench, path, requests, answer):
    """Record what a service answers to some requests, and return it with what it answered."""
    RecordingWriter.begin(path, "tickets")
    said = []

    async def work():
        writer = RecordingWriter(path, cell="cell", own_words="1abc")
        async with standing_before(bench, writer=writer) as (b, service, _), b.connect() as wire:
            service.answer = answer
            said.extend([(await wire.ask(*request)).body for request in requests])

    run(work())
    return Recording.read(path), said


def played(run, bench, recording, requests, *, match="exact"):
    async def work():
        player = Player(recording=recording, cell="cell", match=match)
        async with standing_before(bench, player=player) as (b, service, _), b.connect() as wire:
            said = [await wire.ask(*request) for request in requests]
            assert service.asked == []
            return b, said

    return run(work())


def counting():
    numbers = iter(range(1, 100))
    return lambda request, body: web.json_response({"id": next(numbers)})


def test_a_read_is_given_what_it_was_given_after_the_same_effects(run, bench, tmp_path):
    requests = [("GET", "/t"), ("POST", "/t", {"title": "x"}), ("GET", "/t"), ("POST", "/t", {"title": "x"})]
    recording, said = recorded(run, bench, tmp_path / "r.jsonl", requests, counting())
    b, again = played(run, bench, recording, requests)
    assert [answer.body for answer in again] == said
    assert [effect.object_id for effect in b.recorder.of(EffectApplied)] == ["2", "4"]
    _, without = played(run, bench, recording, [requests[0], requests[0]])
    assert [answer.body for answer in without] == [said[0], said[0]]


def test_a_repeat_that_was_never_recorded_is_not_made_up(run, bench, tmp_path):
    request = ("POST", "/t", {"title": "x"})
    recording, _ = recorded(run, bench, tmp_path / "r.jsonl", [request], counting())
    b, (first, second) = played(run, bench, recording, [request, request])
    assert (first.status, second.status) == (200, 501)
    assert notes(b) == ["not_recorded"]
    assert "never after these effects" in b.recorder.of(Note)[0].text


def test_a_new_key_is_another_request_and_a_known_one_the_same(run, bench, tmp_path):
    def keyed(key):
        return ("POST", "/t", {"title": "x"}, {"Idempotency-Key": key})

    recording, said = recorded(run, bench, tmp_path / "r.jsonl", [keyed("a1b2"), keyed("a1b2")], counting())
    _, (first, second) = played(run, bench, recording, [keyed("zzzz"), keyed("zzzz")])
    assert [first.body, second.body] == said
    b, _ = played(run, bench, recording, [keyed("zzzz"), keyed("yyyy")])
    assert "another use of idempotency keys" in b.recorder.of(Note)[0].text


def test_what_is_the_cells_own_is_recognised_and_given_back(run, bench, tmp_path):
    request = ("POST", "/t", {"ref": "order-1abc"})
    recording, said = recorded(
        run, bench, tmp_path / "r.jsonl", [request], lambda _, body: web.Response(body=b'{"id": "x-1abc"}')
    )
    assert "1abc" not in (tmp_path / "r.jsonl").read_text()
    _, (answer,) = played(run, bench, recording, [request])
    assert answer.body == said[0]


def test_with_path_a_request_that_differs_is_given_the_next_answer_of_its_operation(run, bench, tmp_path):
    requests = [("POST", "/t", {"at": n}) for n in range(2)]
    recording, said = recorded(run, bench, tmp_path / "r.jsonl", requests, counting())
    others = [("POST", "/t", {"at": n}) for n in (7, 8)]
    _, again = played(run, bench, recording, others, match="path")
    assert [answer.body for answer in again] == said
    b, again = played(run, bench, recording, others)
    assert [answer.status for answer in again] == [501, 501]
    assert "body.at (0 was recorded, 7 asked)" in b.recorder.of(Note)[0].text


def test_no_secret_gets_into_a_recording_and_the_answers_still_fit(run, bench, tmp_path):
    secret, cookie = "Bearer s3cr3t-s3cr3t", "c00kie-c00kie"
    headers = {"Authorization": secret, "Cookie": f"session={cookie}"}

    def answer(request, body):
        echo = {"you_sent": dict(request.headers), "access_token": "t0ken-t0ken", "next": 1}
        return web.json_response(echo, headers={"Set-Cookie": f"session={cookie}"})

    request = ("POST", "/login", {"user": "me", "password": "passw0rd-1"}, headers)
    recording, _ = recorded(run, bench, tmp_path / "r.jsonl", [request], answer)
    text = (tmp_path / "r.jsonl").read_text()
    for part in ("s3cr3t", "c00kie", "t0ken", "passw0rd"):
        assert part not in text
    other = ("POST", "/login", {"user": "me", "password": "another"}, {})
    _, (replayed,) = played(run, bench, recording, [other])
    assert replayed.json()["next"] == 1


def test_a_recorded_stream_is_given_again_in_its_parts(run, bench, tmp_path):
    body = "".join(EVENTS)
    recording, said = recorded(
        run, bench, tmp_path / "r.jsonl", [("POST", "/s", {})],
        lambda _, __: web.Response(body=body.encode(), content_type="text/event-stream"),
    )  # fmt: skip
    _, (answer,) = played(run, bench, recording, [("POST", "/s", {})])
    assert answer.headers["transfer-encoding"] == "chunked"
    assert answer.body == said[0] == body.encode()
    assert recording.entries[0].said.parts == tuple(event.encode() for event in EVENTS)


def test_bytes_that_are_no_text_are_given_again(run, bench, tmp_path):
    raw = bytes(range(256))
    recording, _ = recorded(run, bench, tmp_path / "r.jsonl", [("GET", "/f")], lambda _, __: web.Response(body=raw))
    _, (answer,) = played(run, bench, recording, [("GET", "/f")])
    assert answer.body == raw


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1"),
        ("no json\n", "line 1"),
        ('{"ackgap_recording": 99, "target": "t"}\n{}', "version 99"),
        ('{"ackgap_recording": 1, "target": "t"}', "there is no answer in it"),
        ('{"ackgap_recording": 1, "target": "t"}\n{"cell": 1}', "line 2"),
        ('{"ackgap_recording": 1, "target": "t"}\n[]', "line 2"),
    ],
)
def test_a_damaged_recording_is_refused_with_its_line(tmp_path, text, said):
    file = tmp_path / "r.jsonl"
    file.write_text(text)
    with pytest.raises(UsageInvalid) as refused:
        Recording.read(file)
    assert said in str(refused.value)


def test_events_and_lines_are_told_apart_whatever_their_ends():
    assert split_stream(b"data: a\r\n\r\ndata: b\n\n: rest", "text/event-stream; charset=utf-8") == (
        b"data: a\r\n\r\n",
        b"data: b\n\n",
        b": rest",
    )
    assert split_stream(b'{"a":1}\n{"b":2}', "application/x-ndjson") == (b'{"a":1}\n', b'{"b":2}')
    assert json.loads(split_stream(b'{"a":1}\n', "application/jsonl")[0]) == {"a": 1}
