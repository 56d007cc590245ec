"""`[environments.NAME]`: what is read, what is refused, and which interpreter a plain `python` then means."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ackgap.errors import HarnessFailed, ScenarioInvalid
from ackgap.model.matrix import Variant
from ackgap.scenario.environment import EnvironmentSpec
from ackgap.scenario.load import load_scenario
from ackgap.scenario.scenario import Scenario

TEXT = """
name = "versions"
[worker]
command = "python agent.py"
finished_when = "python3 done.py"
[targets.tickets]
profile = "any"
[environments.old]
about = "As it was."
requirements = [" langgraph==0.6.5 ", "httpx"]
python = "3.12"
[environments.new]
requirements = ["langgraph"]
[axes.version.values.own]
[axes.version.values.old]
environment = "old"
[axes.version.values.new]
environment = "new"
[axes.mode.values.plain]
[axes.mode.values.served]
command = "uvicorn app:app"
"""


def load(folder: Path, text: str = TEXT) -> Scenario:
    (folder / "agent.py").touch()
    (folder / "scenario.toml").write_text(text, encoding="utf-8")
    return load_scenario(folder)


def refusal(folder: Path, old: str, new: str) -> ScenarioInvalid:
    assert old in TEXT
    with pytest.raises(ScenarioInvalid) as raised:
        load(folder, TEXT.replace(old, new))
    return raised.value


def made(scenario: Scenario, directory: Path) -> Scenario:
    specs = (replace(spec, directory=directory / spec.name) for spec in scenario.environments)
    return replace(scenario, environments=tuple(specs))


def test_every_key_arrives(tmp_path):
    old, new = load(tmp_path).environments
    assert old == EnvironmentSpec(
        name="old", about="As it was.", requirements=("langgraph==0.6.5", "httpx"), python="3.12", folder=tmp_path
    )
    assert (new.python, new.directory) == (None, None)


def test_a_variant_has_the_environment_of_its_values_and_else_the_worker_s(tmp_path):
    scenario = load(tmp_path, TEXT.replace("[targets", 'environment = "old"\n[targets'))
    variants = [variant for variant in scenario.variants() if variant["mode"] == "plain"]
    homes = [scenario.environment_of(variant) for variant in variants]
    assert [home.name if home else None for home in homes] == ["old", "old", "new"]
    assert load(tmp_path).environment_of(variants[0]) is None


def test_a_plain_python_is_the_one_of_the_environment(tmp_path):
    scenario = made(load(tmp_path), tmp_path / "made")
    old = scenario.environment_of(Variant.parse("version=old,mode=plain"))
    python = str(tmp_path / "made" / "old" / "bin" / "python")
    assert scenario.command_in(old, scenario.worker.command) == (python, "agent.py")
    assert scenario.command_in(old, scenario.worker.finished_when or ()) == (python, "done.py")
    assert scenario.command_in(old, ("uvicorn", "app:app")) == ("uvicorn", "app:app")


def test_without_an_environment_it_is_what_it_is_elsewhere(tmp_path, monkeypatch):
    scenario = load(tmp_path)
    assert scenario.command_in(None, ("python3", "agent.py")) == ("python3", "agent.py")
    assert replace(scenario, own_python=True).command_in(None, ("python3", "agent.py"))[0] == sys.executable
    monkeypatch.setenv("PATH", str(tmp_path))
    assert scenario.command_in(None, ("python3", "agent.py"))[0] == sys.executable


def test_ackgap_s_own_interpreter_can_be_asked_for_in_an_environment(tmp_path):
    scenario = made(load(tmp_path, TEXT.replace('"python agent.py"', '"{python} agent.py"')), tmp_path)
    assert scenario.command_in(scenario.environments[0], scenario.worker.command)[0] == sys.executable


def test_an_environment_is_activated_once(tmp_path):
    spec = EnvironmentSpec(name="old", requirements=("x",), folder=tmp_path, directory=tmp_path / "made")
    once = spec.activated({"PATH": "/usr/bin", "PYTHONHOME": "/elsewhere", "LANG": "C"})
    assert once == {
        "PATH": f"{tmp_path / 'made' / 'bin'}{os.pathsep}/usr/bin",
        "LANG": "C",
        "VIRTUAL_ENV": str(tmp_path / "made"),
    }
    assert spec.activated(once) == once


def test_one_that_was_not_made_is_never_used(tmp_path):
    scenario = load(tmp_path)
    with pytest.raises(HarnessFailed, match="was not made"):
        scenario.command_in(scenario.environments[0], scenario.worker.command)


def test_it_can_be_pickled_and_hashed(tmp_path):
    scenario = load(tmp_path)
    assert pickle.loads(pickle.dumps(scenario)) == scenario
    assert len(set(scenario.environments)) == 2


def test_an_unknown_name_is_told_with_its_key(tmp_path):
    error = refusal(tmp_path, 'environment = "new"', 'environment = "nwe"')
    assert "There is no environment 'nwe'; did you mean 'new'? allowed: old, new" in error.what
    assert error.where.endswith("scenario.toml, key axes.version.values.new.environment")
    error = refusal(tmp_path, "[targets", 'environment = "none"\n[targets')
    assert error.where.endswith("key worker.environment")


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('requirements = ["langgraph"]', "requirements = []", "environments.new.requirements"),
        ('requirements = ["langgraph"]', 'requirements = ["a", " "]', "environments.new.requirements[1]"),
        ('requirements = ["langgraph"]', 'requirements = ["# a"]', "environments.new.requirements[0]"),
        ('requirements = ["langgraph"]', 'requirements = ["-c \'limits"]', "environments.new.requirements[0]"),
        ('requirements = ["langgraph"]', 'requirement = ["langgraph"]', "environments.new.requirement"),
        ('python = "3.12"', "python = 3.12", "environments.old.python"),
        ("[environments.old]", '[environments."o ld"]', 'environments."o ld"'),
    ],
)
def test_what_is_wrong_with_one_is_told_with_its_key(tmp_path, old, new, key):
    assert refusal(tmp_path, old, new).where.endswith(f"scenario.toml, key {key}")


def test_programs_that_may_come_with_an_environment_are_not_looked_for_before(tmp_path):
    assert load(tmp_path).environments
    error = refusal(tmp_path, '"uvicorn app:app"', '"./uvicorn app:app"')
    assert "cannot be started" in error.what
    without = TEXT.partition("[environments.old]")[0] + '[axes.mode.values.served]\ncommand = "no-such-server app:app"'
    with pytest.raises(ScenarioInvalid, match="there is no program 'no-such-server' on PATH"):
        load(tmp_path, without)


def test_options_are_split_and_requirements_are_not():
    spec = EnvironmentSpec(
        name="x", requirements=("idna==3.4 ; python_version < '4'", "-c 'my limits.txt'", "--no-index"), folder=Path()
    )
    assert spec.arguments == ("idna==3.4 ; python_version < '4'", "-c", "my limits.txt", "--no-index")


def test_names_of_packages_are_told_from_paths_and_options():
    lines = (
        "idna==3.4",
        "langgraph[all]>=1",
        "httpx",
        "tool @ file:x.whl",
        "a.b ; x",
        "./project",
        "-e ./x",
        "x.whl/y",
    )
    spec = EnvironmentSpec(name="x", requirements=lines, folder=Path())
    assert spec.packages == ("idna", "langgraph", "httpx", "tool", "a.b")
