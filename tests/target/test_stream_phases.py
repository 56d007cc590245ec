"""The phases of a stream: what has reached the client at each, and what happens when someone leaves half way."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ackgap.model.boundary import CALL_PHASES, STREAM_PHASES, BoundaryKind, CrashPoint, Phase
from ackgap.model.event import AttemptAnswered, AttemptDropped, ClientGaveUp

TEXT = "A text that is long enough to be sent in a good number of pieces, and not in one alone. " * 4
STREAMS = {
    "openai": ("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "x"}]}, "[DONE]"),
    "anthropic": (
        "/v1/messages",
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]},
        "message_stop",
    ),
}
SETTINGS = {"script": [{"say": TEXT}]}
KIND = {"Content-Type": "application/json"}


def parts_in(body):
    return [part for part in body.decode().split("\n\n") if part]


async def chunks(wire, count):
    """Read the head of an answer and that many of its chunks."""
    await wire.reader.readuntil(b"\r\n\r\n")
    sizes = []
    for _ in range(count):
        sizes.append(int(await wire.reader.readuntil(b"\r\n"), 16))
        await wire.reader.readexactly(sizes[-1] + 2)
    return sizes


@pytest.mark.parametrize("profile", STREAMS)
@pytest.mark.parametrize("phase", STREAM_PHASES)
def test_at_each_phase_the_client_has_that_much_and_no_more(run, bench, as_bytes, parking_gate, profile, phase):
    path, body, ending = STREAMS[profile]
    asked = {**body, "stream": True}

    async def whole():
        async with bench(profile, settings=SETTINGS) as b, b.connect() as wire:
            return parts_in((await wire.ask("POST", path, asked)).body)

    parts = run(whole())
    assert ending in parts[-1]
    count = {Phase.STREAM_BEGUN: 1, Phase.STREAM_HALF: len(parts) // 2, Phase.STREAM_WHOLE: len(parts) - 1}[phase]

    async def work():
        gate = parking_gate(phase)
        async with bench(profile, settings=SETTINGS, gate=gate) as b:
            async with b.connect() as wire:
                await wire.send(as_bytes("POST", path, asked))
                await gate.parked()
                had = await chunks(wire, count)
                async with b.connect() as other:  # by the time that this is answered, more would have come
                    await other.ask("GET", "/v1/models")
                more = bytes(wire.reader._buffer)
                gate.release()
                await b.recorder.seen(AttemptAnswered, 2)
            return had, more

    had, more = run(work())
    assert had == [len(part) + 2 for part in parts[:count]]
    assert more == b""


@pytest.mark.parametrize("profile", STREAMS)
def test_a_stream_passes_its_phases_in_order_and_a_whole_answer_none(run, bench, parking_gate, profile):
    path, body, _ = STREAMS[profile]

    async def work(**more):
        gate = parking_gate()
        async with bench(profile, settings=SETTINGS, gate=gate) as b, b.connect() as wire:
            await wire.ask("POST", path, {**body, **more})
            return [phase for _, phase in gate.passed]

    assert run(work(stream=True)) == [Phase.RECEIVED, Phase.APPLIED, *STREAM_PHASES]
    assert run(work()) == [Phase.RECEIVED, Phase.APPLIED]


def test_a_client_that_leaves_a_stream_when_it_has_heard_enough_did_not_give_up(run, bench, as_bytes, parking_gate):
    path, body, _ = STREAMS["openai"]

    async def work():
        gate = parking_gate(Phase.STREAM_BEGUN)
        async with bench("openai", settings=SETTINGS, gate=gate) as b:
            async with b.connect() as wire:
                await wire.send(as_bytes("POST", path, {**body, "stream": True}))
                await gate.parked()
            await b.until(lambda: all(connection.gone for connection in b.service._cell.connections))
            gate.release()
            await b.recorder.seen(AttemptAnswered)
            return b.recorder, gate.passed

    recorder, passed = run(work())
    assert not recorder.of(ClientGaveUp)
    assert [phase for _, phase in passed][-3:] == list(STREAM_PHASES)
    assert recorder.of(AttemptAnswered)[0].cost > 0


def test_half_an_answer_is_charged_whole(run, bench, as_bytes, parking_gate):
    path, body, _ = STREAMS["openai"]

    async def work(phase):
        gate = parking_gate(phase)
        async with bench("openai", settings=SETTINGS, gate=gate) as b, b.connect() as wire:
            await wire.send(as_bytes("POST", path, {**body, "stream": True}))
            await gate.parked()
            gate.sever(1)
            return (await b.recorder.seen(AttemptDropped)).cost

    costs = {run(work(phase)) for phase in STREAM_PHASES}
    assert len(costs) == 1
    assert costs.pop() > 0


@pytest.mark.slow
def test_a_client_that_reads_nothing_holds_a_stream_up_and_its_end_frees_it(run, bench, as_bytes):
    path, body, _ = STREAMS["openai"]
    long = {"script": [{"say": "x" * 600_000}]}  # in events, many times what a socket holds

    async def work():
        async with bench("openai", settings=long) as b:
            async with b.connect() as wire:
                await wire.send(as_bytes("POST", path, {**body, "stream": True}))
                await wire.reader.readuntil(b"\r\n\r\n")
            await b.recorder.seen(AttemptAnswered)

    run(work())


def test_a_phase_of_a_stream_makes_a_crash_point_of_a_call():
    for phase in STREAM_PHASES:
        point = CrashPoint.parse(f"model.chat#2:{phase}")
        assert str(point) == f"model.chat#2:{phase}"
        assert point.boundary.kind is BoundaryKind.CALL
    places = [CALL_PHASES.index(phase) for phase in (Phase.APPLIED, *STREAM_PHASES, Phase.RETURNED)]
    assert places == sorted(places)


# --------------------------------------------------------------- whatever is sent

values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**12) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
words = st.sampled_from([
    "role", "content", "text", "type", "name", "function", "tool_result", "user", "assistant", "tool", "message",
    "function_call_output", "output", "json_schema", "schema", "any", "required", "call_id", "properties", "$ref",
])  # fmt: skip
tables = st.dictionaries(
    words, values | words | st.lists(st.dictionaries(words, values | words, max_size=4), max_size=3)
)
fields = {
    name: values | tables | st.lists(tables, max_size=3)
    for name in (
        "messages", "input", "tools", "tool_choice", "response_format", "text", "system", "instructions",
        "output_config", "stream_options", "previous_response_id", "max_tokens", "store",
    )
}  # fmt: skip
bodies = st.fixed_dictionaries({"model": st.just("m") | values}, optional={**fields, "stream": st.booleans()})


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=bodies | values, message=st.lists(tables, min_size=1, max_size=3), usual=st.booleans())
def test_whatever_is_sent_is_answered_or_refused_in_the_services_shape(models, body, message, usual):
    if usual and isinstance(body, dict):
        body = {**body, "model": "m", "messages": message, "input": message, "max_tokens": 9}
    for profile, path in (
        ("openai", "/v1/chat/completions"),
        ("openai", "/v1/responses"),
        ("anthropic", "/v1/messages"),
        ("anthropic", "/v1/messages/count_tokens"),
    ):
        handled = models[profile].ask("POST", path, body)
        assert handled.answer.status in (200, 400)
        if handled.answer.status == 400:
            assert json.loads(handled.answer.body)["error"]["type"] == "invalid_request_error"
            assert handled.cost == 0.0
        elif handled.answer.streamed:
            assert len(handled.answer.parts) >= 3
            for part in handled.answer.parts:
                data = part.decode().partition("data: ")[2].strip()
                assert data == "[DONE]" or json.loads(data)
        else:
            assert json.loads(handled.answer.body)


@pytest.fixture(scope="module")
def models(shop):
    script = [{"when": {"contains": "x", "last_role": "tool"}, "say": "y", "call": {"tool": "z"}}]
    return {name: shop(name, settings={"script": script, "drift": ["wording", "tool_order"]}) for name in STREAMS}
