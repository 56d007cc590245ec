"""Durable writes go through one at a time, in the order in which the engine asked for them."""

from __future__ import annotations

import asyncio

import pytest

from ackgap.execute.turnstile import Turnstile


def run(coroutine):
    return asyncio.run(coroutine)


def test_an_empty_turnstile_is_quiet():
    assert Turnstile().is_quiet()


def test_a_write_under_way_holds_the_next_until_it_lands():
    async def scene():
        turnstile = Turnstile()
        turnstile.begin((1, 1), "first")
        second = asyncio.create_task(turnstile.wait_for_quiet(before=(1, 2)))
        await asyncio.sleep(0)
        assert not second.done()
        turnstile.land((1, 1))
        assert await second

    run(scene())


def test_a_write_asked_for_earlier_goes_first_although_it_comes_later():
    async def scene():
        turnstile = Turnstile()
        turnstile.told(1, [1, 2])
        turnstile.told(1, [1])
        turnstile.arrive((1, 2))
        later = asyncio.create_task(turnstile.wait_for_quiet(before=(1, 2)))
        await asyncio.sleep(0)
        assert not later.done()
        turnstile.told(1, [])
        turnstile.arrive((1, 1))
        await asyncio.sleep(0)
        assert not later.done(), "the earlier one is here, and has not gone through"
        assert turnstile.is_quiet(before=(1, 1))
        turnstile.begin((1, 1), "earlier")
        turnstile.land((1, 1))
        assert await later

    run(scene())


def test_a_call_waits_for_a_write_that_waits_for_its_own_turn():
    """Between two writes nothing is under way for a moment; a call must not slip through there."""

    async def scene():
        turnstile = Turnstile()
        turnstile.begin((1, 1), "first")
        turnstile.arrive((1, 2))
        call = asyncio.create_task(turnstile.wait_for_quiet())
        await asyncio.sleep(0)
        turnstile.land((1, 1))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not call.done()
        turnstile.begin((1, 2), "second")
        turnstile.land((1, 2))
        assert await call

    run(scene())


def test_writes_that_wait_for_each_other_are_let_through_together():
    async def scene():
        turnstile = Turnstile()
        turnstile.begin((1, 1), "outer")
        assert not await turnstile.wait_for_quiet(before=(1, 2), limit_s=0.01)

    run(scene())


def test_what_is_only_asked_for_is_not_under_way():
    async def scene():
        turnstile = Turnstile()
        turnstile.told(1, [7])
        assert not turnstile.is_quiet()
        assert await turnstile.wait_until_landed(limit_s=0.01)

    run(scene())


@pytest.mark.parametrize("before", [None, (1, 9)])
def test_a_write_that_leaves_holds_nobody(before):
    turnstile = Turnstile()
    turnstile.arrive((1, 3))
    assert not turnstile.is_quiet(before=before)
    turnstile.leave((1, 3))
    assert turnstile.is_quiet(before=before)


def test_nobody_waits_for_a_write_that_is_held_for_another():
    async def scene():
        turnstile = Turnstile()
        turnstile.arrive((1, 1))
        turnstile.hold((1, 1))
        assert turnstile.is_quiet(before=(1, 2))
        turnstile.release((1, 1))
        assert not turnstile.is_quiet(before=(1, 2))

    run(scene())


def test_a_write_knows_which_others_were_asked_for_before_it():
    turnstile = Turnstile()
    turnstile.begin((1, 1), "under way")
    turnstile.told(1, [2, 5])
    turnstile.arrive((1, 3))
    assert turnstile.ahead_of((1, 3)) == {(1, 1), (1, 2)}


def test_a_race_waits_for_nobody():
    async def scene():
        turnstile = Turnstile(races=True)
        turnstile.begin((1, 1), "first")
        assert not await asyncio.wait_for(turnstile.wait_for_quiet(before=(1, 2), limit_s=60), 5)

    run(scene())
