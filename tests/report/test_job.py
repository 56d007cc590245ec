"""In a job of GitHub Actions: the runner obeys what ackgap tells it, and nothing that a worker has said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from ackgap.cli import main
from ackgap.model.verdict import VerdictKind

EVIL = "::add-mask::secret"
OLD_EVIL = "##[set-output name=x]y"


def obeyed(printed: str) -> Iterator[str]:
    """Yield the names of the commands that the runner of a job obeys, line by line, as it does.

    `::name key=value::data` after white space and `##[name]data` anywhere; nothing between `::stop-commands::word` and
    `::word::`.
    """
    word = ""
    for line in printed.splitlines():
        text = line.lstrip()
        if word:
            word = "" if text == f"::{word}::" else word
            continue
        found = re.match(r"::([\w-]+)[^:]*(?:(?!::).)*::(.*)", text) or re.search(r"##\[([\w-]+).*?\](.*)", text)
        if found is None:
            continue
        if found[1] == "stop-commands":
            word = found[2]
        yield found[1]


@pytest.fixture
def hostile(builders: ModuleType, tmp_path: Path) -> Path:
    """A run whose findings are worded so that a command begins a line wherever lines are broken."""
    words = " ".join([EVIL] * 40) + f" {OLD_EVIL}"
    cells = [builders.with_finding(cell, VerdictKind.DUPLICATE, words, words) for cell in builders.results()[:6]]
    return Path(builders.write(tmp_path / "run", cells=cells, title=words, notes=(words,)))


@pytest.mark.parametrize("command", ["report", "show", "diff"])
def test_nothing_that_a_worker_says_is_obeyed(
    command: str,
    hostile: Path,
    builders: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    old = builders.write(tmp_path / "old", cells=builders.results()[:6])
    arguments = [str(old), str(hostile)] if command == "diff" else [str(hostile)]
    main([command, *arguments])
    assert "add-mask" in list(obeyed(capsys.readouterr().out)), "outside of a job it is only printed"
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    main([command, *arguments])
    printed = capsys.readouterr().out
    assert EVIL in printed
    assert set(obeyed(printed)) <= {"stop-commands", "error", "warning"}
    assert ("error" in list(obeyed(printed))) is (command != "show")
    if command != "show":
        summary = (tmp_path / "summary.md").read_text()
        assert not [line for line in summary.splitlines() if line.lstrip().startswith("::")]


@pytest.mark.parametrize(
    ("arguments", "env", "told"),
    [
        ((), {}, False),
        ((), {"GITHUB_ACTIONS": "true"}, True),
        ((), {"GITHUB_ACTIONS": "false"}, False),
        (("--github", "never"), {"GITHUB_ACTIONS": "true"}, False),
        (("--github", "always"), {}, True),
    ],
)
def test_a_job_is_told_where_there_is_one_or_where_it_is_asked_for(
    arguments: tuple[str, ...],
    env: dict[str, str],
    told: bool,
    builders: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    cells = [builders.with_finding(builders.results()[1], VerdictKind.LOST, "The ticket never happened")]
    directory = builders.write(tmp_path / "run", cells=cells)
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert main(["report", str(directory), *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("::error title=ackgap%3A lost::The ticket never happened%0A") for line in lines) is told
    assert any(line.startswith("::stop-commands::") for line in lines) is (env.get("GITHUB_ACTIONS") == "true")
    assert summary.read_text().startswith("before\n## ackgap: " if told else "before\n")
    assert ("## ackgap" in summary.read_text()) is told


def test_a_part_of_a_run_tells_only_where_it_is_asked_to(
    builders: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cells = [builders.with_finding(builders.results()[1], VerdictKind.LOST, "The ticket never happened")]
    directory = builders.write(tmp_path / "part", cells=cells, shard="1/2")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    main(["report", str(directory)])
    assert "::error" not in capsys.readouterr().out
    main(["report", str(directory), "--github", "always"])
    assert "::error" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("fail_on", "status"), [((), 0), (("--fail-on", "red"), 1), (("--fail-on", "inconclusive"), 0)]
)
def test_results_that_are_there_decide_about_a_job(
    fail_on: tuple[str, ...], status: int, builders: ModuleType, tmp_path: Path
) -> None:
    cells = [builders.with_finding(builders.results()[1], VerdictKind.LOST, "The ticket never happened")]
    directory = builders.write(tmp_path / "run", cells=cells)
    assert main(["report", str(directory), *fail_on]) == status
