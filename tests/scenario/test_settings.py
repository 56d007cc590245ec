"""Settings of fake services from a command line, for a scenario file and for any worker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ackgap.errors import UsageInvalid
from ackgap.scenario.scenario import Scenario
from ackgap.source import SOURCE_FILE, Source

SCENARIO = """
name = "desk"
[worker]
command = ["python3", "agent.py"]
[targets.approval]
profile = "approval"
settings = { after_s = 60 }
[targets.model]
profile = "model"
"""
AXIS = """
[axes.wait.values.short]
settings = { approval = { after_s = 1 } }
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    (tmp_path / "agent.py").touch()
    return tmp_path


def of(scenario: Scenario, target: str) -> dict[str, object]:
    return dict(next(spec.settings for spec in scenario.targets if spec.name == target))


def test_a_setting_stands_over_that_of_the_scenario(home: Path) -> None:
    scenario = Source(path=home, settings=["approval.after_s=3600", 'model.drift=["none"]']).scenario()
    assert of(scenario, "approval") == {"after_s": 3600}
    assert of(scenario, "model") == {"drift": ["none"]}


def test_a_setting_reaches_the_target_of_any_worker(home: Path) -> None:
    flags = {"worker": "python3 agent.py", "targets": ["tickets=approval"], "directory": str(home)}
    assert of(Source(flags=flags, settings=["tickets.after_s=5"]).scenario(), "tickets") == {"after_s": 5}


def test_a_replay_needs_no_file_of_a_setting_any_more(home: Path) -> None:
    (home / "script.json").write_text('[{"say": ["yes"]}]')
    source = Source(path=home, settings=["model.script=@script.json"], home=home)
    source.scenario()
    (home / SOURCE_FILE).write_text(json.dumps(source.to_json(home)))
    (home / "script.json").unlink()
    assert of(Source.read(home).scenario(), "model") == {"script": [{"say": ["yes"]}]}


def test_a_secret_in_a_setting_is_not_written_down_and_a_replay_takes_it_from_its_environment(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_PASSWORD", "hush hush 4711")
    source = Source(path=home, settings=['model.script=[{"say": ["it is hush hush 4711"]}]'], home=home)
    source.scenario()
    (home / SOURCE_FILE).write_text(json.dumps(source.to_json(home)))
    assert "hush hush" not in (home / SOURCE_FILE).read_text()
    assert of(Source.read(home).scenario(), "model") == {"script": [{"say": ["it is hush hush 4711"]}]}
    monkeypatch.delenv("DESK_PASSWORD")
    with pytest.raises(UsageInvalid, match="has to be given again"):
        Source.read(home).scenario()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("approval", "not of the form"),
        ("aproval.after_s=1", "did you mean 'approval'"),
        ("approval.after=1", "did you mean 'after_s'"),
        ("model.script=@nowhere.json", "cannot be read"),
        ('approval.after_s="soon"', "after_s"),
    ],
)
def test_a_mistake_in_a_setting_names_the_option(home: Path, text: str, told: str) -> None:
    with pytest.raises(UsageInvalid) as refused:
        Source(path=home, settings=[text], home=home).scenario()
    assert told in str(refused.value)
    assert refused.value.where.startswith("--set")


def test_what_an_axis_is_about_is_not_set_beside_it(home: Path) -> None:
    (home / "scenario.toml").write_text(SCENARIO + AXIS)
    with pytest.raises(UsageInvalid, match="The axis 'wait'") as refused:
        Source(path=home, settings=["approval.after_s=3600"]).scenario()
    assert "--only wait=" in refused.value.next_step
