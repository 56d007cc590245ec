"""The official `openai` and `anthropic` packages, unmodified, against the scripted models: whole and streamed."""

from __future__ import annotations

import asyncio
import json

import pytest

from ackgap.model.boundary import CrashPoint, Phase
from ackgap.model.event import AttemptDropped, AttemptReceived
from ackgap.model.manner import FaultKind, Manner
from ackgap.model.schedule import Fault

pytestmark = pytest.mark.slow

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")
pydantic = pytest.importorskip("pydantic")
httpx2 = pytest.importorskip("httpx2")

CLIENT_ERRORS = (openai.APIConnectionError, anthropic.APIConnectionError, httpx2.ReadError)

PARAMETERS = {
    "type": "object",
    "properties": {"partner_id": {"type": "string"}, "title": {"type": "string"}},
    "required": ["partner_id", "title"],
    "additionalProperties": False,
}
CHAT_TOOLS = [{"type": "function", "function": {"name": name, "parameters": PARAMETERS}} for name in ("open", "notify")]
RESPONSE_TOOLS = [
    {"type": "function", "name": name, "parameters": PARAMETERS, "strict": False} for name in ("open", "notify")
]
MESSAGE_TOOLS = [{"name": name, "input_schema": PARAMETERS} for name in ("open", "notify")]
OPENED = {"partner_id": "4471", "title": "Assess Aurelia, \u00e9tape 1"}
SCRIPT = [
    {"when": {"last_role": "tool", "contains": "TICKET-1"}, "say": "All done with TICKET-1."},
    {
        "when": {"tool": "open"},
        "say": "I open a ticket and tell them.",
        "calls": [{"tool": "open", "arguments": [OPENED]}, {"tool": "notify"}],
    },
    {"say": "Partner 4471 is sound, as far as the documents tell."},
]
TEXT = SCRIPT[-1]["say"]
USER = [{"role": "user", "content": "Assess partner 4471"}]


class Assessment(pydantic.BaseModel):
    partner_id: str
    summary: str
    score: int


def ask_openai(b):
    return openai.AsyncOpenAI(base_url=f"{b.service.url}/v1", api_key="x", max_retries=0)


def ask_anthropic(b):
    return anthropic.AsyncAnthropic(base_url=b.service.url, api_key="x", max_retries=0)


@pytest.fixture
def with_openai(run, bench):
    """Run something with a client and a service of the profile `openai`."""

    def runner(work, **settings):
        async def inside():
            async with bench("openai", settings={"script": SCRIPT, **settings}) as b, ask_openai(b) as client:
                return await work(client, b)

        return run(inside())

    return runner


@pytest.fixture
def with_anthropic(run, bench):
    """Run something with a client and a service of the profile `anthropic`."""

    def runner(work, **settings):
        async def inside():
            async with bench("anthropic", settings={"script": SCRIPT, **settings}) as b, ask_anthropic(b) as client:
                return await work(client, b)

        return run(inside())

    return runner


# ------------------------------------------------------------ Chat Completions


def test_chat_says_the_same_whole_and_streamed_with_text_and_several_calls(with_openai):
    async def work(client, b):
        asked = {"model": "gpt-4o-mini", "messages": USER, "tools": CHAT_TOOLS}
        whole = await client.chat.completions.create(**asked)
        async with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
            kinds = {event.type async for event in stream}
            final = await stream.get_final_completion()
        return whole, final, kinds

    whole, final, kinds = with_openai(work)
    type(whole).model_validate(whole.model_dump(), strict=True)
    for completion in (whole, final):
        (choice,) = completion.choices
        assert choice.finish_reason == "tool_calls"
        assert choice.message.content == "I open a ticket and tell them."
        opened, notified = choice.message.tool_calls
        assert json.loads(opened.function.arguments) == OPENED
        assert (notified.function.name, notified.function.arguments) == ("notify", "{}")
        assert opened.id != notified.id
        assert completion.usage.total_tokens == completion.usage.prompt_tokens + completion.usage.completion_tokens > 0
        assert completion.usage.prompt_tokens_details.cached_tokens == 0
        assert completion.usage.completion_tokens_details.reasoning_tokens == 0
    assert whole._request_id.startswith("req_")
    assert {"chunk", "content.delta", "content.done", "tool_calls.function.arguments.done"} <= kinds


def test_a_stream_of_chat_has_usage_only_if_it_is_asked_for(with_openai):
    async def work(client, b):
        stream = await client.chat.completions.create(model="m", messages=USER, stream=True)
        return [chunk async for chunk in stream]

    chunks = with_openai(work)
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == TEXT
    assert len({chunk.id for chunk in chunks}) == 1


def test_chat_fills_in_the_schema_that_a_type_asks_for(with_openai):
    async def work(client, b):
        asked = {"model": "m", "messages": USER, "response_format": Assessment}
        parsed = await client.chat.completions.parse(**asked)
        async with client.chat.completions.stream(**asked) as stream:
            return parsed, await stream.get_final_completion()

    for completion in with_openai(work, script=[]):
        found = completion.choices[0].message.parsed
        assert (found.partner_id, found.score) == ("4471", 4471)


# ------------------------------------------------------------------- Responses


def test_responses_say_the_same_whole_and_streamed_with_text_and_several_calls(with_openai):
    async def work(client, b):
        asked = {"model": "gpt-4o-mini", "input": "Assess partner 4471", "tools": RESPONSE_TOOLS}
        whole = await client.responses.create(**asked)
        async with client.responses.stream(**asked) as stream:
            events = [event async for event in stream]
            return whole, await stream.get_final_response(), events

    whole, final, events = with_openai(work)
    for response in (whole, final):
        assert response.status == "completed"
        assert response.output_text == "I open a ticket and tell them."
        said, opened, notified = response.output
        assert (said.type, opened.type, notified.name) == ("message", "function_call", "notify")
        assert json.loads(opened.arguments) == OPENED
        assert opened.call_id != notified.call_id
        assert response.usage.total_tokens == response.usage.input_tokens + response.usage.output_tokens > 0
        assert response.usage.input_tokens_details.cached_tokens == 0
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[0].type == "response.created"
    deltas = [event.delta for event in events if event.type == "response.function_call_arguments.delta"]
    assert json.loads("".join(deltas[:-1])) == OPENED
    assert deltas[-1] == "{}"
    raw = {event.type for event in events}
    assert {"response.content_part.done", "response.output_text.done", "response.output_item.done"} <= raw


def test_responses_are_of_the_shape_that_the_package_declares(with_openai):
    from openai.types.responses import Response

    async def work(client, b):
        raw = await client.responses.with_raw_response.create(model="m", input="x", tools=RESPONSE_TOOLS)
        return json.loads(raw.text() if callable(raw.text) else raw.text)

    Response.model_validate(with_openai(work))


def test_a_conversation_goes_on_from_an_earlier_response(with_openai):
    async def work(client, b):
        first = await client.responses.create(model="m", input="Assess partner 4471", tools=RESPONSE_TOOLS)
        result = {"type": "function_call_output", "call_id": first.output[1].call_id, "output": "TICKET-1 is open"}
        second = await client.responses.create(model="m", input=[result], previous_response_id=first.id)
        by_hand = await client.responses.create(
            model="m",
            instructions="Be brief",
            input=[*USER, *(item.model_dump(exclude_none=True) for item in first.output), result],
        )
        kept = await client.responses.retrieve(second.id)
        with pytest.raises(openai.BadRequestError) as unknown:
            await client.responses.create(model="m", input="x", previous_response_id="resp_none")
        unkept = await client.responses.create(model="m", input="x", store=False)
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(unkept.id)
        return second, by_hand, kept, unknown.value

    second, by_hand, kept, unknown = with_openai(work)
    assert second.output_text == by_hand.output_text == kept.output_text == "All done with TICKET-1."
    assert second.usage.input_tokens > 10  # what went before is charged again
    assert unknown.code == "previous_response_not_found"


def test_responses_fill_in_the_schema_that_a_type_asks_for(with_openai):
    async def work(client, b):
        parsed = await client.responses.parse(model="m", input="Assess partner 4471", text_format=Assessment)
        async with client.responses.stream(model="m", input="Assess partner 4471", text_format=Assessment) as stream:
            return parsed, await stream.get_final_response()

    for response in with_openai(work, script=[]):
        assert response.output_parsed.partner_id == "4471"


def test_openai_refuses_in_its_own_shape_and_answers_to_any_model(with_openai):
    async def work(client, b):
        found = {}
        for name, ask in {
            "no input": client.responses.create(model="m"),
            "no model": client.responses.create(input="x"),
            "no messages": client.chat.completions.create(model="m", messages=[]),
            "no endpoint": client.embeddings.create(model="m", input="x"),
        }.items():
            with pytest.raises(openai.APIStatusError) as refused:
                await ask
            found[name] = refused.value
        listed = [model.id async for model in await client.models.list()]
        one = await client.models.retrieve("a-model-of-tomorrow")
        answered = await client.responses.create(model="a-model-of-tomorrow", input="x")
        return found, listed, one, answered

    found, listed, one, answered = with_openai(work)
    assert {name: error.status_code for name, error in found.items()} == {
        "no input": 400, "no model": 400, "no messages": 400, "no endpoint": 404
    }  # fmt: skip
    assert found["no input"].param == "input"
    assert found["no input"].type == "invalid_request_error"
    assert listed == ["gpt-4o-mini", "gpt-4o"]
    assert one.id == answered.model == "a-model-of-tomorrow"


# -------------------------------------------------------------------- Messages


def test_messages_say_the_same_whole_and_streamed_with_text_and_several_calls(with_anthropic):
    async def work(client, b):
        asked = {"model": "claude-sonnet", "max_tokens": 100, "messages": USER, "tools": MESSAGE_TOOLS}
        whole = await client.messages.create(**asked)
        async with client.messages.stream(**asked) as stream:
            kinds = [event.type async for event in stream]
            return whole, await stream.get_final_message(), kinds

    whole, final, kinds = with_anthropic(work)
    type(whole).model_validate(whole.model_dump())
    for message in (whole, final):
        said, opened, notified = message.content
        assert said.text == "I open a ticket and tell them."
        assert (opened.name, opened.input) == ("open", OPENED)
        assert (notified.name, notified.input) == ("notify", {})
        assert opened.id != notified.id
        assert message.stop_reason == "tool_use"
        assert message.usage.input_tokens > 0
        assert message.usage.cache_read_input_tokens == 0
    assert whole.usage.output_tokens == final.usage.output_tokens > 0
    assert whole._request_id.startswith("req_")
    assert kinds[0] == "message_start"
    assert kinds[-1] == "message_stop"
    assert {"text", "input_json", "content_block_stop", "message_delta"} <= set(kinds)


def test_results_of_tools_are_heard_where_anthropic_puts_them(with_anthropic):
    async def work(client, b):
        asked = {"model": "m", "max_tokens": 100, "tools": MESSAGE_TOOLS}
        first = await client.messages.create(**asked, messages=USER, system=[{"type": "text", "text": "Be brief"}])
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": [{"type": "text", "text": "TICKET-1"}]}
            for block in first.content
            if block.type == "tool_use"
        ]
        turns = [*USER, {"role": "assistant", "content": first.content}, {"role": "user", "content": results}]
        return await client.messages.create(**asked, messages=turns)

    message = with_anthropic(work)
    assert message.content[0].text == "All done with TICKET-1."
    assert message.stop_reason == "end_turn"


def test_messages_fill_in_the_schema_that_a_type_asks_for(with_anthropic):
    async def work(client, b):
        asked = {"model": "m", "max_tokens": 100, "messages": USER, "output_format": Assessment}
        parsed = await client.messages.parse(**asked)
        async with client.messages.stream(**asked) as stream:
            return parsed, await stream.get_final_message()

    for message in with_anthropic(work, script=[]):
        assert message.parsed_output.partner_id == "4471"


def test_tokens_are_counted_before_they_are_paid(with_anthropic):
    async def work(client, b):
        asked = {"model": "m", "messages": USER, "tools": MESSAGE_TOOLS}
        counted = await client.messages.count_tokens(**asked)
        return counted, await client.messages.create(**asked, max_tokens=10)

    counted, message = with_anthropic(work)
    assert counted.input_tokens == message.usage.input_tokens


def test_anthropic_refuses_in_its_own_shape_and_answers_to_any_model(with_anthropic):
    async def work(client, b):
        found = []
        for body in (
            {"model": "m", "messages": USER},
            {"max_tokens": 5, "messages": USER},
            {"model": "m", "max_tokens": 5, "messages": []},
            {"model": "m", "max_tokens": 0, "messages": USER},
            {"model": "m", "max_tokens": 5, "messages": [{"role": "robot", "content": "x"}]},
        ):
            with pytest.raises(anthropic.BadRequestError) as refused:
                await client.post("/v1/messages", cast_to=object, body=body)
            found.append(refused.value)
        with pytest.raises(anthropic.NotFoundError) as missing:
            await client.post("/v1/complaints", cast_to=object, body={})
        listed = [model.id async for model in await client.models.list()]
        one = await client.models.retrieve("a-model-of-tomorrow")
        return found, missing.value, listed, one

    found, missing, listed, one = with_anthropic(work)
    for error in found:
        assert error.body["type"] == "error"
        assert error.body["error"]["type"] == "invalid_request_error"
        assert error.body["request_id"] == error.request_id
    assert found[0].body["error"]["message"] == "max_tokens: Field required"
    assert missing.body["error"]["type"] == "not_found_error"
    assert listed == ["claude-sonnet", "claude-haiku"]
    assert one.id == "a-model-of-tomorrow"


@pytest.mark.parametrize("profile", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("kind", "body"), [("application/json", b"{"), ("text/plain", b"{}"), ("application/json", b"[]")]
)
def test_a_body_that_is_no_json_object_is_refused_in_the_services_shape(run, bench, profile, kind, body):
    path = {"openai": "/v1/responses", "anthropic": "/v1/messages"}[profile]

    async def work():
        async with bench(profile) as b, b.connect() as wire:
            return await wire.ask("POST", path, body, {"Content-Type": kind})

    answer = run(work())
    assert answer.status == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert (answer.json().get("type") == "error") is (profile == "anthropic")


# ---------------------------------------- what the clients do about a lost answer


def lost_answers(run, bench, parking_gate, profile, phase, ask):
    """Drop every answer at a phase; return what the client raised, and the attempts that it made by itself."""

    async def work():
        gate = parking_gate(phase)
        async with bench(profile, settings={"script": SCRIPT}, gate=gate) as b:
            asking = asyncio.ensure_future(ask(b))
            for count in (1, 2, 3):
                parked = asyncio.ensure_future(gate.parked())
                await asyncio.wait({parked, asking}, return_when=asyncio.FIRST_COMPLETED)
                parked.cancel()
                if asking.done():
                    break
                gate.sever(1)
                await b.recorder.seen(AttemptDropped, count)
            with pytest.raises(CLIENT_ERRORS) as raised:
                await asking
            return raised.value, b.recorder.of(AttemptReceived), b.recorder.of(AttemptDropped)

    return run(work())


async def chat(b, **more):
    async with openai.AsyncOpenAI(base_url=f"{b.service.url}/v1", api_key="x") as client:
        answer = await client.chat.completions.create(model="m", messages=USER, **more)
        return [chunk async for chunk in answer] if more else answer


async def respond(b, **more):
    async with openai.AsyncOpenAI(base_url=f"{b.service.url}/v1", api_key="x") as client:
        answer = await client.responses.create(model="m", input="x", **more)
        return [event async for event in answer] if more else answer


async def message(b, **more):
    async with anthropic.AsyncAnthropic(base_url=b.service.url, api_key="x") as client:
        answer = await client.messages.create(model="m", max_tokens=9, messages=USER, **more)
        return [event async for event in answer] if more else answer


@pytest.mark.parametrize(
    ("profile", "ask"),
    [("openai", chat), ("openai", respond), ("anthropic", message)],
    ids=["chat", "respond", "message"],
)
def test_a_client_asks_twice_more_by_itself_after_a_lost_answer_and_sends_no_key(
    run, bench, parking_gate, profile, ask
):
    raised, attempts, dropped = lost_answers(run, bench, parking_gate, profile, Phase.APPLIED, ask)
    assert type(raised).__name__ == "APIConnectionError"
    assert len(attempts) == len(dropped) == 3
    assert {attempt.key for attempt in attempts} == {None}
    assert len({attempt.payload_digest for attempt in attempts}) == 1
    assert all(event.cost > 0 for event in dropped)


@pytest.mark.parametrize(
    ("profile", "ask"),
    [("openai", chat), ("openai", respond), ("anthropic", message)],
    ids=["chat", "respond", "message"],
)
@pytest.mark.parametrize("phase", [Phase.STREAM_BEGUN, Phase.STREAM_HALF, Phase.STREAM_WHOLE])
def test_a_client_does_not_ask_again_for_a_stream_that_breaks_off(run, bench, parking_gate, profile, ask, phase):
    raised, attempts, dropped = lost_answers(run, bench, parking_gate, profile, phase, lambda b: ask(b, stream=True))
    # anthropic 2.14.0 lets the error of its HTTP library through here, which no handler of its own errors catches.
    assert isinstance(raised, httpx2.ReadError if profile == "anthropic" else openai.APIConnectionError)
    assert len(attempts) == len(dropped) == 1
    assert dropped[0].cost > 0


@pytest.mark.parametrize("ask", [chat, message], ids=["openai", "anthropic"])
def test_a_client_asks_again_after_these_statuses_and_no_others(run, bench, parking_gate, ask):
    class FailingGate(parking_gate):
        """Fails every call with one status."""

        def __init__(self, status):
            super().__init__()
            self.status = status

        async def reached(self, *, name, occurrence, phase, **_):
            point = CrashPoint(name=name, occurrence=occurrence, phase=phase)
            return Fault(point=point, manner=Manner(kind=FaultKind.FAIL, status=self.status))

    async def attempts(status):
        async with bench("openai" if ask is chat else "anthropic", gate=FailingGate(status)) as b:
            with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)):
                await ask(b)
            return len(b.recorder.of(AttemptReceived))

    async def work():
        statuses = (400, 401, 403, 404, 408, 409, 422, 429, 500, 503, 529)
        return dict(zip(statuses, await asyncio.gather(*map(attempts, statuses)), strict=True))

    counts = run(work())
    assert {status for status, count in counts.items() if count == 3} == {408, 409, 429, 500, 503, 529}
    assert {status for status, count in counts.items() if count == 1} == {400, 401, 403, 404, 422}
