"""`ackgap init` as a user calls it: what is written, what is left alone, and what is said."""

from __future__ import annotations

import os

import pytest

from ackgap import cli
from ackgap.scenario.load import load_scenario

AGENT = """
import os, urllib.request
urllib.request.urlopen(os.environ["TICKETS_URL"] + "/tickets", b"{}")
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    directory = tmp_path / "my-agent"
    directory.mkdir()
    (directory / "agent.py").write_text(AGENT)
    monkeypatch.chdir(directory)
    return directory


def test_a_scenario_and_a_test_are_written_and_said(home, capsys):
    assert cli.main(["init"]) == 0
    out = capsys.readouterr().out
    assert load_scenario(home).worker.command[1:] == ("agent.py",)
    compile((home / "tests" / "test_crashes.py").read_text(), "test_crashes.py", "exec")
    for said in ("Found", "python agent.py", "Guessed", "tickets", "Written", "scenario.toml", "ackgap run ."):
        assert said in out


def test_what_is_there_is_never_overwritten(home, capsys):
    (home / "scenario.toml").write_text("mine")
    assert cli.main(["init"]) == 2
    error = capsys.readouterr().err
    assert "--force" in error
    assert "--stdout" in error
    assert (home / "scenario.toml").read_text() == "mine"
    assert not (home / "tests").exists()


def test_a_test_that_is_there_stays_where_only_the_scenario_is_new(home, capsys):
    (home / "tests").mkdir()
    (home / "tests" / "test_crashes.py").write_text("mine")
    assert cli.main(["init"]) == 0
    assert (home / "tests" / "test_crashes.py").read_text() == "mine"
    assert "left alone" in capsys.readouterr().out
    assert load_scenario(home)


def test_force_replaces_both(home):
    (home / "tests").mkdir()
    (home / "tests" / "test_crashes.py").write_text("mine")
    (home / "scenario.toml").write_text("mine")
    assert cli.main(["init", "--force"]) == 0
    assert "mine" not in (home / "tests" / "test_crashes.py").read_text().splitlines()
    assert load_scenario(home)


def test_a_dry_run_writes_nothing(home, capsys):
    before = sorted(path.name for path in home.iterdir())
    assert cli.main(["init", "--dry-run"]) == 0
    assert sorted(path.name for path in home.iterdir()) == before
    assert "Would write" in capsys.readouterr().out


def test_stdout_gets_the_scenario_alone_and_nothing_is_written(home, capsys):
    (home / "scenario.toml").write_text("mine")
    assert cli.main(["init", "--stdout"]) == 0
    captured = capsys.readouterr()
    assert (home / "scenario.toml").read_text() == "mine"
    (home / "scenario.toml").write_text(captured.out)
    assert load_scenario(home).targets[0].name == "tickets"
    assert "Guessed" in captured.err
    assert "Guessed" not in captured.out


def test_another_directory_is_named(home, monkeypatch, capsys):
    monkeypatch.chdir(home.parent)
    assert cli.main(["init", "my-agent"]) == 0
    assert load_scenario(home)
    assert "ackgap run my-agent" in capsys.readouterr().out
    assert cli.main(["init", "no-such-place"]) == 2
    assert "DIR" in capsys.readouterr().err


def test_a_directory_that_may_not_be_written_to_is_a_sentence(home, capsys):
    if os.geteuid() == 0:
        (home / "tests").write_text("a file in the way")
        status = cli.main(["init"])
    else:
        home.chmod(0o500)
        status = cli.main(["init"])
        home.chmod(0o700)
    assert status == 2
    error = capsys.readouterr().err
    assert "cannot be written" in error
    assert "--stdout" in error


def test_a_program_that_this_machine_lacks_is_said_at_once(home, capsys):
    assert cli.main(["init", "--worker", "no-such-program agent.py"]) == 0
    out = capsys.readouterr().out
    assert "cannot be run" in out
    assert "no-such-program" in out


def test_a_pyproject_that_is_none_is_a_sentence(home, capsys):
    (home / "pyproject.toml").write_text("[project\n")
    assert cli.main(["init"]) == 2
    assert "pyproject.toml" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("pyproject", "faults"),
    [("", True), ('[tool.pytest.ini_options]\ntestpaths = ["tests"]\n', False)],
    ids=["pytest collects the scenario", "tests are looked for in a folder"],
)
def test_the_first_test_is_not_what_pytest_does_by_itself(home, pyproject, faults):
    (home / "pyproject.toml").write_text(pyproject)
    assert cli.main(["init"]) == 0
    text = (home / "tests" / "test_crashes.py").read_text()
    assert ('faults=["lose"]' in text) == faults
