"""A self-check passes only if something was caught, nothing was missed, and nobody cried wolf."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ackgap.model.verdict import VerdictKind
from ackgap.selfcheck.agent_source import Change
from ackgap.selfcheck.check import MutantResult, SubjectResult
from ackgap.selfcheck.classify import Fate, Ruling
from ackgap.selfcheck.operators.catalogue import OPERATORS, Mutant
from ackgap.selfcheck.seen import Seen
from ackgap.selfcheck.subjects import SUBJECTS
from ackgap.selfcheck.summary import Summary, again
from ackgap.selfcheck.trial import TrialCell

CHANGE = Change(line=3, last_line=3, about="no key", text="")
SEEN = Seen(
    effects={}, contents={}, order=(), paid={}, unapproved=0, finished=True, in_doubt=False, lives=1, requests=()
)
ALARM = TrialCell(schedule="1/kill@a.b#1:applied", verdict=VerdictKind.DUPLICATE, headline="two of them", seen=SEEN)


def result(*fates: Fate, ok_cells: int = 10, alarms: int = 0) -> SubjectResult:
    mutants = tuple(
        MutantResult(
            subject=SUBJECTS[0],
            mutant=Mutant(name=f"drop-key.{n}", operator=OPERATORS[0], file="worker.py", change=CHANGE),
            ruling=Ruling(fate=fate, why=""),
            directory=Path("somewhere"),
        )
        for n, fate in enumerate(fates)
    )
    return SubjectResult(subject=SUBJECTS[0], ok_cells=ok_cells, alarms=(ALARM,) * alarms, mutants=mutants)


def test_everything_caught_and_no_false_alarm_passes():
    summary = Summary([result(Fate.CAUGHT, Fate.EQUIVALENT, Fate.NOT_VIABLE, Fate.REMARKED)])
    assert summary.passed
    assert summary.broken == 1
    assert summary.to_json()["catch_rate"] == 1.0


@pytest.mark.parametrize(
    "failing",
    [
        result(Fate.CAUGHT, Fate.MISSED),
        result(Fate.CAUGHT, Fate.UNFOUNDED),
        result(Fate.CAUGHT, alarms=1),
        result(Fate.EQUIVALENT),
        result(Fate.CAUGHT, ok_cells=0),
        result(),
    ],
    ids=["missed", "unfounded", "alarm", "nothing caught", "nothing right", "nothing at all"],
)
def test_anything_else_fails(failing):
    assert not Summary([failing]).passed


def test_each_fate_is_counted_by_engine_and_operator():
    [line] = Summary([result(Fate.CAUGHT, Fate.CAUGHT, Fate.NOT_VIABLE)]).lines()
    assert (line.engine, line.operator, line[Fate.CAUGHT], line.viable) == ("plain", "drop-key", 2, 2)


def test_a_false_alarm_names_the_command_that_shows_it_again():
    document = Summary([result(Fate.CAUGHT, alarms=1)]).to_json()
    assert document["subjects"][0]["alarms"][0]["again"] == again(
        SUBJECTS[0].scenario, SUBJECTS[0].only, "1/kill@a.b#1:applied"
    )
    assert again("d", ("key=stable",), "1/kill@a.b#1:applied") == (
        "ackgap run d --only=key=stable --schedule '1/kill@a.b#1:applied'"
    )
    assert again("d", (), "1/none") == "ackgap run d", "an undisturbed run is no schedule"


def test_a_missed_mutant_is_not_hidden_among_many():
    many = result(*[Fate.CAUGHT] * 500)
    missed = replace(result(Fate.MISSED), ok_cells=0)
    assert not Summary([many, missed]).passed
    assert Summary([many, missed]).to_json()["catch_rate"] == pytest.approx(500 / 501, abs=1e-3)
