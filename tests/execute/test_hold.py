"""A worker that goes on while a durable write of its is held does not wait for its writes."""

from __future__ import annotations

import asyncio

import pytest

from ackgap.execute import hold as module
from ackgap.execute.hold import HoldObservation
from ackgap.execute.resting import Patience
from ackgap.scenario.scenario import HoldProof

WRITE, CALL = "langgraph.put.step1#1:committing", "tickets.create#1:sending"


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_LIMIT_S", 0.05)


def outcome(*, before: tuple[str, ...] = (), meanwhile: tuple[str, ...] = (), until: str = CALL) -> str:
    async def scene() -> str:
        observation = HoldObservation(HoldProof(hold=WRITE, until=until, expect="waits"))
        for point in before:
            observation.arrived(point)
        held = asyncio.create_task(observation.hold(WRITE, Patience()))
        await asyncio.sleep(0)
        for point in meanwhile:
            observation.arrived(point)
        await held
        assert observation.concluded.is_set()
        return observation.outcome

    return asyncio.run(scene())


def test_a_worker_that_comes_nowhere_waits():
    assert outcome(before=("model.chat#1:sending",), meanwhile=("model.chat#1:returned",)) == "waits"


def test_a_worker_that_comes_to_the_next_call_goes_on():
    assert outcome(meanwhile=(CALL,)) == "goes_on"


def test_a_worker_that_has_come_there_before_its_write_began_has_gone_on():
    assert outcome(before=(CALL,)) == "goes_on"


def test_what_fits_a_pattern_proves_nothing_before_the_write_has_begun():
    assert outcome(before=("model.chat#1:sending",), until="*:sending") == "waits"
    assert outcome(meanwhile=(CALL,), until="*:sending") == "goes_on"


def test_only_the_point_that_is_named_is_held():
    async def scene() -> None:
        observation = HoldObservation(HoldProof(hold=WRITE, until=CALL, expect="waits"))
        await observation.hold("langgraph.put.step0#1:committing", Patience())
        assert not observation.concluded.is_set()

    asyncio.run(scene())
