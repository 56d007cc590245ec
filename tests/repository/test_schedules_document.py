"""What `docs/schedules.md` says of schedules is what they are, and its examples are known answers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ackgap.model import manner
from ackgap.model.manner import FaultKind
from ackgap.model.schedule import Schedule

REPOSITORY = Path(__file__).parents[2]
TEXT = (REPOSITORY / "docs" / "schedules.md").read_text()
EXAMPLES = re.findall(r"^\| `([a-z-]+)` \| `([^`]+@?[^`]*)` \| (\w+) \|$", TEXT, re.MULTILINE)


def test_there_are_examples():
    assert len(EXAMPLES) > 15


@pytest.mark.parametrize(("scenario", "schedule", "verdict"), EXAMPLES)
def test_each_example_is_a_known_answer(scenario, schedule, verdict):
    folders = (REPOSITORY / "scenarios" / folder / scenario for folder in ("known-answers", "network", "containers"))
    file = next(file for file in (folder / "expected.json" for folder in folders) if file.exists())
    expected = json.loads(file.read_text())
    assert expected[f"{schedule}@default"] == verdict


@pytest.mark.parametrize("text", [schedule for _, schedule, _ in EXAMPLES] + re.findall(r"^1/\S+", TEXT, re.MULTILINE))
def test_each_schedule_is_written_as_reports_write_it(text):
    assert Schedule.parse(text).label == text.removeprefix("1/")


@pytest.mark.parametrize("kind", FaultKind)
def test_each_fault_is_explained(kind):
    assert f"`{kind}`" in TEXT


@pytest.mark.parametrize("kind", FaultKind)
def test_each_option_is_named_with_the_faults_that_take_it(kind):
    rows = dict(re.findall(r"^\| `(\w+)=[^`]*` \| ([^|]+) \|", TEXT, re.MULTILINE))
    documented = {option for option, faults in rows.items() if f"`{kind}`" in faults}
    assert documented == set(manner._OPTIONS.get(kind, ())) | ({"for"} if kind is FaultKind.KILL else set())


def test_every_fault_has_an_example_that_runs():
    shown = {fault.kind for _, schedule, _ in EXAMPLES for fault in Schedule.parse(schedule).faults}
    assert shown == set(FaultKind)
