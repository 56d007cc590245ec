"""A cell's directory is a copy in which the project's links mean the copy."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ackgap.execute.workspace import RESULT_FILES, fresh_copy
from ackgap.report import store


def test_links_within_the_project_lead_into_the_copy_and_others_stay(tmp_path: Path) -> None:
    project, copy = tmp_path / "project", tmp_path / "copy"
    (project / "a" / "b").mkdir(parents=True)
    (project / "state").mkdir()
    (project / ".venv").mkdir()
    (project / "state" / "db").write_text("0")
    (tmp_path / "elsewhere").write_text("x")
    (project / "a" / "b" / "up").symlink_to("../../state/db")
    (project / "a" / "absolute").symlink_to(project / "state")
    (project / "a" / "beside").symlink_to("b")
    (project / "outside").symlink_to("../elsewhere")
    (project / "tools").symlink_to(".venv")
    (project / "broken").symlink_to("nowhere")
    fresh_copy(project, copy, limit_bytes=10_000)
    (copy / "a" / "b" / "up").write_text("1")
    assert (copy / "state" / "db").read_text() == "1"
    assert (project / "state" / "db").read_text() == "0"
    assert (copy / "a" / "absolute").resolve() == copy / "state"
    assert (copy / "a" / "beside").resolve() == copy / "a" / "b"
    assert (copy / "outside").resolve() == tmp_path / "elsewhere"
    assert (copy / "tools").resolve() == project / ".venv"
    assert not (copy / "broken").exists()


def test_results_of_runs_are_not_copied(tmp_path: Path) -> None:
    project, copy = tmp_path / "project", tmp_path / "copy"
    for directory in ("out", "out.previous", "data"):
        (project / directory).mkdir(parents=True)
    for name in RESULT_FILES:
        (project / "out" / name).touch()
        (project / "out.previous" / name).touch()
    (project / "data" / RESULT_FILES[0]).touch()
    fresh_copy(project, copy, limit_bytes=10_000)
    assert [path.name for path in copy.iterdir()] == ["data"]
    assert {store.CELLS_FILE, store.HISTORIES_FILE} == set(RESULT_FILES)


def test_what_vanishes_while_it_is_copied_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, copy = tmp_path / "project", tmp_path / "copy"
    (project / "kept").mkdir(parents=True)
    (project / "gone").mkdir()
    for name in ("state.json", ".state.json.part"):
        (project / name).touch()
    listed = os.scandir

    @contextmanager
    def then_gone(path: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
        with listed(path) as entries:
            found = list(entries)
        if Path(path) == project:
            (project / ".state.json.part").unlink()
            (project / "gone").rmdir()
        yield iter(found)

    monkeypatch.setattr("os.scandir", then_gone)
    fresh_copy(project, copy, limit_bytes=10_000)
    monkeypatch.undo()
    assert sorted(path.name for path in copy.iterdir() if path.is_file()) == ["state.json"]
