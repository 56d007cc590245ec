"""What a scripted model says, how it drifts, what it makes up, and how mistakes in scripts are told."""

from __future__ import annotations

import itertools
import json

import pytest

from ackgap.errors import ScenarioInvalid
from ackgap.target.models.conversation import Conversation, Message, Reply, ToolCall, text_of
from ackgap.target.models.drift import DRIFTS, Variation, drifted
from ackgap.target.models.invention import acknowledgement, invented
from ackgap.target.models.script import reply_of
from ackgap.target.models.usage import cost_of
from ackgap.target.profiles.facts import chosen_settings
from ackgap.target.profiles.profile import load_profile

ASK = {
    "openai": ("/v1/chat/completions", {"model": "m"}),
    "anthropic": ("/v1/messages", {"model": "m", "max_tokens": 9}),
}
ORDER = {"title": "t", "partner_id": "4471", "parts": {"a": 1, "b": 2, "c": 3}}
SEVERAL = [
    {"calls": [{"tool": name, "arguments": [ORDER, {**ORDER, "title": "u"}]} for name in ("one", "two", "three")]}
]


def calls_of(handled):
    """Return (id, tool, arguments as written) of each call, in either service's shape."""
    body = json.loads(handled.answer.body)
    if "content" in body:
        return [
            (block["id"], block["name"], json.dumps(block["input"]))
            for block in body["content"]
            if block["type"] == "tool_use"
        ]
    calls = body["choices"][0]["message"].get("tool_calls", [])
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls]


@pytest.fixture(params=ASK)
def lives(request, shop):
    """Return what each of three lives hears when it asks the same."""

    def hear(script, drift=(), seed=0, start=0, occurrence=1):
        path, body = ASK[request.param]
        settings = {"script": script, "seed": seed, **({"drift": list(drift)} if drift else {})}
        model = shop(request.param, settings=settings, drift=start)
        asked = {**body, "messages": [{"role": "user", "content": "Order 4471 please"}]}
        return [model.ask("POST", path, asked, incarnation=n, occurrence=occurrence) for n in (1, 2, 3)]

    return hear


def test_wordings_drift_by_default_and_ids_with_them(lives):
    one, two, three = map(calls_of, lives(SEVERAL))
    assert [json.loads(arguments)["title"] for _, _, arguments in one] == ["t"] * 3
    assert [json.loads(arguments)["title"] for _, _, arguments in two] == ["u"] * 3
    assert [arguments for *_, arguments in one] == [arguments for *_, arguments in three]
    assert len({identifier for life in (one, two, three) for identifier, *_ in life}) == 9


def test_argument_order_drifts_alone_and_differs_between_lives_in_a_row(lives):
    found = [calls_of(handled)[0][2] for handled in lives(SEVERAL, ["argument_order"])]
    assert [json.loads(text) for text in found] == [ORDER] * 3
    assert list(json.loads(found[0])) == list(ORDER)
    assert len(set(found)) == 3
    assert len({json.dumps(json.loads(text)["parts"]) for text in found}) == 3


def test_an_extra_field_comes_with_each_restart_and_is_another_each_time(lives):
    first, *later = [json.loads(calls_of(handled)[0][2]) for handled in lives(SEVERAL, ["extra_field"])]
    assert first == ORDER
    assert all({**ORDER, "note": found["note"]} == found for found in later)
    assert later[0] != later[1]


def test_an_extra_field_never_takes_the_place_of_a_real_one(lives):
    script = [{"call": {"tool": "t", "arguments": [{"note": "mine"}]}}]
    second = json.loads(calls_of(lives(script, ["extra_field"])[1])[0][2])
    assert second["note"] == "mine"
    assert set(second) == {"note", "comment"}


def test_call_ids_drift_alone(lives):
    found = [calls_of(handled) for handled in lives(SEVERAL, ["call_id"])]
    assert len({str([call[1:] for call in life]) for life in found}) == 1
    assert len({str([call[0] for call in life]) for life in found}) == 3


def test_the_order_of_calls_drifts_alone(lives):
    found = [[name for _, name, _ in calls_of(handled)] for handled in lives(SEVERAL, ["tool_order"])]
    assert found == [["one", "two", "three"], ["two", "three", "one"], ["three", "one", "two"]]


def test_a_decision_changes_in_the_second_life_and_not_in_the_second_undisturbed_run(lives):
    script = [{"say": "yes", "call": {"tool": "pay"}, "instead": {"say": "no"}}]
    assert [len(calls_of(handled)) for handled in lives(script, ["decision"])] == [1, 0, 0]
    assert [len(calls_of(handled)) for handled in lives(script, ["decision"], start=1)] == [1, 0, 0]
    assert [len(calls_of(handled)) for handled in lives(script)] == [1, 1, 1]


def test_nothing_drifts_from_a_recording_not_even_over_time(lives):
    bodies = {handled.answer.body for handled in lives(SEVERAL, ["none"])}
    bodies |= {handled.answer.body for handled in lives(SEVERAL, ["none"], start=1, occurrence=7)}
    assert len(bodies) == 1


def test_an_entry_may_drift_in_its_own_way(lives):
    script = [{**SEVERAL[0], "drift": ["none"]}]
    assert len({handled.answer.body for handled in lives(script, ["wording", "tool_order"])}) == 1


@pytest.mark.parametrize("drift", [[kind] for kind in DRIFTS])
def test_equal_seeds_say_equal_bytes_and_other_seeds_other_ids(lives, drift):
    def bodies(seed):
        script = [{**SEVERAL[0], "instead": {"say": "no"}}]
        return [handled.answer.body for handled in lives(script, drift, seed=seed)]

    assert bodies(5) == bodies(5)
    assert bodies(5)[0] != bodies(6)[0]


@pytest.mark.parametrize("seed", range(7))
@pytest.mark.parametrize("count", range(2, 6))
def test_two_lives_in_a_row_never_have_the_same_order(seed, count):
    reply = Reply(calls=tuple(ToolCall(tool=str(number), arguments={}) for number in range(count)))
    orders = [
        [call.tool for call in drifted(reply, Variation(number=n, seed=seed, kinds=frozenset({"tool_order"}))).calls]
        for n in range(9)
    ]
    assert all(one != two for one, two in itertools.pairwise(orders))
    assert all(sorted(order) == sorted(orders[0]) for order in orders)


def test_arguments_that_are_no_json_reach_whoever_takes_text_and_are_empty_for_others(lives):
    heard = calls_of(lives([{"call": {"tool": "t", "arguments": ["{broken"]}}])[0])[0][2]
    assert heard in ("{broken", "{}")


# ------------------------------------------------------------------- invention

TALK = Conversation(
    model="m",
    messages=(
        Message(role="user", text="ignored 999"),
        Message(role="user", text="Refund order INV-20 of partner 4471: amount 12.5, 3 copies"),
    ),
)


def test_an_acknowledgement_changes_its_words_and_keeps_ids_and_numbers():
    said = [acknowledgement(TALK, wording) for wording in range(3)]
    assert len(set(said)) == 3
    for text in said:
        assert all(fact in text for fact in ("INV-20", "4471", "12.5"))
        assert "999" not in text


def test_invented_arguments_keep_facts_and_reword_the_rest():
    schema = {
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "partnerId": {"type": "string"},
            "reason": {"type": "string"},
            "amount": {"type": "number"},
            "copies": {"type": "integer"},
            "kind": {"enum": ["full", "partial"]},
            "urgent": {"type": "boolean"},
            "lines": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/Line"}},
            "remark": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "none": {"type": ["null", "string"]},
            "fixed": {"const": 7},
        },
        "$defs": {"Line": {"type": "object", "properties": {"sku": {"type": "string"}}}},
    }
    one, two = (invented(schema, TALK, wording) for wording in (0, 1))
    assert one["order_id"] == two["order_id"] == "INV-20"
    assert one["partnerId"] == two["partnerId"] == "4471"
    assert one["amount"] == two["amount"] == 12.5
    assert isinstance(one["copies"], int)
    assert one["reason"] != two["reason"]
    assert (one["kind"], one["urgent"], one["fixed"]) == ("full", True, 7)
    assert len(one["lines"]) == 2
    assert one["lines"] == two["lines"]
    assert isinstance(one["remark"], str)
    assert isinstance(one["none"], str)


def test_a_schema_that_refers_to_itself_ends():
    schema = {"$ref": "#/$defs/Node", "$defs": {"Node": {"properties": {"next": {"$ref": "#/$defs/Node"}}}}}
    assert "next" in invented(schema, TALK, 0)


@pytest.mark.parametrize("schema", [{}, {"type": "array"}, {"$ref": 5}, {"enum": []}, {"anyOf": []}, {"properties": 5}])
def test_odd_schemas_are_filled_in_all_the_same(schema):
    invented({"type": "object", "properties": {"x": schema}}, TALK, 0)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        ([{"type": "text", "text": "a"}, 5, {"type": "image"}], "a\n"),
        ([{"content": [{"text": "b"}]}], "b"),
        (None, ""),
        (5, ""),
    ],
)
def test_the_text_of_a_message_is_read_from_every_form(content, text):
    assert text_of(content) == text


def test_tokens_are_priced_by_the_million():
    assert cost_of({"input_price": 3.0, "output_price": 15.0}, 1_000_000, 2_000_000) == 33.0
    assert cost_of({}, 5, 5) == 0.0


# -------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"drift": []}, "drift"),
        ({"drift": ["words"]}, "drift[0]"),
        ({"drift": ["none", "wording"]}, "drift"),
        ({"script": [{"say": "x", "calls": []}]}, "script[0].calls"),
        ({"script": [{"calls": [{"tool": "a"}, {"tool": 5}]}]}, "script[0].calls[1]"),
        ({"script": [{"call": {"tool": "a"}, "calls": [{"tool": "a"}]}]}, "script[0]"),
        ({"script": [{"call": {"tool": "a", "args": []}}]}, "script[0].call.args"),
        ({"script": [{"call": {"tool": "a", "arguments": [5]}}]}, "script[0].call.arguments"),
        ({"script": [{"say": [5]}]}, "script[0].say"),
        ({"script": [{"say": ""}]}, "script[0].say"),
        ({"script": [{"say": "x", "drift": ["word"]}]}, "script[0].drift[0]"),
        ({"script": [{"say": "x", "drift": ["decision"]}]}, "script[0].drift"),
        ({"script": [{"say": "x", "instead": "no"}]}, "script[0].instead"),
        ({"script": [{"say": "x", "instead": {}}]}, "script[0].instead"),
        ({"script": [{"say": "x", "instead": {"say": "y", "when": {}}}]}, "script[0].instead.when"),
        ({"script": [{"say": "x", "when": {"turn": 0}}]}, "script[0].when.turn"),
        ({"script": [{"say": "x", "when": {"tool": 5}}]}, "script[0].when.tool"),
        ({"script": [{"say": "x", "when": {"contains": [5]}}]}, "script[0].when.contains"),
        ({"script": [{"say": "x", "when": 5}]}, "script[0].when"),
        ({"script": [{"say": "x"}, {"says": "x"}]}, "script[1].says"),
    ],
)
@pytest.mark.parametrize("profile", ["model", "openai", "anthropic"])
def test_a_mistake_is_told_with_its_place(profile, settings, place):
    with pytest.raises(ScenarioInvalid) as told:
        chosen_settings(load_profile(profile), "llm", settings)
    assert told.value.where == f"targets.llm.settings.{place}"


@pytest.mark.parametrize("drift", [[kind] for kind in DRIFTS])
def test_each_kind_of_drift_is_accepted(drift):
    assert chosen_settings(load_profile("openai"), "llm", {"drift": drift})["drift"] == drift


def test_wordings_that_are_used_up_never_come_back_as_they_were():
    script = [
        {"say": ["It is done now", "We did it"], "call": {"tool": "t", "arguments": [{"id": "A1", "text": "a b"}]}}
    ]
    said = [reply_of(TALK, script, Variation(number=number))[0].text for number in range(7)]
    assert len(set(said)) == 7
    assert said[:2] == ["It is done now", "We did it"]


def test_a_wording_that_stands_alone_is_said_again_as_it_is():
    said = {reply_of(TALK, [{"say": ["Only this text"]}], Variation(number=n))[0].text for n in range(5)}
    assert said == {"Only this text"}


def test_an_id_among_the_wordings_stays_when_they_are_used_up():
    script = [{"call": {"tool": "t", "arguments": [{"id": "A1", "text": "a b"}, {"id": "A1", "text": "c d"}]}}]
    calls = [reply_of(TALK, script, Variation(number=number))[0].calls[0].arguments for number in range(6)]
    assert {call["id"] for call in calls} == {"A1"}
    assert len({call["text"] for call in calls}) == 6


def test_what_nobody_scripted_never_comes_back_as_it_was_either():
    texts = [acknowledgement(TALK, number) for number in range(9)]
    filled = [invented({"type": "object", "properties": {"summary": {"type": "string"}}}, TALK, n) for n in range(9)]
    assert len(set(texts)) == 9
    assert len({json.dumps(value) for value in filled}) == 9
