"""The import layers hold, and the linter that says so would notice if they did not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
PACKAGE = REPOSITORY / "harness" / "ackgap"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    pytest.importorskip("importlinter")
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    shutil.copytree(PACKAGE, tmp_path / "harness" / "ackgap", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def lint(copy: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache", "../pyproject.toml"],
        cwd=copy / "harness",
        env={**os.environ, "PYTHONPATH": str(copy / "harness"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_each_room_imports_only_rooms_below_it(copy):
    done = lint(copy)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "line", "said"),
    [
        ("model/boundary.py", "import ackgap.cli", "ackgap.model is not allowed to import ackgap.cli"),
        ("judge/wasted.py", "from ackgap.execute import supervisor", "ackgap.judge"),
        ("target/service.py", "from ackgap.campaign import cell", "ackgap.target is not allowed to import"),
        ("worker/channel.py", "from ackgap.model import event", "ackgap.worker is not allowed to import ackgap.model"),
        ("judge/proofs.py", "import time", "ackgap.judge is not allowed to import time"),
        ("plan/census.py", "import subprocess", "ackgap.plan is not allowed to import subprocess"),
    ],
)
def test_a_planted_violation_is_found(copy, module, line, said):
    with (copy / "harness" / "ackgap" / module).open("a") as file:
        file.write(f"\n{line}  # planted\n")
    done = lint(copy)
    assert done.returncode == 1, done.stdout
    assert said in done.stdout


def test_every_room_has_its_layer():
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    placed = {room.strip() for layer in layers for room in layer.split("|")}
    packages = {f"ackgap.{path.parent.name}" for path in PACKAGE.glob("*/__init__.py")}
    rooms = packages | {f"ackgap.{path.stem}" for path in PACKAGE.glob("*.py")}
    assert rooms - placed == {"ackgap.__init__", "ackgap.__main__", "ackgap.worker"}
    assert placed <= rooms
