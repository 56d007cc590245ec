from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

from ackgap.model.boundary import CrashPoint
from ackgap.model.matrix import Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Colour, VerdictKind
from ackgap.report.info import RowInfo
from ackgap.report.overview import Overview, gap_labels, variant_gap
from ackgap.report.store import Run, read_run


def rows(*texts: str) -> list[RowInfo]:
    return [RowInfo.of(Schedule.kill(CrashPoint.parse(text))) for text in texts]


EFFECTFUL = frozenset({"tickets.create"})


def test_the_gap_begins_with_the_effect_and_ends_before_the_next_committed_checkpoint() -> None:
    order = rows(
        "tickets.create#1:received",
        "tickets.create#1:applied",
        "tickets.create#1:returned",
        "put#1:committing",
        "put#1:committed",
        "put#2:committing",
    )
    expected = {"tickets.create#1:applied", "tickets.create#1:returned", "put#1:committing"}
    assert gap_labels(order, EFFECTFUL) == expected


def test_a_read_opens_no_gap() -> None:
    assert gap_labels(rows("search.query#1:applied", "put#1:committing", "put#1:committed"), EFFECTFUL) == frozenset()


def test_a_gap_that_nothing_closes_is_only_as_long_as_its_own_call() -> None:
    order = rows("tickets.create#1:applied", "tickets.create#1:returned", "search.query#1:sending")
    assert gap_labels(order, EFFECTFUL) == {"tickets.create#1:applied", "tickets.create#1:returned"}


def test_a_variant_that_commits_late_has_the_longer_gap(partner_review: Path) -> None:
    info = read_run(partner_review).info
    gaps = {
        mode: variant_gap(info, Variant(values=(("durability", mode), ("key", "none"), ("protection", "none"))))
        for mode in ("exit", "sync")
    }
    between = "langgraph.put_writes.file_ticket#1:committed"
    assert between in gaps["exit"]
    assert between not in gaps["sync"]
    assert gaps["sync"] < gaps["exit"]


def test_columns_fold_to_the_axes_that_change_a_verdict(partner_review: Path) -> None:
    run = read_run(partner_review)
    kept = tuple(cell for cell in run.cells if cell.variant["durability"] == "sync" and cell.schedule.faults)
    tickets = tuple(cell for cell in kept if cell.schedule.faults[0].point.name == "tickets.create")
    overview = Overview(Run(directory=run.directory, info=run.info, cells=tickets))
    assert overview.varied == ("key", "protection")
    assert overview.shown_axes(24) == ("key", "protection")
    assert len(overview.columns(overview.shown_axes(2))) == 2
    notify = tuple(cell for cell in kept if cell.schedule.faults[0].point.name == "notify.send")
    assert Overview(Run(directory=run.directory, info=run.info, cells=notify)).shown_axes(24) == ()


def test_a_folded_column_shows_the_worst_and_says_that_its_variants_differ(partner_review: Path) -> None:
    run = read_run(partner_review)
    overview = Overview(run)
    (column,) = overview.columns(())
    row = next(row for row in overview.rows if row.label == "tickets.create#1:returned")
    found = overview.at(row, column)
    assert found is not None
    assert found.kind is VerdictKind.DUPLICATE
    assert found.mixed


def test_a_folded_cell_that_proves_nothing_is_not_hidden_by_a_green_one(builders: ModuleType) -> None:
    schedule = Schedule.kill(CrashPoint.parse("tickets.create#1:applied"))
    first, second = builders.variants()[:2]
    green = replace(builders.with_finding(builders.cell(first, schedule), VerdictKind.OK, "fine"))
    grey = builders.with_finding(builders.cell(second, schedule), VerdictKind.INCONCLUSIVE, "the kill missed")
    overview = Overview(Run(directory=Path(), info=builders.run_info(), cells=(green, grey)))
    found = overview.at(overview.rows[0], overview.columns(())[0])
    assert found is not None
    assert found.kind is VerdictKind.INCONCLUSIVE


def test_equal_findings_are_one_group_with_the_cell_nearest_to_the_effect_first(partner_review: Path) -> None:
    groups = Overview(read_run(partner_review)).groups(Colour.RED)
    assert [(group.kind.value, group.operation) for group in groups] == [
        ("duplicate", "tickets.create"),
        ("duplicate", "notify.send"),
    ]
    assert groups[0].example.schedule.label == "tickets.create#1:returned"


def test_a_cell_that_duplicates_two_things_counts_in_both_groups(partner_review: Path) -> None:
    run = read_run(partner_review)
    tickets, notifications = Overview(run).groups(Colour.RED)
    assert {r.cell for r in tickets.results} & {r.cell for r in notifications.results}
    assert len({result.variant for result in notifications.results}) == 12
