"""Known gaps: declared cells pass, closed and changed ones fail, and everybody is told which is which."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ackgap.cli.run import exit_status
from ackgap.model.codec import decode, encode
from ackgap.model.gap import KnownGap
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind
from ackgap.report.failing import failing_kinds
from ackgap.report.gaps import Standing, gap_lines, standing_of
from ackgap.report.info import RunInfo
from ackgap.report.junit import junit_xml
from ackgap.report.store import Run
from ackgap.report.summary import summary_markdown

NONE = Variant(values=(("key", "none"),))
FIXED = Variant(values=(("key", "fixed"),))
FAILING = failing_kinds("red,inconclusive")


def cell(point: str, variant: Variant, kind: str) -> CellResult:
    finding = Finding(kind=VerdictKind(kind), code=kind, summary=f"it is {kind}")
    verdict = Verdict.of(() if kind == "ok" else (finding,))
    return CellResult(scenario="s", variant=variant, schedule=Schedule.parse(point), verdict=verdict, incarnations=2)


def gap(**keys) -> KnownGap:
    return KnownGap(**{"verdict": VerdictKind.DUPLICATE, "reason": "no key yet", "owner": "ada", **keys})


def run(gaps: list[KnownGap], *cells: CellResult) -> Run:
    return Run.of(Path("out"), RunInfo(scenario="s", known_gaps=tuple(gaps)), cells)


@pytest.mark.parametrize(
    ("keys", "covered"),
    [
        ({"points": ("a.b#1:applied",)}, {"a.b#1:applied@key=none", "a.b#1:applied@key=fixed"}),
        ({"points": ("lose@*",)}, {"lose@a.b#1:applied@key=none"}),
        ({"only": {"key": ("fixed",)}}, {"a.b#1:applied@key=fixed"}),
        ({"points": ("*applied",), "only": {"key": ("fixed", "x")}}, {"a.b#1:applied@key=fixed"}),
        ({"cell": "a.b#1:*@key=none"}, {"a.b#1:applied@key=none"}),
        ({"cell": "a.b#1:applied@key=n"}, set()),
    ],
)
def test_a_gap_covers_the_cells_that_it_names_and_no_other(keys, covered):
    cells = [("a.b#1:applied", NONE), ("a.b#1:applied", FIXED), ("lose@a.b#1:applied", NONE)]
    assert {f"{row}@{variant}" for row, variant in cells if gap(**keys).covers(row, variant)} == covered


def test_brackets_of_a_boundary_stand_for_themselves():
    assert gap(points=("file.a[1].write#1:*",)).covers("file.a[1].write#1:committed", NONE)


@pytest.mark.parametrize(
    ("found", "standing", "status"),
    [
        ("duplicate", Standing.KNOWN, 0),
        ("ok", Standing.CLOSED, 1),
        ("lost", Standing.CHANGED, 1),
        ("wasted", Standing.CHANGED, 1),
        ("inconclusive", Standing.UNPROVEN, 3),
    ],
)
def test_only_a_gap_that_is_as_declared_passes(found, standing, status):
    covered = cell("a.b#1:applied", NONE, found)
    declared = standing_of([gap(points=("a.b#1:applied",))], covered)
    assert declared is not None
    assert declared.standing is standing
    result = run([gap(points=("a.b#1:applied",))], covered, cell("a.b#1:sending", NONE, "ok"))
    assert exit_status(result, FAILING) == status
    assert exit_status(result, failing_kinds("never")) == 0


def test_a_red_cell_beside_a_known_gap_still_fails():
    gaps = [gap(points=("a.b#1:applied",))]
    result = run(gaps, cell("a.b#1:applied", NONE, "duplicate"), cell("a.b#1:returned", NONE, "duplicate"))
    assert exit_status(result, FAILING) == 1


def test_of_two_gaps_that_cover_a_cell_the_first_counts():
    declared = standing_of([gap(owner="first"), gap(owner="second")], cell("a.b#1:applied", NONE, "duplicate"))
    assert declared is not None
    assert declared.gap.owner == "first"


def test_each_gap_is_told_with_its_owner_and_one_without_a_cell_as_such():
    gaps = [gap(points=("a.b#1:applied",)), gap(points=("a.b#1:sending",), owner="bob"), gap(points=("zzz",))]
    said = list(gap_lines(run(gaps, cell("a.b#1:applied", NONE, "duplicate"), cell("a.b#1:sending", NONE, "ok"))))
    assert said[0] == "Known gap, 1 cell duplicate as declared (a.b#1:applied). ada: no key yet"
    assert said[1].startswith("a.b#1:sending@key=none: the known gap is closed: it was declared duplicate")
    assert "bob: no key yet" in said[1]
    assert said[2] == "A known gap covers no cell of this run: zzz. ada: no key yet"


def test_what_a_gap_says_cannot_steer_a_terminal():
    (line,) = gap_lines(run([gap(reason="a\x1b[2Jb", points=("zzz",))]))
    assert "\x1b" not in line


def test_reports_skip_a_known_gap_and_fail_a_closed_one():
    gaps = [gap(points=("a.b#1:*",))]
    result = run(gaps, cell("a.b#1:applied", NONE, "duplicate"), cell("a.b#1:sending", NONE, "ok"))
    suite = ET.fromstring(junit_xml(result)).find("testsuite")
    assert suite is not None
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert cases == {"a.b#1:applied": ["skipped"], "a.b#1:sending": ["failure"]}
    assert "### Known gaps" in summary_markdown(result)


def test_gaps_are_kept_in_the_files_of_a_run():
    info = RunInfo(scenario="s", known_gaps=(gap(points=("a",), only={"key": ("none", "fixed")}), gap(cell="a@b")))
    assert decode(RunInfo, encode(info)).known_gaps == info.known_gaps
