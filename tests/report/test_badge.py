"""A badge says the worst of a run, and is green only where everything was proven."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from ackgap.errors import ResultsInvalid
from ackgap.model.gap import KnownGap
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import UNDISTURBED, Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind
from ackgap.report.badge import Badge, badge_json, badge_of, badge_svg
from ackgap.report.info import RunInfo
from ackgap.report.store import Run

OK, DUPLICATE, LOST = VerdictKind.OK, VerdictKind.DUPLICATE, VerdictKind.LOST
WASTED, IN_DOUBT, GREY = VerdictKind.WASTED, VerdictKind.IN_DOUBT, VerdictKind.INCONCLUSIVE
GAP = KnownGap(verdict=DUPLICATE, reason="no keys", owner="payments", points=("a.b#2:applied",))


def run(*kinds: VerdictKind, **info: Any) -> Run:
    cells = []
    for number, kind in enumerate(kinds):
        schedule = Schedule.parse(f"a.b#{number}:applied") if number else UNDISTURBED
        verdict = Verdict.of([Finding(kind=kind, code=kind.value, summary="x")] if kind is not OK else [])
        cells.append(
            CellResult(scenario="agent", variant=Variant(), schedule=schedule, verdict=verdict, incarnations=1)
        )
    return Run.of(Path("reports/agent"), RunInfo(**{"scenario": "agent", **info}), cells)


@pytest.mark.parametrize(
    ("found", "message", "colour"),
    [
        (run(OK, OK, OK), "exactly once, 2 faults", "brightgreen"),
        (run(OK, DUPLICATE, LOST, OK), "duplicate: 2 of 4 cells red", "red"),
        (run(OK, DUPLICATE, GREY), "duplicate: 1 of 3 cells red", "red"),
        (run(OK, OK, GREY), "inconclusive: 1 of 3 cells", "lightgrey"),
        (run(OK, IN_DOUBT, WASTED), "in doubt: 2 of 3 cells", "yellow"),
        (run(OK), "nothing was tried", "lightgrey"),
        (run(), "nothing was tried", "lightgrey"),
        (run(OK, OK, interrupted=True, planned_cells=9), "not complete: 2 of 9 cells", "lightgrey"),
        (run(OK, LOST, interrupted=True, planned_cells=9), "lost: 1 of 2 cells red", "red"),
        (run(OK, OK, DUPLICATE, known_gaps=(GAP,)), "known gaps: 1 of 3 cells", "yellow"),
        (run(OK, DUPLICATE, DUPLICATE, known_gaps=(GAP,)), "duplicate: 1 of 3 cells red", "red"),
    ],
)
def test_a_badge_says_the_worst_and_is_green_only_where_all_was_proven(found: Run, message: str, colour: str) -> None:
    assert badge_of(found) == Badge(label="ackgap", message=message, colour=colour)


def test_a_part_of_a_run_has_no_badge() -> None:
    with pytest.raises(ResultsInvalid, match="part 1/2") as refused:
        badge_of(run(OK, OK, shard="1/2"))
    assert "ackgap merge" in refused.value.next_step


def test_what_shields_io_reads() -> None:
    assert json.loads(badge_json(badge_of(run(OK, OK), label="crashes"))) == {
        "schemaVersion": 1,
        "label": "crashes",
        "message": "exactly once, 1 fault",
        "color": "brightgreen",
    }
    assert json.loads(badge_json(badge_of(run(OK, LOST))))["isError"] is True


def test_the_picture_can_be_read_aloud_and_loads_nothing() -> None:
    picture = badge_svg(badge_of(run(OK, DUPLICATE)))
    root = ET.fromstring(picture)
    space = "{http://www.w3.org/2000/svg}"
    assert root.get("aria-label") == "ackgap: duplicate: 1 of 2 cells red"
    assert root.get("role") == "img"
    texts = root.findall(f".//{space}text")
    assert [text.text for text in texts] == ["ackgap", "duplicate: 1 of 2 cells red"]
    halves = root.findall(f"{space}g/{space}rect")
    assert sum(int(half.get("width", "")) for half in halves) == int(root.get("width", ""))
    for text, half in zip(texts, halves, strict=True):
        middle = int(half.get("x", "0")) + int(half.get("width", "")) / 2
        assert float(text.get("x", "")) == middle
        assert int(text.get("textLength", "")) < int(half.get("width", ""))
    assert "href" not in picture
    assert "url(#r)" in picture


def test_hostile_labels_stay_words() -> None:
    evil = '"><script>alert(1)</script> \x1b[2J\u202e ]]> & ' + "x" * 500
    badge = badge_of(run(OK, OK), label=evil)
    root = ET.fromstring(badge_svg(badge))
    assert [child.tag.rpartition("}")[2] for child in root.iter()] == [
        *("svg", "title", "clipPath", "rect", "g", "rect", "rect", "g", "text", "text")
    ]
    assert "\u202e" not in badge_svg(badge)
    assert "\x1b" not in json.loads(badge_json(badge))["label"]
    assert int(root.get("width", "")) < 1000
