"""Two runs compared: which cells are new, which became something else, and what only chance did."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackgap.errors import UsageInvalid
from ackgap.model.expectation import Expectation
from ackgap.model.gap import KnownGap
from ackgap.model.manner import PLAIN_KILL, Manner
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.rate import Rate
from ackgap.model.schedule import UNDISTURBED, Schedule
from ackgap.model.verdict import Attribution, Finding, Verdict, VerdictKind
from ackgap.report.console import make_console
from ackgap.report.diff.cells import Absence, Change
from ackgap.report.diff.comparison import Comparison, VersionChange, compare
from ackgap.report.diff.document import comparison_document
from ackgap.report.diff.gate import Gate
from ackgap.report.diff.markdown import comparison_markdown
from ackgap.report.diff.shown import print_comparison
from ackgap.report.info import AxisInfo, RunInfo
from ackgap.report.store import Run, read_run

OK, DUPLICATE, LOST = VerdictKind.OK, VerdictKind.DUPLICATE, VerdictKind.LOST
WASTED, IN_DOUBT, GREY = VerdictKind.WASTED, VerdictKind.IN_DOUBT, VerdictKind.INCONCLUSIVE
POINTS = ("tickets.create#1:received", "tickets.create#1:applied", "journal.write#1:committed")
HOSTILE = (
    "\n::error::owned\n##[add-mask]x %0A::stop-commands::y ]]> | <img src=x onerror=alert(1)> \x1b[2J\u202eevil "
    "`code` @everyone https://evil.example [a](javascript:b) ```"
)


def cell(
    point: str = POINTS[1], kind: VerdictKind = OK, *, variant: str = "default", rate: Any = None, **finding: Any
) -> CellResult:
    findings: list[Finding] = []
    if kind is not OK:
        values: dict[str, Any] = {"kind": kind, "code": kind.value, "summary": "Two tickets"} | finding
        findings = [Finding(**values)]
    return CellResult(
        scenario="agent",
        variant=Variant.parse(variant),
        schedule=Schedule.parse(point),
        verdict=Verdict.of(findings),
        incarnations=2,
        rate=rate,
    )


def run(*cells: CellResult, points: tuple[str, ...] = POINTS, **info: Any) -> Run:
    variants = tuple(dict.fromkeys(result.variant for result in cells))
    values: dict[str, Any] = {
        "scenario": "agent",
        "variants": variants,
        "expectations": {str(variant): Expectation(points=points) for variant in variants},
        "manners": (PLAIN_KILL,),
        "replay_prefix": "ackgap replay reports/agent",
    }
    return Run.of(Path("reports/agent"), RunInfo(**(values | info)), cells)


def changes(comparison: Comparison) -> dict[str, Change]:
    return {each.cell: each.change for each in comparison.cells if each.absence is None}


def status(comparison: Comparison, fail_on: str = "red,inconclusive") -> int:
    return Gate.parse(fail_on).status(comparison)


def text(comparison: Comparison) -> str:
    stream = io.StringIO()
    print_comparison(make_console(stream), comparison)
    return stream.getvalue()


# ----------------------------------------------------------------- verdicts


@pytest.mark.parametrize(
    ("before", "after", "change", "code"),
    [
        (OK, DUPLICATE, Change.NEWLY_RED, 1),
        (WASTED, LOST, Change.NEWLY_RED, 1),
        (GREY, DUPLICATE, Change.NEWLY_RED, 1),
        (OK, GREY, Change.NEWLY_INCONCLUSIVE, 3),
        (DUPLICATE, GREY, Change.NEWLY_INCONCLUSIVE, 3),
        (OK, WASTED, Change.NEWLY_AMBER, 0),
        (DUPLICATE, IN_DOUBT, Change.NEWLY_AMBER, 0),
        (DUPLICATE, OK, Change.NEWLY_GREEN, 0),
        (GREY, OK, Change.NEWLY_GREEN, 0),
        (DUPLICATE, LOST, Change.CHANGED, 0),
        (DUPLICATE, DUPLICATE, Change.SAME, 0),
        (OK, OK, Change.SAME, 0),
        (GREY, GREY, Change.SAME, 0),
    ],
)
def test_a_cell_is_called_by_its_colour_where_that_is_new(
    before: VerdictKind, after: VerdictKind, change: Change, code: int
) -> None:
    comparison = compare(run(cell(kind=before)), run(cell(kind=after)))
    assert changes(comparison) == {"tickets.create#1:applied@default": change}
    assert status(comparison) == code
    assert comparison.is_nothing is (change is Change.SAME)


@pytest.mark.parametrize(
    ("fail_on", "before", "after", "code"),
    [
        ("never", OK, DUPLICATE, 0),
        ("amber", OK, WASTED, 1),
        ("amber", DUPLICATE, IN_DOUBT, 0),  # better than it was
        ("amber", WASTED, IN_DOUBT, 0),  # amber before
        ("in_doubt", OK, IN_DOUBT, 1),
        ("lost", DUPLICATE, LOST, 0),  # less bad
        ("duplicate", LOST, DUPLICATE, 1),
        ("red", LOST, DUPLICATE, 0),
        ("red", OK, GREY, 0),
        ("inconclusive", OK, GREY, 3),
        ("changed", DUPLICATE, LOST, 1),
        ("changed", DUPLICATE, OK, 1),
        ("changed", OK, OK, 0),
    ],
)
def test_what_fails_is_what_was_asked_for_where_it_is_new(
    fail_on: str, before: VerdictKind, after: VerdictKind, code: int
) -> None:
    assert status(compare(run(cell(kind=before)), run(cell(kind=after))), fail_on) == code


def test_another_finding_or_attribution_is_a_change_and_says_what_is_different() -> None:
    said = Attribution(worker="sent no idempotency key", preventable_by=("worker",))
    other = replace(said, worker="sent another idempotency key each time")
    old = run(cell(kind=DUPLICATE, operation="tickets.create", attribution=said, detail={"seen": 2}))
    new = run(cell(kind=DUPLICATE, operation="tickets.create", attribution=other, detail={"seen": 3}))
    (compared,) = compare(old, new).cells
    assert compared.change is Change.CHANGED
    assert compared.said == (
        "duplicate tickets.create, seen: 2, now 3",
        "duplicate tickets.create, worker: sent no idempotency key, now sent another idempotency key each time",
    )
    (compared,) = compare(old, run(cell(kind=DUPLICATE, operation="orders.create"))).cells
    assert compared.said == ("no longer: duplicate tickets.create", "new: duplicate orders.create")


def test_ids_times_and_races_of_a_run_are_no_change() -> None:
    def found(number: int) -> CellResult:
        result = cell(
            kind=DUPLICATE,
            summary=f"Two tickets T-{number}",
            evidence=(number,),
            identity={"id": str(number)},
            detail={"expected": 1, "seen": 2, "objects": [f"T-{number}"]},
        )
        race = [Finding(kind=None, code="raced", summary="it raced")] if number == 1 else []
        return replace(result, verdict=Verdict.of([*result.findings, *race]))

    assert compare(run(found(1)), run(found(2))).is_nothing


def test_a_known_gap_of_the_new_run_passes_and_is_told_apart() -> None:
    gap = KnownGap(verdict=DUPLICATE, reason="until the service has keys", owner="payments", cell="tickets.*")
    comparison = compare(run(cell()), run(cell(kind=DUPLICATE), known_gaps=(gap,)))
    assert changes(comparison) == {"tickets.create#1:applied@default": Change.KNOWN_GAP}
    assert status(comparison) == 0
    assert "As a known gap declares it: 1" in text(comparison)
    changed = compare(run(cell()), run(cell(kind=LOST), known_gaps=(gap,)))
    assert status(changed) == 1, "a known gap with another verdict is no known gap"


# -------------------------------------------------------------------- rates


def raced(runs: int, **counts: int) -> CellResult:
    kinds = [VerdictKind(name) for name, count in counts.items() for _ in range(count)]
    kinds += [OK] * (runs - len(kinds))
    worst = min(kinds, key=list(VerdictKind).index)
    return cell(f"kill@{POINTS[1]},unsettled={runs}", worst, rate=Rate.of(kinds))


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        (raced(20), raced(20, duplicate=1), Change.BY_CHANCE),
        (raced(20, duplicate=1), raced(20), Change.BY_CHANCE),
        (raced(20, duplicate=4), raced(20, duplicate=7), Change.SAME),
        (raced(20), raced(20, duplicate=15), Change.NEWLY_RED),
        (raced(20, duplicate=2), raced(20, duplicate=18), Change.CHANGED),
        (raced(20, duplicate=15), raced(40), Change.NEWLY_GREEN),  # run more often, and the same cell
        (raced(20), raced(20, inconclusive=20), Change.NEWLY_INCONCLUSIVE),
    ],
)
def test_rates_differ_only_where_their_intervals_have_nothing_in_common(
    before: CellResult, after: CellResult, change: Change
) -> None:
    comparison = compare(run(before), run(after))
    assert list(changes(comparison).values()) == [change]
    assert status(comparison) == {Change.NEWLY_RED: 1, Change.NEWLY_INCONCLUSIVE: 3}.get(change, 0)
    if change is Change.BY_CHANCE:
        assert "no different beyond chance" in text(comparison)
        assert "1 of 20 (5 %" in text(comparison)
        assert "Nothing changed beyond chance." in text(comparison)


# ---------------------------------------------------------- rows and columns


def test_a_cell_is_the_same_where_the_scenario_writes_its_axes_in_another_order() -> None:
    old = run(cell(variant="key=none,mode=sync"), cell(variant="key=fixed,mode=sync"))
    new = run(cell(variant="mode=sync,key=none", kind=DUPLICATE), cell(variant="mode=sync,key=fixed"))
    comparison = compare(old, new)
    assert changes(comparison) == {
        "tickets.create#1:applied@mode=sync,key=none": Change.NEWLY_RED,
        "tickets.create#1:applied@mode=sync,key=fixed": Change.SAME,
    }
    assert not comparison.moved


def test_a_new_point_that_is_red_is_newly_red_and_says_that_the_point_is_new() -> None:
    new_point = "notify.send#1:applied"
    comparison = compare(run(cell()), run(cell(), cell(new_point, DUPLICATE), points=(*POINTS, new_point)))
    assert [each.absence for each in comparison.appeared] == [Absence.POINT]
    assert comparison.points.appeared == (new_point,)
    assert status(comparison) == 1
    assert "not in the old run: undisturbed, it does not come to that point" in text(comparison)
    green = compare(run(cell()), run(cell(), cell(new_point), points=(*POINTS, new_point)))
    assert status(green) == 0
    assert re.search(r"Only in the new run, neither red nor inconclusive: 1\n +notify", text(green))


@pytest.mark.parametrize(
    ("gone", "info", "absence"),
    [
        (cell("gone.call#1:applied"), {}, Absence.POINT),
        (cell(variant="key=none"), {}, Absence.VARIANT),
        (cell(f"pause@{POINTS[1]}"), {}, Absence.FAULT),
        (cell(POINTS[0]), {}, Absence.NOT_RUN),
        (cell(POINTS[0]), {"interrupted": True}, Absence.INTERRUPTED),
    ],
)
def test_a_cell_that_is_gone_has_its_reason(gone: CellResult, info: dict[str, Any], absence: Absence) -> None:
    manners = (PLAIN_KILL, Manner.parse("pause"))
    old = run(cell(), gone, points=(*POINTS, "gone.call#1:applied"), manners=manners)
    comparison = compare(old, run(cell(), **info))
    assert [each.absence for each in comparison.vanished] == [absence]
    assert status(comparison) == (3 if info else 0)
    assert status(comparison, "vanished") == 1
    assert absence.words in " ".join(text(comparison).split())


def test_a_point_with_another_number_moved_and_did_not_vanish() -> None:
    before = ("graph.put.step1#1:committed", "tickets.create#1:applied", "graph.put.step4#1:committed")
    after = ("graph.put.step1#1:committed", "tickets.create#1:applied", "graph.put.step5#1:committed")
    old = run(*[cell(point) for point in before], points=before)
    new = run(*[cell(point) for point in after[:2]], cell(after[2], DUPLICATE), points=after)
    comparison = compare(old, new)
    assert comparison.points.renumbered == {"graph.put.step4#1": "graph.put.step5#1"}
    assert not comparison.vanished
    assert not comparison.appeared
    assert not comparison.points.vanished
    (moved,) = comparison.moved
    assert (moved.cell, moved.moved_from) == (f"{after[2]}@default", f"{before[2]}@default")
    assert moved.change is Change.NEWLY_RED
    assert f"was {before[2]}@default" in text(comparison)


def test_a_point_that_vanished_is_told_apart_from_one_that_moved() -> None:
    before = ("graph.put.step1#1:committed", "tickets.create#1:applied", "notify.send#1:applied")
    after = ("graph.put.step2#1:committed", "tickets.create#1:applied")
    comparison = compare(
        run(*[cell(point) for point in before], points=before), run(*[cell(point) for point in after], points=after)
    )
    assert [each.cell for each in comparison.vanished] == ["notify.send#1:applied@default"]
    assert [each.moved_from for each in comparison.moved] == ["graph.put.step1#1:committed@default"]
    assert comparison.points.vanished == ("notify.send#1:applied",)
    assert comparison.points.appeared == ()


def test_a_schedule_of_several_faults_moves_with_each_of_its_points() -> None:
    before, after = ("graph.put.step4#1:committed", "a.b#1:applied"), ("graph.put.step5#1:committed", "a.b#1:applied")
    two = "kill@a.b#1:applied;2.kill@{}"
    comparison = compare(
        run(cell(before[1]), cell(two.format(before[0])), points=before),
        run(cell(after[1]), cell(two.format(after[0])), points=after),
    )
    assert len(comparison.common) == 2
    assert len(comparison.moved) == 1


def test_numbers_that_moved_on_are_said_and_compared_under_their_names() -> None:
    step = "graph.put.step{}#1:committed".format
    before = (step(1), "a.call#1:applied", step(2), "b.call#1:applied", step(3))
    after = (step(1), "new.call#1:applied", step(2), "a.call#1:applied", step(3), "b.call#1:applied", step(4))
    comparison = compare(
        run(*[cell(point) for point in before], points=before), run(*[cell(point) for point in after], points=after)
    )
    assert comparison.points.shifted["graph.put.step2#1"] == "graph.put.step3#1"
    assert not comparison.moved
    assert not comparison.vanished
    assert "cells of one name may stand for another point" in text(comparison)


def test_points_that_are_passed_in_another_order_are_said_and_are_no_change() -> None:
    points = ("a.b#1:applied", "c.d#1:applied", "e.f#1:applied", "g.h#1:applied")
    moved = (points[3], *points[:3])
    comparison = compare(run(*map(cell, points), points=points), run(*map(cell, points), points=moved))
    assert comparison.points.reordered == ("g.h#1",)
    assert comparison.is_nothing
    assert status(comparison, "changed,vanished") == 0


# ------------------------------------------------------ what is compared, and


def test_versions_axes_and_parts_that_differ_are_named() -> None:
    old = run(cell(), versions={"langgraph": "1.1.0", "python": "3.12.1"}, axes=(AxisInfo(name="key"),))
    new = run(cell(), versions={"langgraph": "1.2.24", "python": "3.12.1", "dbos": "3.4.0"})
    comparison = compare(old, new, parts=("the files", "a version"))
    assert comparison.versions == (
        VersionChange(name="langgraph", before="1.1.0", after="1.2.24"),
        VersionChange(name="dbos", before="", after="3.4.0"),
    )
    said = text(comparison)
    assert "langgraph: 1.1.0, now 1.2.24." in said
    assert "What was run differs: the files, a version." in said
    assert "Axes that are gone: key." in said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (run(cell(), shard="1/2"), run(cell(), shard=""), "part 1/2 and a whole run cannot be compared"),
        (run(cell(), shard="1/2"), run(cell(), shard="2/2"), "part 1/2 and part 2/2"),
        (run(cell("a.b#1:applied")), run(cell("x.y#1:applied")), "no cell in common"),
        (run(), run(cell()), "no cell in common"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(old: Run, new: Run, said: str) -> None:
    with pytest.raises(UsageInvalid, match=said) as refused:
        compare(old, new)
    assert refused.value.next_step


def test_a_run_compared_with_itself_is_no_change(partner_review: Path, deeper: Path) -> None:
    for directory in (partner_review, deeper):
        mine = read_run(directory)
        comparison = compare(mine, read_run(directory))
        assert comparison.is_nothing
        assert len(comparison.common) == len(mine.cells)
        assert status(comparison, "red,amber,inconclusive,changed,vanished") == 0
        assert "Nothing changed." in text(comparison)


KINDS = st.sampled_from([*VerdictKind])
MATRIX = st.dictionaries(st.sampled_from(["undisturbed", *POINTS, "a.b#1:applied"]), KINDS, min_size=1)


@given(MATRIX, MATRIX)
def test_each_cell_is_of_one_kind_and_the_other_way_round_is_the_other_way_round(
    before: dict[str, VerdictKind], after: dict[str, VerdictKind]
) -> None:
    before["undisturbed"], after["undisturbed"] = OK, OK
    old, new = (run(*[cell(point, kind) for point, kind in chosen.items()]) for chosen in (before, after))
    forth, back = compare(old, new), compare(new, old)
    assert {each.cell for each in forth.cells} == {each.cell for each in (*old.cells, *new.cells)}
    assert len(forth.common) + len(forth.appeared) + len(forth.vanished) == len(forth.cells)
    assert [each.cell for each in forth.appeared] == [each.cell for each in back.vanished]
    same = {each.cell for each in forth.of(Change.SAME)}
    assert same == {each.cell for each in back.of(Change.SAME)}
    red = {point for point, kind in after.items() if kind.colour == "red"}
    was_red = {point for point, kind in before.items() if kind.colour == "red"}
    assert {each.cell.partition("@")[0] for each in forth.of(Change.NEWLY_RED)} == red - was_red
    assert (status(forth) == 1) is bool(red - was_red)


# ------------------------------------------------------------------- output


def compared(partner_review: Path, builders: ModuleType) -> Comparison:
    old = read_run(partner_review)
    cells = [
        builders.with_finding(result, LOST, "The ticket never happened", "tickets.create")
        if str(result.variant).startswith("durability=sync") and result.schedule.label == "tickets.create#1:applied"
        else result
        for result in old.cells
        if result.schedule.label != "tickets.create#1:sending"
    ]
    return compare(old, Run.of(Path("reports/new"), old.info, cells))


def test_the_text_says_who_could_have_prevented_it_once_and_how_to_see_it_again(
    partner_review: Path, builders: ModuleType
) -> None:
    comparison = compared(partner_review, builders)
    said = text(comparison)
    newly = comparison.of(Change.NEWLY_RED)
    assert newly
    assert f"Newly red: {len(newly)}" in said
    for each in newly:
        assert f"ackgap replay reports/partner-review '{each.cell}'" in said
    assert "tickets.create#1:sending" in said


def test_markdown_and_json_have_what_the_text_has(partner_review: Path, builders: ModuleType) -> None:
    comparison = compared(partner_review, builders)
    markdown = comparison_markdown(comparison)
    document = json.loads(json.dumps(comparison_document(comparison), allow_nan=False))
    for change in (Change.NEWLY_RED, Change.CHANGED):
        names = [each.cell for each in comparison.of(change)]
        assert [each["cell"] for each in document[change.value]] == names
        assert all(f"`{name}`" in markdown for name in names)
    assert document["common"] == len(comparison.common)
    assert len(document["only_in_old"]) == len(comparison.vanished)
    assert {each["lacked_because"] for each in document["only_in_old"]} == {"not_run"}
    assert document["newly_red"][0]["after"]["verdict"] == "lost"


def hostile() -> Comparison:
    said = Attribution(worker=HOSTILE, engine=HOSTILE, target=HOSTILE, fix=HOSTILE)
    bad = replace(cell(), schedule=UNDISTURBED)
    after = cell(kind=DUPLICATE, summary=HOSTILE, operation=HOSTILE, attribution=said)
    info: dict[str, Any] = {"title": HOSTILE, "versions": {HOSTILE: HOSTILE}, "axes": (AxisInfo(name=HOSTILE),)}
    odd = Variant(values=((HOSTILE, HOSTILE),))
    only = replace(after, variant=odd)
    return compare(
        run(bad, cell(), replace(cell(), variant=odd)),
        run(bad, after, only, replace(cell(POINTS[0]), variant=odd), **info),
        parts=(HOSTILE,),
    )


def test_hostile_words_stay_words_in_every_format() -> None:
    comparison = hostile()
    outputs = {
        "text": text(comparison),
        "markdown": comparison_markdown(comparison),
        "json": json.dumps(comparison_document(comparison)),
    }
    for name, said in outputs.items():
        assert "owned" in said, name
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", said), name
        assert "\\u202e" in said or "\\\\u202e" in said, name
    json.loads(outputs["json"])
    prose = re.sub(r"(`+).*?\1", "", outputs["markdown"])
    assert not re.search(r"(?<!\\)<(?!!-- -->)", prose), "no HTML of theirs"
    assert not re.search(r"@\w", prose), "nobody is mentioned"
    assert "://" not in prose, "no link by itself"
    assert not re.search(r"(?<!\\)\]\(", prose), "no link"
    assert not [line for line in outputs["markdown"].splitlines() if line.startswith(("::", "/", "##["))]
