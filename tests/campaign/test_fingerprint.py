"""A run is the same wherever its files lie, and another one where anything differs that its results depend on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ackgap.campaign.selection import Selection
from ackgap.fingerprint import differences, fingerprint
from ackgap.scenario.load import load_scenario

SCENARIO = """
name = "same"
[worker]
command = "python agent.py"
env = { TICKETS_URL = "{tickets.url}" }
[targets.tickets]
profile = "case-management"
"""
VERSIONS = {"ackgap": "0.1", "langgraph": "1.2", "platform": "here"}


def of(folder: Path, selection: Selection | None = None, **versions: str) -> str:
    scenario = load_scenario(folder)
    return fingerprint(scenario, selection or Selection(), {**VERSIONS, **versions}, results=folder / "out")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "one"
    (folder / "tools").mkdir(parents=True)
    (folder / "scenario.toml").write_text(SCENARIO)
    (folder / "agent.py").write_text("print()")
    (folder / "tools" / "more.py").write_text("print()")
    return folder


def test_it_is_the_same_elsewhere_on_another_platform_and_beside_results(folder, tmp_path):
    first = of(folder)
    other = tmp_path / "deeper" / "two"
    shutil.copytree(folder, other)
    (other / "out").mkdir()
    (other / "out" / "run.json").write_text("{}")
    (other / "__pycache__").mkdir()
    (other / "__pycache__" / "agent.pyc").write_text("compiled")
    assert of(other, platform="there") == first


@pytest.mark.parametrize("file", ["agent.py", "tools/more.py", "tools/new.py", "scenario.toml"])
def test_it_is_another_where_a_file_is(folder, file):
    first = of(folder)
    path = folder / file
    path.write_text((path.read_text() if path.exists() else "") + "\n# another\n")
    changed = of(folder)
    assert changed != first


def test_it_is_another_with_another_selection_or_version(folder):
    assert len({of(folder), of(folder, Selection(depth=2)), of(folder, langgraph="1.3")}) == 3


def test_what_differs_is_named(folder):
    first = of(folder)
    assert differences(first, of(folder)) == ()
    assert differences(first, of(folder, Selection(depth=2))) == ("the selection",)
    assert differences(first, of(folder, langgraph="1.3")) == ("a version",)
    (folder / "agent.py").write_text("print(1)")
    assert differences(first, of(folder)) == ("the files",)
    (folder / "scenario.toml").write_text(SCENARIO.replace("case-management", "any"))
    assert differences(first, of(folder, Selection(depth=2))) == ("the scenario", "the files", "the selection")
    assert differences("0123456789abcdef", first) == ("the version of ackgap",)  # what an earlier one wrote
