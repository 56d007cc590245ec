"""A user's project with scenarios whose answers are known, and pytest as a user calls it, in a process of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

KNOWN_ANSWERS = Path(__file__).parents[2] / "scenarios" / "known-answers"


@dataclass
class Done:
    status: int
    out: str

    @property
    def outcomes(self) -> dict[str, str]:
        """Outcome by the name of the test, as `-v` or `-rA` prints them."""
        found = re.findall(r"^(\S*::\S.*?) (PASSED|FAILED|XFAIL|ERROR|SKIPPED|RERUN)\b", self.out, re.MULTILINE)
        found += [(name, outcome) for outcome, name in re.findall(r"\b(PASSED|FAILED|XFAIL) (\S*::\S+)", self.out)]
        return {name.partition("::")[2]: outcome for name, outcome in found}


class UserProject:
    """A directory with scenarios and tests."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        (path / "pyproject.toml").write_text("")

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def scenario(self, name: str, *, more: str = "", into: str = "agent") -> Path:
        folder = self.path / into
        shutil.copytree(KNOWN_ANSWERS / name, folder)
        file = folder / "scenario.toml"
        file.write_text(f"{file.read_text()}\n{more}")
        return file

    def pytest(self, *arguments: str, randomly: bool = False, limit_s: float = 600) -> Done:
        command = [sys.executable, "-m", "pytest", *([] if randomly else ["-p", "no:randomly"]), *arguments]
        done = subprocess.run(command, cwd=self.path, capture_output=True, text=True, timeout=limit_s, check=False)
        return Done(done.returncode, done.stdout + done.stderr)


@pytest.fixture(scope="module")
def user_project(tmp_path_factory: pytest.TempPathFactory) -> UserProject:
    return UserProject(tmp_path_factory.mktemp("user") / "project")
