"""The scripted model: deterministic, reworded by each restart, streaming and not, and priced."""

from __future__ import annotations

import json

import pytest

from ackgap.model.event import AttemptAnswered
from ackgap.target.models.usage import token_count

TOOL = {
    "type": "function",
    "function": {
        "name": "create_ticket",
        "parameters": {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "urgency": {"enum": ["low", "high"]},
                "copies": {"type": "integer"},
            },
        },
    },
}
SCRIPT = [
    {
        "when": {"tool": "create_ticket"},
        "call": {"tool": "create_ticket", "arguments": [{"title": "A"}, {"title": "B"}]},
    },
    {"when": {"last_role": "tool"}, "say": "All done."},
    {"when": {"contains": ["aurelia", "assess"]}, "say": ["Aurelia is sound.", "Aurelia looks sound.", "Sound."]},
]


def request(text="Assess Aurelia", **more):
    return {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}], **more}


def message(handled):
    return json.loads(handled.answer.body)["choices"][0]["message"]


def ask(model, body, **more):
    return model.ask("POST", "/v1/chat/completions", body, **more)


def test_one_life_always_hears_the_same_words_and_each_restart_the_next(shop):
    model = shop("model", settings={"script": SCRIPT})
    lives = [[message(ask(model, request(), incarnation=life))["content"] for _ in range(2)] for life in (1, 2, 3, 4)]
    assert lives == [
        ["Aurelia is sound."] * 2,
        ["Aurelia looks sound."] * 2,
        ["Sound."] * 2,
        ["Aurelia is sound. To say it once more."] * 2,
    ]


def test_drift_shifts_the_words_of_the_first_life(shop):
    model = shop("model", settings={"script": SCRIPT}, drift=1)
    assert message(ask(model, request()))["content"] == "Aurelia looks sound."


def test_a_tool_call_keeps_its_intent_and_changes_its_words_and_id(shop):
    model = shop("model", settings={"script": SCRIPT})
    first, second = (message(ask(model, request(tools=[TOOL]), incarnation=life))["tool_calls"][0] for life in (1, 2))
    assert first["function"]["name"] == second["function"]["name"] == "create_ticket"
    assert [json.loads(call["function"]["arguments"]) for call in (first, second)] == [{"title": "A"}, {"title": "B"}]
    assert first["id"] != second["id"]


def test_the_same_run_gives_the_same_bytes(shop):
    def once():
        model = shop("model", settings={"script": SCRIPT})
        return [ask(model, request(tools=[TOOL]), occurrence=n).answer.body for n in (1, 2)]

    assert once() == once()
    assert once()[0] != once()[1]  # another call of one life has another id


def test_the_first_entry_that_applies_is_used_and_turns_can_be_told_apart(shop):
    script = [{"when": {"turn": 1}, "say": "first"}, {"when": {"turn": 2}, "say": "second"}, *SCRIPT]
    model = shop("model", settings={"script": script})
    assert message(ask(model, request()))["content"] == "first"
    later = request()
    later["messages"] += [{"role": "assistant", "content": "first"}, {"role": "tool", "content": "ok"}]
    assert message(ask(model, later))["content"] == "second"
    later["messages"] += [{"role": "assistant", "content": "x"}, {"role": "tool", "content": "ok"}]
    assert message(ask(model, later))["content"] == "All done."


def test_an_unscripted_model_fills_in_the_tool_it_is_forced_to_call_in_other_words_each_life(shop):
    model = shop("model")
    forced = request(tools=[TOOL], tool_choice={"type": "function", "function": {"name": "create_ticket"}})
    calls = [
        json.loads(message(ask(model, forced, incarnation=n))["tool_calls"][0]["function"]["arguments"]) for n in (1, 2)
    ]
    assert calls[0]["title"] != calls[1]["title"]
    assert calls[0]["urgency"] == calls[1]["urgency"] == "low"
    assert calls[0]["copies"] == 1
    assert message(ask(model, request("hello")))["content"]


@pytest.mark.parametrize("body", [{}, {"model": "m"}, {"model": "m", "messages": []}, {"messages": [{}]}, [1], "x"])
def test_a_request_that_is_none_is_refused_in_the_services_shape_and_costs_nothing(shop, body):
    refused = ask(shop("model"), body)
    assert refused.answer.status == 400
    assert json.loads(refused.answer.body)["error"]["type"] == "invalid_request_error"
    assert refused.cost == 0.0


@pytest.mark.parametrize(
    "body",
    [
        {"model": "m", "messages": ["text", 5, None]},
        {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}, 5]}], "tools": "x"},
        {
            "model": "m",
            "messages": [{"content": None}],
            "tools": [None, {"function": 3}],
            "tool_choice": {"function": {}},
        },
    ],
)
def test_odd_requests_are_answered_all_the_same(shop, body):
    assert ask(shop("model", settings={"script": SCRIPT}), body).answer.status == 200


def test_tokens_are_counted_and_priced(shop):
    model = shop("model", settings={"script": SCRIPT, "input_price": 10.0, "output_price": 100.0})
    handled = ask(model, request())
    usage = json.loads(handled.answer.body)["usage"]
    assert usage["completion_tokens"] == token_count("Aurelia is sound.") == 5
    assert usage["total_tokens"] == usage["prompt_tokens"] + 5
    assert handled.cost == pytest.approx(usage["prompt_tokens"] * 10e-6 + 5 * 100e-6)


@pytest.mark.parametrize("tools", [None, [TOOL]])
def test_a_stream_says_the_same_in_pieces(run, bench, shop, tools):
    body = request(**({"tools": tools} if tools else {}))
    whole = message(ask(shop("model", settings={"script": SCRIPT}), body))

    async def work():
        async with bench("model", settings={"script": SCRIPT}) as b, b.connect() as wire:
            streamed = {**body, "stream": True, "stream_options": {"include_usage": True}}
            answer = await wire.ask("POST", "/v1/chat/completions", streamed)
            return answer, await b.recorder.seen(AttemptAnswered)

    answer, answered = run(work())
    assert answer.headers["content-type"].startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in answer.body.decode().split("\n\n") if line]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    assert chunks[-1]["usage"]["total_tokens"] > 0
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
    assert len(deltas) > 3
    text = "".join(delta.get("content") or "" for delta in deltas)
    calls = [call for delta in deltas for call in delta.get("tool_calls", [])]
    arguments = "".join(call["function"]["arguments"] for call in calls)
    if tools:
        assert arguments == whole["tool_calls"][0]["function"]["arguments"]
        assert chunks[-2]["choices"][0]["finish_reason"] == "tool_calls"
    else:
        assert text == whole["content"]
    assert answered.cost > 0


@pytest.mark.slow
def test_the_official_client_understands_the_model_streaming_and_not(run, bench):
    openai = pytest.importorskip("openai")

    async def work():
        async with (
            bench("model", settings={"script": SCRIPT}) as b,
            openai.AsyncOpenAI(base_url=f"{b.service.url}/v1", api_key="x", max_retries=0) as client,
        ):
            models = [model.id async for model in await client.models.list()]
            said = await client.chat.completions.create(**request())
            called = await client.chat.completions.create(**request(tools=[TOOL]))
            stream = await client.chat.completions.create(**request(), stream=True)
            pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
            with pytest.raises(openai.NotFoundError):
                await client.embeddings.create(model="m", input="x")
            with pytest.raises(openai.BadRequestError):
                await client.chat.completions.create(model="m", messages=[])
        return models, said, called, "".join(pieces)

    models, said, called, streamed = run(work())
    assert models == ["gpt-4o-mini"]
    assert said.choices[0].message.content == streamed == "Aurelia is sound."
    assert called.choices[0].message.tool_calls[0].function.name == "create_ticket"
