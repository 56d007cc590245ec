"""A service that makes a repeat wait: two connections, one key, and what the second hears of the first."""

from __future__ import annotations

import asyncio

import pytest

from ackgap.model.boundary import Phase
from ackgap.model.event import AttemptAnswered, AttemptDropped, AttemptReceived, Decision, EffectApplied, Note

PROFILE = """
name = "own"
title = "t"
about = "a"
default_protection = "wait"
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
[[operations.outcomes]]
when = { "body.a" = "boom" }
answer = { status = 500 }
[protections.wait]
title = "the second waits for the answer of the first"
[protections.wait.key]
place = "header.idempotency-key"
concurrent = "wait"
stores = "successes"
replay_headers = { "X-Again" = "yes" }
"""
KEY = {"Idempotency-Key": "k"}


@pytest.fixture
def both(bench, parking_gate, profile_file, as_bytes):
    """Return what runs a scene: the first request is parked at a phase, and the second of another life has come."""

    async def play(phase, body, scene):
        gate = parking_gate(phase)
        async with bench(profile_file(PROFILE), gate=gate) as b, b.connect() as first:
            await first.send(as_bytes("POST", "/things", body, KEY))
            await gate.parked()
            gate.phases.clear()
            gate.life = 2
            async with b.connect() as second:
                await second.send(as_bytes("POST", "/things", body, KEY))
                await b.recorder.seen(AttemptReceived, 2)
                for _ in range(20):  # turns enough for an answer that is not to be given yet
                    await asyncio.sleep(0)
                assert b.recorder.of(AttemptAnswered) == []
                heard = await scene(b, gate, first, second)
            assert b.recorder.of(Note) == []
            return heard, b.recorder

    return play


def ends(recorder):
    return [
        (event.attempt, event.decision)
        for event in recorder.events
        if isinstance(event, AttemptAnswered | AttemptDropped)
    ]


def test_the_second_waits_for_the_answer_of_the_first_and_gets_the_same(run, both):
    async def scene(b, gate, first, second):
        gate.release()
        return await first.answer(), await second.answer()

    (one, two), recorder = run(both(Phase.APPLIED, {"a": 1}, scene))
    assert (one.status, two.status, two.headers["x-again"]) == (201, 201, "yes")
    assert one.json() == two.json()
    assert sorted(ends(recorder)) == [(1, Decision.APPLIED), (2, Decision.REPLAYED)]
    assert [(effect.attempt, effect.incarnation) for effect in recorder.of(EffectApplied)] == [(1, 1)]


def test_the_second_gets_what_the_service_finished_although_the_first_life_died(run, both):
    async def scene(b, gate, first, second):
        b.service.expect_death(1)
        gate.sever(1)
        await b.service.drain(1)
        assert await first.end() in {b"", b"reset"}
        return await second.answer()

    two, recorder = run(both(Phase.APPLIED, {"a": 1}, scene))
    (effect,) = recorder.of(EffectApplied)
    assert (two.status, two.json()["id"]) == (201, effect.object_id)
    assert ends(recorder) == [(1, Decision.APPLIED), (2, Decision.REPLAYED)]
    assert effect.incarnation == 1


def test_the_second_is_a_first_one_where_the_first_life_died_before_anything_was_done(
    run, bench, parking_gate, profile_file, as_bytes
):
    async def work():
        gate = parking_gate(Phase.RECEIVED)
        async with bench(profile_file(PROFILE), gate=gate) as b, b.connect() as first:
            await first.send(as_bytes("POST", "/things", {"a": 1}, KEY))
            await gate.parked()
            gate.phases.clear()
            gate.sever(1)
            await b.service.drain(1)
            gate.life = 2
            async with b.connect() as second:
                return (await second.ask("POST", "/things", {"a": 1}, KEY)).status, b.recorder.of(EffectApplied)

    status, effects = run(work())
    assert status == 201
    assert [(effect.attempt, effect.incarnation) for effect in effects] == [(2, 2)]


def test_the_second_is_worked_on_where_the_first_failed_and_its_answer_is_not_kept(run, both):
    async def scene(b, gate, first, second):
        gate.release()
        return await first.answer(), await second.answer()

    answers, recorder = run(both(Phase.APPLIED, {"a": "boom"}, scene))
    assert [(answer.status, "x-again" in answer.headers) for answer in answers] == [(500, False)] * 2
    assert sorted(ends(recorder)) == [(1, Decision.REJECTED), (2, Decision.REJECTED)]


def test_a_life_that_dies_while_it_waits_takes_nothing_along(run, both):
    async def scene(b, gate, first, second):
        b.service.expect_death(2)
        await b.service.drain(2)
        assert await second.end() in {b"", b"reset"}
        assert b.service.requests_in_flight() == 1
        gate.release()
        return await first.answer()

    one, recorder = run(both(Phase.APPLIED, {"a": 1}, scene))
    assert one.status == 201
    assert sorted(ends(recorder), key=lambda end: end[0]) == [(1, Decision.APPLIED), (2, None)]
    assert len(recorder.of(EffectApplied)) == 1
