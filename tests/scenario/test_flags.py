"""A scenario from the options of a command line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from ackgap.errors import UsageInvalid
from ackgap.scenario.flags import name_of_command, scenario_from_flags
from ackgap.scenario.scenario import Scenario


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "service.toml").touch()
    return home


def flags(home: Path, **more: Any) -> Scenario:
    given: dict[str, Any] = {"worker": "python3 agent.py", "targets": ["tickets=service.toml"], "directory": home}
    return scenario_from_flags(**{**given, **more})


def test_options_become_a_scenario(home: Path) -> None:
    scenario = flags(
        home,
        env=["TICKETS_URL={tickets.url}/v1?a=b"],
        resume_command="python3 agent.py --resume",
        reset="python3 reset.py",
        finished_when="python3 done.py",
        in_doubt_when="HUMAN",
        allow_hosts=["example.org"],
        reads=["tickets.POST/search"],
        expects=["tickets.POST/tickets=2"],
    )
    assert scenario.name == "agent"
    assert scenario.worker.directory == home
    assert scenario.worker.env == {"TICKETS_URL": "{tickets.url}/v1?a=b"}
    assert scenario.worker.resume_command == ("python3", "agent.py", "--resume")
    assert scenario.worker.allow_hosts == ("example.org",)
    assert scenario.targets[0].reads == ("tickets.POST/search",)
    assert scenario.declared_counts == {"tickets.POST/tickets": 2}


@pytest.mark.parametrize(
    ("injector", "wanted", "on_the_path"),
    [(None, "auto", True), ("python", "python", True), ("preload", "preload", False), ("wire", "wire", False)],
)
def test_the_python_injector_stays_out_where_another_one_is_asked_for(home, injector, wanted, on_the_path):
    worker = flags(home, injector=injector).worker
    assert (worker.injector, worker.python_injector) == (wanted, on_the_path)


def test_the_worker_lives_in_the_current_directory(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    assert flags(home, directory=None).worker.directory == home


def test_state_inside_narrows_the_store_and_state_outside_is_restored(home: Path) -> None:
    (home / "data").mkdir()
    outside = home.parent / "agent.db"
    scenario = flags(home, state=["agent.db", "data", str(outside)])
    assert scenario.worker.store == ("agent.db", "data", "data/**")
    assert scenario.worker.external_state == (outside,)


def test_a_python_missing_from_path_is_the_one_that_runs_ackgap(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home))
    assert flags(home, worker="python agent.py").worker.command == (sys.executable, "agent.py")


@pytest.mark.parametrize(
    ("more", "option", "says"),
    [
        ({"targets": []}, "--target", "No target is given"),
        ({"targets": ["tickets"]}, "--target", "NAME=PROFILE"),
        ({"targets": ["tickets="]}, "--target", "names no profile"),
        ({"targets": ["tickets=no-such-profile"]}, "--target", "no target profile"),
        ({"targets": ["a=service.toml", "a=service.toml"]}, "--target", "Two targets"),
        ({"targets": ["a b=service.toml"]}, "--target", "cannot be a target's name"),
        ({"env": ["TICKETS_URL"]}, "--env", "KEY=VALUE"),
        ({"env": ["A={ticket.url}"]}, "--env", "did you mean 'tickets'"),
        ({"worker": ""}, "--worker", "empty command"),
        ({"worker": "no-such-program-xyz"}, "--worker", "no program"),
        ({"resume_command": "no-such-program-xyz"}, "--resume-command", "no program"),
        ({"reset": "'"}, "--reset", "No closing quotation"),
        ({"finished_when": "./gone"}, "--finished-when", "no program './gone'"),
        ({"in_doubt_when": "("}, "--in-doubt-when", "not a regular expression"),
        ({"expects": ["tickets.create"]}, "--expect", "OPERATION=N"),
        ({"expects": ["tickets.create=two"]}, "--expect", "OPERATION=N"),
        ({"expects": ["ticket.create=2"]}, "--expect", "did you mean 'tickets'"),
    ],
)
def test_a_mistake_names_its_option(home: Path, more: dict[str, Any], option: str, says: str) -> None:
    with pytest.raises(UsageInvalid) as raised:
        flags(home, **more)
    assert raised.value.where == option
    assert says in raised.value.what
    assert raised.value.next_step


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("python", "agent.py"), "agent"),
        (("/usr/bin/python3.12", "-m", "my.agent", "--fast"), "my-agent"),
        (("node", "src/agent.mjs"), "agent"),
        (("./agent.sh",), "agent"),
        (("uv", "run", "worker"), "worker"),
        (("python",), "python"),
        (("///",), "worker"),
    ],
)
def test_a_worker_is_named_after_its_program(command: tuple[str, ...], name: str) -> None:
    assert name_of_command(command) == name


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--worker", {"worker": "python3 a\0.py"}),
        ("--env", {"env": ["A=b\0c"]}),
        ("--state", {"state": ["a\0b"]}),
        ("--reset", {"reset": "true \0"}),
    ],
)
def test_a_nul_character_is_refused_with_its_option(home: Path, option: str, given: dict[str, Any]) -> None:
    with pytest.raises(UsageInvalid, match="NUL") as caught:
        flags(home, **given)
    assert caught.value.where == option
