"""What a session writes while cells come in, and how often."""

from __future__ import annotations

import json
import time

import pytest

from ackgap.campaign.listener import Silent
from ackgap.campaign.selection import Selection
from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Verdict
from ackgap.report.store import RunWriter
from ackgap.session import Session
from ackgap.source import Source

SCENARIO = """\
name = "many"

[worker]
command = ["true"]

[targets.tickets]
profile = "any"
"""
WRITING_S = 0.02


@pytest.fixture
def session(tmp_path, monkeypatch):
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    written = RunWriter.write_run

    def slowly(self, info):
        time.sleep(WRITING_S)
        written(self, info)

    monkeypatch.setattr(RunWriter, "write_run", slowly)
    source = Source(path=tmp_path)
    session = Session(
        source, source.scenario(), Selection(), directory=tmp_path / "out", display=Silent(), tell=lambda _: None
    )
    session.began([variant(number) for number in range(200)], isolated=True)
    yield session
    assert session._writer is not None
    session._writer.close()


def variant(number: int) -> Variant:
    return Variant(values=(("number", str(number)),))


def result(number: int) -> CellResult:
    schedule = Schedule.parse("tickets.create#1:applied")
    return CellResult(
        scenario="many", variant=variant(number), schedule=schedule, verdict=Verdict.of(()), incarnations=2
    )


def yardsticks(session: Session) -> set[str]:
    return set(json.loads((session._directory / "run.json").read_text())["expectations"])


def test_the_description_of_a_run_is_written_no_more_often_than_a_tenth_of_the_time_allows(session):
    began_s = time.monotonic()
    session.probed(variant(0), Expectation())
    session.finished(result(0))
    assert yardsticks(session) == {str(variant(0))}
    for number in range(1, 200):
        session.probed(variant(number), Expectation())
    passed_s = time.monotonic() - began_s
    assert len(yardsticks(session)) < 200, "it was written for each of them"
    assert passed_s < 200 * WRITING_S / 2


def test_what_was_not_written_in_turn_is_written_with_a_later_result(session):
    session.probed(variant(0), Expectation())
    session.finished(result(0))
    session.probed(variant(1), Expectation())
    assert yardsticks(session) == {str(variant(0))}
    while time.monotonic() < session._write_again_at:
        time.sleep(WRITING_S)
    session.finished(result(1))
    assert yardsticks(session) == {str(variant(0)), str(variant(1))}
