"""How a client's connection ends, told apart exactly."""

from __future__ import annotations

import sys

import pytest

from ackgap.model.boundary import Phase
from ackgap.model.event import AttemptDropped, ClientGaveUp, EffectApplied

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells them apart")

BODY = b'{"title": "a"}'
REQUEST = b"POST /tickets HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n" + BODY


def test_a_client_that_has_said_all_it_will_still_gets_its_answer(run, bench, parking_gate):
    async def work():
        gate = parking_gate(Phase.RECEIVED)
        async with bench("any", gate=gate) as b, b.connect() as wire:
            await wire.send(REQUEST)
            wire.writer.write_eof()
            await gate.parked()
            connection = next(iter(b.service._cell.connections))
            await b.until(lambda: connection._half_closed)
            assert not connection.gone
            gate.release(stop_parking=True)
            answered = await wire.answer()
            rest = await wire.end()
            return answered.status, rest, b.recorder

    status, rest, recorder = run(work())
    assert 200 <= status < 300
    assert rest == b""
    assert len(recorder.of(EffectApplied)) == 1
    assert recorder.of(ClientGaveUp) == []


def test_a_client_that_closes_for_good_after_that_has_given_up(run, bench, parking_gate):
    async def work():
        gate = parking_gate(Phase.RECEIVED)
        async with bench("any", gate=gate) as b, b.connect() as wire:
            await wire.send(REQUEST)
            wire.writer.write_eof()
            await gate.parked()
            connection = next(iter(b.service._cell.connections))
            await b.until(lambda: connection._half_closed)
            await wire.close()
            await b.until(lambda: connection.gone)
            gate.release(stop_parking=True)
            await b.recorder.seen(AttemptDropped)
            return b.recorder

    assert len(run(work()).of(ClientGaveUp)) == 1
