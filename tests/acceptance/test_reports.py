"""Public reports as scenarios: each shows its bad end, and its control comes out right."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from needs import needed

from ackgap.matrix_run import run_matrix
from ackgap.model.verdict import Colour, VerdictKind

REPORTS = Path(__file__).parents[2] / "scenarios" / "reports"
FOLDERS = sorted(path.parent for path in REPORTS.glob("*/scenario.toml"))
SOURCE = re.compile(r"https://[^\s)\]]+")
VERSION = re.compile(r"[A-Za-z0-9_-]+ \d+(\.\d+)+")

each_report = pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)


def expected(folder: Path) -> dict[str, str]:
    return json.loads((folder / "expected.json").read_text())


def is_control(cell: str) -> bool:
    _, _, variant = cell.rpartition("@")
    return "control" in {pair.partition("=")[2] for pair in variant.split(",")}


@pytest.mark.slow
@each_report
def test_the_verdicts_of_a_report_are_the_documented_ones(folder, tmp_path):
    with needed():
        found = run_matrix(folder, root=tmp_path, directory=tmp_path / "out", slice_name="report", warm=True)
    assert found.verdicts == expected(folder)


@each_report
def test_a_report_has_a_bad_end_and_a_control_that_is_right_under_the_same_faults(folder):
    verdicts = expected(folder)
    control = {cell.rpartition("@")[0] for cell in verdicts if is_control(cell)}
    assert {verdict for cell, verdict in verdicts.items() if is_control(cell)} == {"ok"}
    bad = {
        cell.rpartition("@")[0]
        for cell, verdict in verdicts.items()
        if not is_control(cell) and VerdictKind(verdict).colour is Colour.RED
    }
    assert bad
    assert bad <= control, "what is red elsewhere is tried on the control as well"
    assert "undisturbed" in control
    assert "inconclusive" not in verdicts.values()


@each_report
def test_a_report_names_its_source_and_the_version_that_was_seen(folder):
    scenario = tomllib.loads((folder / "scenario.toml").read_text())
    readme = (folder / "README.md").read_text()
    source = SOURCE.search(scenario["about"])
    assert source, "the source is in `about`, where a reader of the report sees it"
    assert source.group().rstrip(".,;:") in readme
    (seen,) = re.findall(r"^Seen with .+$", readme, re.MULTILINE)
    assert VERSION.search(seen)
    assert f"ackgap run reports/{folder.name}" in readme


def test_no_two_reports_have_the_same_name_and_each_is_in_the_table():
    names = [tomllib.loads((folder / "scenario.toml").read_text())["name"] for folder in FOLDERS]
    assert len(set(names)) == len(names)
    assert len(names) >= 15
    table = (REPORTS / "README.md").read_text()
    listed = re.findall(r"^\| \[`?([a-z0-9-]+)`?\]\(\1/README\.md\)", table, re.MULTILINE)
    assert sorted(listed) == [folder.name for folder in FOLDERS]
