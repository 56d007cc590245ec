"""A user's project in a temporary directory, and the command line as a user calls it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from prepared import Prepared

REPOSITORY = Path(__file__).parents[2]


@dataclass
class Outcome:
    status: int
    out: str
    err: str
    directory: Path

    @property
    def cells(self) -> dict[str, dict]:
        lines = (self.directory / "cells.jsonl").read_text().splitlines()
        return {cell["cell"]: cell for cell in map(json.loads, lines)}

    @property
    def verdicts(self) -> dict[str, str]:
        return {name: cell["verdict"] for name, cell in self.cells.items()}

    def history(self, cell: str) -> list[dict]:
        for line in (self.directory / "histories.jsonl").read_text().splitlines():
            document = json.loads(line)
            if document["cell"] == cell:
                return document["history"]
        raise AssertionError(f"no history of {cell}")


class Project:
    """A directory of a user's, and `ackgap` run in it."""

    def __init__(self, path: Path, prepared: Prepared) -> None:
        self.path = path
        self._prepared = prepared

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def ackgap(self, *arguments: str, out: str = "out", limit_s: float = 120) -> Outcome:
        if arguments[0] == "run":
            arguments += ("--out", out)
        done = self._prepared.run(arguments, directory=self.path, limit_s=limit_s)
        assert "Traceback" not in done.stderr, done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr, self.path / out)

    def run_worker(self, worker: str, *more: str, target: str = "tickets=any", out: str = "out") -> Outcome:
        return self.ackgap(
            "run",
            "--quiet",
            "--worker",
            worker,
            "--target",
            target,
            "--env",
            "TICKETS_URL={tickets.url}",
            *more,
            out=out,
        )


@pytest.fixture(scope="session")
def prepared() -> Iterator[Prepared]:
    with Prepared() as made:
        yield made


@pytest.fixture
def project(tmp_path: Path, prepared: Prepared) -> Project:
    path = tmp_path / "project"
    path.mkdir()
    return Project(path, prepared)


@pytest.fixture
def agents() -> Path:
    return REPOSITORY / "scenarios" / "agents"
