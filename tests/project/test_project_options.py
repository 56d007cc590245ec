"""`[tool.ackgap]`: what it may say, what each mistake says, and that the command line wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackgap.cli.arguments import make_parser
from ackgap.cli.project import reports_of, settle
from ackgap.errors import UsageInvalid
from ackgap.project import NO_PROJECT, nearest_project, read_project


def written(directory: Path, text: str) -> Path:
    (directory / "pyproject.toml").write_text(text)
    return directory


def test_nothing_is_said_without_a_file_or_without_the_table(tmp_path):
    assert read_project(tmp_path) == NO_PROJECT
    assert read_project(written(tmp_path, "[tool.other]\nx = 1\n")) == NO_PROJECT


def test_every_key_is_read_and_paths_are_relative_to_the_file(tmp_path):
    text = '[tool.ackgap]\njobs = 3\nnetwork = "host"\nwarm = true\ncopies = false\nout = "build"\nfail-on = "red"\n'
    found = read_project(written(tmp_path, f'{text}life = 5\ncollect = false\nslice = "demo"\n'))
    assert (found.jobs, found.network, found.warm, found.copies) == (3, "host", True, False)
    assert (found.out, found.fail_on, found.life_s) == (tmp_path / "build", "red", 5)
    assert (found.collect, found.slice_name) == (False, "demo")


@pytest.mark.parametrize(
    ("line", "key", "said"),
    [
        ("job = 3", "tool.ackgap.job", "did you mean 'jobs'?"),
        ("jobs = 0", "tool.ackgap.jobs", "a number from 1, not 0"),
        ("jobs = true", "tool.ackgap.jobs", "a number from 1, not True"),
        ('network = "lan"', "tool.ackgap.network", "one of auto, isolated, host"),
        ('warm = "yes"', "tool.ackgap.warm", "true or false"),
        ("life = -1", "tool.ackgap.life", "a number of seconds"),
    ],
)
def test_a_mistake_names_file_and_key(tmp_path, line, key, said):
    with pytest.raises(UsageInvalid) as caught:
        read_project(written(tmp_path, f"[tool.ackgap]\n{line}\n"))
    assert caught.value.where == f"{tmp_path / 'pyproject.toml'}, key {key}"
    assert said in caught.value.what


def test_a_file_that_is_no_toml_names_the_line(tmp_path):
    with pytest.raises(UsageInvalid) as caught:
        read_project(written(tmp_path, "[tool.ackgap\n"))
    assert "line 1" in caught.value.where


def test_the_nearest_file_above_counts(tmp_path):
    inner = written(tmp_path, "[tool.ackgap]\njobs = 7\n") / "a" / "b"
    inner.mkdir(parents=True)
    assert nearest_project(inner).jobs == 7


def test_the_command_line_wins_over_the_project(tmp_path, monkeypatch):
    text = '[tool.ackgap]\njobs = 7\nwarm = true\nnetwork = "host"\nfail-on = "never"\nout = "build"\n'
    monkeypatch.chdir(written(tmp_path, text))
    silent = make_parser().parse_args(["run", "s"])
    project = settle(silent)
    assert (silent.jobs, silent.warm, silent.network, silent.fail_on) == (7, True, "host", "never")
    assert reports_of(project) == Path("build")
    said = make_parser().parse_args(["run", "s", "--jobs", "2", "--no-warm", "--network", "auto", "--fail-on", "red"])
    settle(said)
    assert (said.jobs, said.warm, said.network, said.fail_on) == (2, False, "auto", "red")


@pytest.mark.parametrize("command", ["run s", "search s", "replay d c"])
def test_without_a_project_everything_is_as_usual(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    options = make_parser().parse_args(command.split())
    project = settle(options)
    assert (options.network, reports_of(project)) == ("auto", Path("reports"))
    if command.startswith("run"):
        assert (options.jobs, options.warm, options.copies, options.fail_on) == (None, False, False, "red,inconclusive")
