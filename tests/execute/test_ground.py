"""What dead runs have left is cleared away, and nothing else."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from pathlib import Path

import pytest

from ackgap.execute.ground import remove_ground, sweep_dead_runs


@pytest.mark.parametrize(
    ("files", "age_s", "stays"),
    [((), 7200, False), (("s1",), 7200, False), ((), 60, True), (("notes.txt",), 7200, True)],
)
def test_a_directory_without_an_owner_goes_once_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...], age_s: float, stays: bool
) -> None:
    base = Path(tempfile.mkdtemp(dir=tmp_path))
    monkeypatch.setattr("ackgap.execute.ground._base", lambda: str(base))
    directory = base / "ackgap-abc"
    directory.mkdir()
    for file in files:
        (directory / file).touch()
    then = time.time() - age_s
    os.utime(directory, (then, then))
    sweep_dead_runs()
    assert directory.exists() == stays


def test_several_processes_remove_one_directory_and_nothing_stays(tmp_path: Path) -> None:
    for _ in range(3):
        directory = tmp_path / "ackgap-abc"
        for number in range(300):
            place = directory / f"s{number % 3}" / f"d{number}"
            place.mkdir(parents=True)
            (place / "file").touch()
        (directory / "owner.json").touch()
        context = multiprocessing.get_context("fork")
        removers = [context.Process(target=remove_ground, args=(directory,)) for _ in range(3)]
        for remover in removers:
            remover.start()
        for remover in removers:
            remover.join()
        assert not directory.exists()


def test_what_cannot_be_removed_keeps_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "ackgap-abc"
    (directory / "s1").mkdir(parents=True)
    (directory / "owner.json").touch()

    def refuse(_path: Path) -> None:
        raise OSError(39, "Directory not empty")

    monkeypatch.setattr("ackgap.execute.ground._REMOVAL_LIMIT_S", 0)
    monkeypatch.setattr("ackgap.execute.workspace.remove_tree", refuse)
    remove_ground(directory)
    assert (directory / "owner.json").exists()
