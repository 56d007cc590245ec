"""Paid calls that were made more often: asked again, or asked for something else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from notation import expect, h

from ackgap.judge import judge
from ackgap.judge.wasted import stage_of
from ackgap.model.event import AttemptReceived, Json
from ackgap.model.history import History

CALL = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "file"}}]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "filed"}
SAID = {"role": "assistant", "content": []}
ASK = {"role": "user", "content": "file it"}


def judged(text: str, payloads: list[Json]) -> Any:
    """Judge a history whose calls of the model carry these payloads, in their order."""
    run = h(text)
    left = list(payloads)
    events = tuple(
        replace(event, payload=left.pop(0))
        if isinstance(event, AttemptReceived) and event.operation == "model.chat"
        else event
        for event in run.history
    )
    assert not left
    return judge(History(events=events), expect("model.chat [a] tickets.create [b] model.chat [c]"), run.schedule)


LIVES = "1> model.chat [a] tickets.create [b] KILL | 2> model.chat [x] model.chat [c] DONE"


def test_a_conversation_that_begins_anew_is_wasted_in_whatever_words() -> None:
    verdict = judged(
        LIVES,
        [
            {"messages": [ASK]},
            {"messages": [{"role": "system", "content": "you were restarted"}, {**ASK, "content": "file this"}]},
            {"messages": [ASK, CALL, RESULT]},
        ],
    )
    assert verdict.kind == "wasted"
    assert [finding.code for finding in verdict.findings] == ["wasted"]


def test_a_question_that_had_not_been_asked_before_is_paid_for_and_repeats_nothing() -> None:
    verdict = judged(
        LIVES,
        [
            {"messages": [ASK]},
            {"messages": [ASK, CALL, {**RESULT, "content": "interrupted"}]},
            {"messages": [ASK, CALL, {**RESULT, "content": "interrupted"}, CALL, RESULT]},
        ],
    )
    assert verdict.kind == "wasted"
    (finding,) = verdict.findings
    assert finding.code == "more_paid_work"
    assert "besides had not been asked before" in finding.summary
    assert finding.attribution is not None
    assert finding.attribution.preventable_by == ("worker",)


def test_the_same_words_in_another_place_of_the_conversation_are_no_repeat() -> None:
    one, two = {"messages": [ASK]}, {"messages": [ASK, CALL, RESULT, ASK]}
    assert stage_of(one) != stage_of(two)


@pytest.mark.parametrize(
    ("payload", "stage"),
    [
        ({"messages": [ASK, CALL, RESULT]}, ("assistant", "tool")),
        ({"input": [ASK, {"type": "function_call"}, {"type": "output"}]}, ("function_call", "output")),
        ({"messages": [ASK, SAID, {"role": "user", "content": [{"type": "tool_result"}]}]}, ("assistant", "tool")),
        ({"messages": []}, ()),
        ({"input": "file it"}, None),
        ({"input": [ASK], "previous_response_id": "r"}, None),
        ({"messages": ["x"]}, None),
        ({"query": "x"}, None),
        ("text", None),
        (None, None),
    ],
)
def test_how_far_a_conversation_is_shows_by_what_the_model_said_and_was_given(payload: Json, stage: Any) -> None:
    assert stage_of(payload) == stage
