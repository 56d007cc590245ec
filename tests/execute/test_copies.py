"""What is copied while a worker stands parked, and what is not."""

from __future__ import annotations

import asyncio
import os
import pickle
import time
from pathlib import Path
from typing import Any

import pytest

from ackgap.execute import copies
from ackgap.execute.copies import Copier, ParkedCopy
from ackgap.execute.gatekeeper import Gatekeeper
from ackgap.execute.life import Life
from ackgap.execute.plain_process import PlainProcess
from ackgap.execute.recorder import HistoryRecorder
from ackgap.execute.store import DurableStore
from ackgap.model.boundary import CrashPoint, Phase
from ackgap.model.event import Settling
from ackgap.scenario.scenario import Limits
from ackgap.target.clock import VirtualClock
from ackgap.target.parked import NotToBeCopied


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "tmp").mkdir()
    return tmp_path / "work"


@pytest.fixture
def copier(work: Path) -> Copier:
    return Copier(
        work.parent / "copies",
        own_words="",
        work=work,
        scratch=work.parent / "tmp",
        recorder=HistoryRecorder(),
        store=DurableStore(work),
        limits=Limits(),
        targets={},
        clock=VirtualClock(),
    )


def write_old(file: Path, text: str) -> None:
    """As a file of the project is, which was there long before the run."""
    file.write_text(text)
    os.utime(file, (1_000_000_000, 1_000_000_000))


def test_what_has_not_changed_is_kept_once(copier: Copier, work: Path) -> None:
    write_old(work / "agent.py", "old")
    (work / "state").write_text("new")
    first, second = copier._copied(0), copier._copied(0)

    assert (first / "work" / "agent.py").stat().st_ino == (second / "work" / "agent.py").stat().st_ino
    assert (first / "work" / "state").stat().st_ino != (second / "work" / "state").stat().st_ino


def test_a_change_that_no_time_of_change_shows_is_copied(copier: Copier, work: Path) -> None:
    write_old(work / "done", "no")
    copier._copied(0)
    (work / "done").chmod(0o400)
    assert (copier._copied(0) / "work" / "done").stat().st_mode & 0o777 == 0o400

    (work / "done").chmod(0o600)
    write_old(work / "done", "ok")
    assert (copier._copied(0) / "work" / "done").read_text() == "ok"


def test_a_copy_that_fails_leaves_nothing_and_costs_nothing(
    copier: Copier, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copier, "_budget_bytes", 1000)
    (work / "a").write_text("x" * 600)
    (work / "b").write_text("x" * 600)
    with pytest.raises(NotToBeCopied, match="too much room"):
        copier._copied(0)
    assert list((work.parent / "copies").iterdir()) == []

    (work / "b").unlink()
    assert (copier._copied(0) / "work" / "a").exists()


def test_a_file_with_holes_or_with_two_names_is_not_copied(copier: Copier, work: Path) -> None:
    with (work / "map").open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    with pytest.raises(NotToBeCopied, match="holes"):
        copier._copied(0)
    (work / "map").unlink()
    (work / "one").write_text("x")
    os.link(work / "one", work / "two")
    with pytest.raises(NotToBeCopied, match="several names"):
        copier._copied(0)


def test_nothing_is_copied_where_there_is_little_room(copier: Copier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "_LEFT_FREE_BYTES", 2**62)
    with pytest.raises(NotToBeCopied, match="little room"):
        copier._copied(0)


def test_no_time_passes_for_a_service_while_a_copy_lies_in_wait(tmp_path: Path) -> None:
    made_s = time.time() - 40
    copy = ParkedCopy(
        directory=tmp_path,
        events=(),
        targets=pickle.dumps({}),
        settling=Settling.SETTLED,
        settle_s=0.0,
        parked=(),
        store_digest="",
        output="",
        told=frozenset(),
        clock_offset_s=3600.0,
        made_s=made_s,
    )
    clock = copy.clock()
    assert clock.now_s() == pytest.approx(made_s + 3600, abs=5)
    assert clock.offset_s == 3600
    clock.move(10)
    assert clock.now_s() == pytest.approx(made_s + 3610, abs=5)


class SlowCopier:
    """Takes its time over each point."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.at_work = ""

    async def copy(self, life: Life, point: CrashPoint, **_: object) -> None:
        assert life.frozen_at is None
        life.freeze(point.boundary.kind)
        self.at_work = str(point)
        await asyncio.sleep(0.005)
        self.made.append(str(point))
        self.at_work = ""
        life.thaw()


def test_nobody_passes_while_another_point_is_copied(tmp_path: Path) -> None:
    async def run() -> tuple[SlowCopier, list[str]]:
        gatekeeper: Any = Gatekeeper(
            recorder=HistoryRecorder(),
            store=DurableStore(tmp_path),
            targets={},
            strike=None,  # type: ignore[arg-type]
            strike_call=None,  # type: ignore[arg-type]
        )
        copier = gatekeeper.copier = SlowCopier()
        gatekeeper.admit(Life(incarnation=1, token="", process=PlainProcess(token="", output_bytes=10)))
        passed_during: list[str] = []

        async def call(number: int) -> None:
            await gatekeeper.reached(
                incarnation=1, name=f"t.op{number}", occurrence=1, phase=Phase.RECEIVED, attempt=number
            )
            passed_during.append(copier.at_work)

        await asyncio.gather(*(call(number) for number in range(1, 6)))
        return copier, passed_during

    copier, passed_during = asyncio.run(run())
    assert copier.made == [f"t.op{number}#1:received" for number in range(1, 6)]
    assert len(passed_during) == 5
