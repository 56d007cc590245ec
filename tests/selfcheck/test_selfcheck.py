"""The self-check as a whole: with our judge it passes, and with one that is at fault it does not."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import planted
import pytest

from ackgap import cli
from ackgap.selfcheck.check import SelfCheck
from ackgap.selfcheck.classify import Fate
from ackgap.selfcheck.operators.catalogue import OPERATORS
from ackgap.selfcheck.subjects import SUBJECTS
from ackgap.selfcheck.summary import Summary

LEAST_CAUGHT = 150
LEAST_OK_CELLS = 300


def checked(tmp_path, judge, *operators: str) -> Summary:
    [subject] = [each for each in SUBJECTS if each.scenario == "known-answers/duplicate-correct"]
    chosen = tuple(each for each in OPERATORS if each.name in operators)
    check = SelfCheck(directory=tmp_path, operators=chosen, jobs=2, judge=judge)
    return Summary(list(check.run([replace(subject, faults=("kill",))])))


@pytest.mark.slow
def test_a_judge_that_is_blind_to_duplicates_misses_mutants_and_the_check_fails(tmp_path):
    summary = checked(tmp_path, planted.blind, "drop-key", "random-key")
    assert summary.fates == {Fate.MISSED: 2}
    assert not summary.passed
    assert summary.to_json()["catch_rate"] == 0.0
    assert all("2 instead of 1" in each.ruling.why for each in summary.mutants)
    assert summary.alarms == 0, "it is blind and nothing else"


@pytest.mark.slow
def test_a_judge_that_fears_every_crash_gives_false_alarms_and_the_check_fails(tmp_path):
    summary = checked(tmp_path, planted.frightened_of_crashes, "drop-key")
    assert summary.alarms >= 6, "one for each point at which the agent that is right was killed"
    assert not summary.passed


@pytest.mark.slow
def test_a_catch_that_services_saw_nothing_of_is_a_false_alarm(tmp_path):
    summary = checked(tmp_path, planted.frightened, "payload-key")
    assert summary.fates == {Fate.UNFOUNDED: 1}
    assert summary.alarms == 1
    assert not summary.passed


@pytest.mark.parametrize(
    "more",
    [
        pytest.param((), marks=pytest.mark.slow, id="as CI has it"),
        pytest.param(("--prove",), marks=pytest.mark.very_slow, id="every proof anew"),
    ],
)
def test_every_broken_agent_is_caught_and_nothing_else(tmp_path, more):
    done = subprocess.run(
        [sys.executable, "-m", "ackgap", "selfcheck", "--json", *more],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    told = [
        f"{subject['scenario']}: {mutant['name']}: {mutant['fate']}: {mutant['why']}"
        for subject in found["subjects"]
        for mutant in subject["mutants"]
        if mutant["fate"] in ("missed", "unfounded")
    ]
    assert told == []
    assert [alarm for subject in found["subjects"] for alarm in subject["alarms"]] == []
    assert found["mutants"]["caught"] >= LEAST_CAUGHT
    assert found["ok_cells"] >= LEAST_OK_CELLS
    assert sum(found["mutants"].values()) == sum(len(subject["mutants"]) for subject in found["subjects"])
    assert found["passed"]
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("option", "known"), [("--operator", "drop-key"), ("--engine", "langgraph"), ("--scenario", "selfcheck/review")]
)
def test_a_name_that_there_is_not_is_answered_with_those_that_there_are(option, known, capsys):
    assert cli.main(["selfcheck", option, "nothing"]) == 2
    assert known in capsys.readouterr().err
