"""Lives that begin at once pass their boundaries in turn, and none waits for one that does not come."""

from __future__ import annotations

import asyncio

import pytest

from ackgap.execute import turns as module
from ackgap.execute.turns import Turns


async def walk(turns: Turns, life: int, steps: int, seen: list[str]) -> None:
    for step in range(steps):
        await turns.take(life)
        seen.append(f"{life}.{step}")
        await asyncio.sleep(0)
    turns.leave(life)


def test_two_lives_pass_one_boundary_each_whoever_comes_first():
    async def scene(first: int, second: int) -> list[str]:
        seen: list[str] = []
        turns = Turns([2, 3])
        await asyncio.gather(walk(turns, first, 3, seen), walk(turns, second, 3, seen))
        return seen

    wanted = ["2.0", "3.0", "2.1", "3.1", "2.2", "3.2"]
    assert asyncio.run(scene(2, 3)) == wanted
    assert asyncio.run(scene(3, 2)) == wanted


def test_a_life_that_is_over_is_waited_for_no_more():
    async def scene() -> list[str]:
        seen: list[str] = []
        turns = Turns([2, 3])
        await asyncio.gather(walk(turns, 2, 1, seen), walk(turns, 3, 3, seen))
        return seen

    assert asyncio.run(scene()) == ["2.0", "3.0", "3.1", "3.2"]


def test_a_life_that_waits_for_a_lock_of_another_is_passed_over(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "OVERDUE_S", 0.02)

    async def scene() -> list[str]:
        seen: list[str] = []
        turns, lock = Turns([2, 3]), asyncio.Event()

        async def holder() -> None:
            await walk(turns, 2, 3, seen)
            lock.set()

        async def waiter() -> None:
            await turns.take(3)
            seen.append("3.0")
            await lock.wait()
            await turns.take(3)
            seen.append("3.1")
            turns.leave(3)

        await asyncio.wait_for(asyncio.gather(holder(), waiter()), 10)
        return seen

    assert asyncio.run(scene()) == ["2.0", "3.0", "2.1", "2.2", "3.1"]


def test_whoever_takes_no_part_passes_at_once():
    async def scene() -> None:
        await asyncio.wait_for(Turns([2, 3]).take(1), 5)

    asyncio.run(scene())


def test_a_life_that_is_over_lets_its_own_threads_go():
    async def scene() -> None:
        turns = Turns([2, 3])
        standing = [asyncio.create_task(turns.take(2)) for _ in range(2)]
        await asyncio.sleep(0)
        assert not any(task.done() for task in standing)
        turns.leave(2)
        await asyncio.wait_for(asyncio.gather(*standing), 5)

    asyncio.run(scene())
