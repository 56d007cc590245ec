"""Finding scenarios: the user's paths and those shipped."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ackgap import content
from ackgap.errors import UsageInvalid
from ackgap.scenario.discover import find_scenario, is_shipped, shipped_scenarios
from ackgap.scenario.load import load_scenario


def test_the_flagship_is_found_by_its_name() -> None:
    assert find_scenario("langgraph-ticket") == content.scenarios_directory() / "langgraph-ticket" / "scenario.toml"


def test_a_path_wins_over_a_shipped_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "langgraph-ticket"
    mine.mkdir()
    (mine / "scenario.toml").touch()
    monkeypatch.chdir(tmp_path)
    assert find_scenario("langgraph-ticket").absolute() == mine / "scenario.toml"
    assert find_scenario("langgraph-ticket/scenario.toml").absolute() == mine / "scenario.toml"


def test_an_unknown_scenario_gets_a_suggestion() -> None:
    with pytest.raises(UsageInvalid, match="did you mean 'langgraph-ticket'"):
        find_scenario("langgraph-tickets")


def test_a_folder_without_a_scenario_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageInvalid, match=r"has no scenario\.toml"):
        find_scenario(str(tmp_path))


def test_a_path_that_leads_out_of_the_shipped_folder_is_not_shipped(tmp_path: Path) -> None:
    directory = content.scenarios_directory()
    assert is_shipped(directory / "langgraph-ticket" / "scenario.toml")
    assert not is_shipped(directory / ".." / "mine" / "scenario.toml")
    assert not is_shipped(tmp_path / "scenario.toml")


@pytest.mark.parametrize("name", sorted(shipped_scenarios()))
def test_every_shipped_scenario_loads_and_runs_with_the_interpreter_of_ackgap(name: str) -> None:
    scenario = load_scenario(shipped_scenarios()[name])
    assert name.endswith(scenario.name)
    if scenario.worker.container is None:  # an image has an interpreter of its own
        assert scenario.command_in(None, scenario.worker.command)[0] in {sys.executable, "node", "sh", "./agent.sh"}


@pytest.mark.parametrize("wrong", ["known-answers/duplicate-brokn", "duplicate-broken", "duplicate-brokn"])
def test_a_nested_scenario_is_suggested_by_its_whole_name(wrong):
    with pytest.raises(UsageInvalid, match="did you mean 'known-answers/duplicate-broken'"):
        find_scenario(wrong)
