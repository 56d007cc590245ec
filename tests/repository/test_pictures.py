"""The sample report and its pictures, made from a tiny run."""

from __future__ import annotations

import importlib.util
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ackgap.matrix_run import run_matrix
from ackgap.report.store import read_run
from ackgap.session import Source

REPOSITORY = Path(__file__).parents[2]
SCRIPT = REPOSITORY / "docs" / "make_pictures.py"
pytestmark = pytest.mark.slow


def size(file: Path) -> tuple[int, int]:
    data = file.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", data[16:24])


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("make_pictures", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tiny") / "run"
    run_matrix(
        None,
        root=REPOSITORY / "scenarios" / "agents" / "python",
        directory=directory,
        worker="python agent.py",
        targets=["tickets=any"],
        env=["TICKETS_URL={tickets.url}"],
        points=["*POST/tickets*:returned"],
    )
    return directory


def test_a_sample_and_four_pictures_are_made_from_results(tiny, tmp_path, program):
    program("chromium", "apt-get install chromium")
    sample, pictures = tmp_path / "reports" / "sample", tmp_path / "pictures"
    command = [sys.executable, SCRIPT, "--from", tiny, "--sample", sample, "--pictures", pictures]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    assert {file.name for file in sample.iterdir()} == {
        "cells.jsonl",
        "histories.jsonl",
        "junit.xml",
        "report.html",
        "report.sarif",
        "run.json",
        "source.json",
        "summary.md",
    }
    taken = {file.name: size(file) for file in pictures.iterdir()}
    assert taken.keys() == {"matrix-light.png", "matrix-dark.png", "cell-light.png", "cell-dark.png"}
    assert {width for width, _ in taken.values()} == {1400}
    assert all(300 < height <= 1600 for _, height in taken.values())
    assert all(file.stat().st_size < 300_000 for file in pictures.iterdir())
    assert (pictures / "matrix-light.png").read_bytes() != (pictures / "matrix-dark.png").read_bytes()


def test_a_sample_names_no_machine_and_can_still_be_replayed(script, tiny, tmp_path):
    sample = tmp_path / "reports" / "sample"
    script.make_sample(tiny, sample)
    for file in sample.iterdir():
        for path in {str(REPOSITORY), sys.prefix, str(Path.home()) + "/", str(tiny.parent)}:
            assert file.name == "source.json" or path not in file.read_text(), f"{path} in {file.name}"
    assert [cell.cell for cell in read_run(sample).cells] == [cell.cell for cell in read_run(tiny).cells]
    assert all(read_run(sample).history(cell.cell) for cell in read_run(sample).cells)
    assert read_run(sample).info.replay_prefix == "ackgap replay sample"
    assert Source.read(sample).scenario().worker == Source.read(tiny).scenario().worker


def test_the_cell_that_is_shown_is_a_red_one(script, tiny):
    cell = script.telling_cell(read_run(tiny).cells)
    assert cell.cell == "tickets.POST/tickets#1:returned@default"
    assert cell.verdict.kind == "duplicate"
