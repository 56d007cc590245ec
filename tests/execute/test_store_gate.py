"""What a proxy in front of a store tells of commits that came to nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from types import SimpleNamespace

import pytest

from ackgap.execute.store_gate import StoreGate
from ackgap.execute.turnstile import Turnstile

WRITE = (-1, 1)


class Recorder:
    def __init__(self) -> None:
        self.said: list[tuple[str, object]] = []

    def record(self, kind, /, **values):
        self.said.append((kind.__name__, values.get("name")))


def given_up(pid: int, **states: bool) -> list[tuple[str, object]]:
    """Return what is written down where a client closes its connection while its commit stands parked."""

    async def fail() -> bool:
        life = SimpleNamespace(
            process=SimpleNamespace(pid=pid),
            turnstile=Turnstile(),
            write_points={WRITE: ("pg.t.commit", 2)},
            dead=states.get("dead", False),
            told_to_end=states.get("told", False),
            struck=asyncio.Event(),
        )
        if states.get("struck"):
            life.struck.set()
        life.turnstile.begin(WRITE, "pg.t.commit")
        StoreGate({1: life}, recorder, None, None).failed(1, WRITE, gave_up=True)
        return life.turnstile.is_quiet()

    recorder = Recorder()
    assert asyncio.run(fail()), "nobody waits for it any more"
    return recorder.said


@pytest.fixture
def process():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as popen:
        yield popen
        popen.kill()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells whether a process is ending")
def test_a_client_gives_up_only_where_its_process_goes_on(process):
    assert given_up(process.pid) == [("ClientGaveUp", "pg.t.commit#2")]
    assert (
        given_up(process.pid, struck=True) == given_up(process.pid, dead=True) == given_up(process.pid, told=True) == []
    )
    process.stdin.close()
    while (
        state := subprocess.run(["ps", "-o", "stat=", "-p", str(process.pid)], capture_output=True, text=True).stdout
    ) and "Z" not in state:
        pass
    assert given_up(process.pid) == [], "it has ended, and has not been reaped"
    process.wait()
    assert given_up(process.pid) == []
