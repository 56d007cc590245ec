"""A described identity that is only usual is given up where a worker in peace does several things under it."""

from __future__ import annotations

from collections.abc import Sequence

from ackgap.judge import judge
from ackgap.model.event import (
    AttemptAnswered,
    AttemptReceived,
    Decision,
    EffectApplied,
    IncarnationStarted,
    WorkFinished,
)
from ackgap.model.expectation import Expectation, OperationFacts
from ackgap.model.history import History
from ackgap.model.schedule import UNDISTURBED
from ackgap.model.verdict import VerdictKind
from ackgap.plan.census import take_census

POST = "slack.post"


def history(*texts: str, lives: Sequence[int] = ()) -> History:
    events: list = []

    def add(kind, **values):
        events.append(kind(seq=len(events) + 1, at_s=0.0, **values))

    add(IncarnationStarted, incarnation=1, pid=1, command=(), clock_offset_s=0.0, store_digest="d")
    for number, text in enumerate(texts, start=1):
        life = lives[number - 1] if lives else 1
        body = {"channel": "#care", "text": text}
        add(
            AttemptReceived,
            attempt=number,
            incarnation=life,
            target="slack",
            operation=POST,
            occurrence=number,
            method="POST",
            path="/post",
            effectful=True,
            paid=False,
            key=None,
            payload=body,
            payload_digest=str(number),
        )
        add(
            EffectApplied,
            effect=number,
            attempt=number,
            incarnation=life,
            target="slack",
            operation=POST,
            object_id=str(number),
            identity={"body.channel": "#care"},
            content=body,
        )
        add(AttemptAnswered, attempt=number, status=200, decision=Decision.APPLIED)
    add(WorkFinished, incarnation=1, how="exit 0")
    return History(events=tuple(events))


def yardstick(*probes: History, weak: bool = True, declared: int | None = None) -> Expectation:
    facts = OperationFacts(
        name=POST, noun=("message", "messages"), effectful=True, identity=("body.channel",), identity_weak=weak
    )
    return take_census(*probes, {POST: facts}, declared_counts={} if declared is None else {POST: declared})


def verdict(seen: History, expectation: Expectation) -> VerdictKind:
    return judge(seen, expectation, UNDISTURBED).kind


PEACE = history("done with A", "done with B")


def test_two_different_messages_to_one_channel_are_right_in_peace():
    assert verdict(PEACE, yardstick(PEACE, PEACE)) is VerdictKind.OK


def test_where_the_identity_is_certain_two_are_one_too_many_also_in_peace():
    assert verdict(PEACE, yardstick(PEACE, PEACE, weak=False)) is VerdictKind.DUPLICATE


def test_the_same_message_twice_is_a_repeat_also_in_peace():
    same = history("done with A", "done with A")
    assert verdict(same, yardstick(same, same)) is VerdictKind.DUPLICATE


def test_one_message_of_reworded_text_is_still_told_by_its_channel():
    expectation = yardstick(history("a word"), history("another"))
    assert verdict(history("a third"), expectation) is VerdictKind.OK
    assert verdict(history("a third", "a fourth", lives=(1, 2)), expectation) is VerdictKind.DUPLICATE


def test_a_repeat_of_one_of_them_is_found():
    assert (
        verdict(history("done with A", "done with A", "done with B"), yardstick(PEACE, PEACE)) is VerdictKind.DUPLICATE
    )


def test_a_repeat_beside_a_loss_is_found_although_the_number_is_right():
    expectation = yardstick(PEACE, PEACE)
    assert verdict(history("done with A", "done with A"), expectation) is VerdictKind.DUPLICATE


def test_a_declared_number_does_not_make_a_copy_right():
    expectation = yardstick(PEACE, history("ready: A", "ready: B"), declared=2)
    assert verdict(history("A it is", "A it is", lives=(1, 2)), expectation) is VerdictKind.DUPLICATE


def test_a_declared_number_of_reworded_messages_is_right_with_a_remark():
    expectation = yardstick(PEACE, history("ready: A", "ready: B"), declared=2)
    found = judge(history("A it is", "and B", lives=(1, 2)), expectation, UNDISTURBED)
    assert found.kind is VerdictKind.OK
    assert [finding.code for finding in found.findings if finding.code == "counted_only"]


def test_another_message_in_the_place_of_one_that_always_said_the_same_is_told():
    said = history("order 4471 was shipped")
    found = judge(history("sorry, I was restarted"), yardstick(said, said), UNDISTURBED)
    assert "identity_moved" in [finding.code for finding in found.findings]
