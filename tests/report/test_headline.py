from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from ackgap.model.boundary import CrashPoint
from ackgap.model.matrix import CellResult
from ackgap.model.schedule import UNDISTURBED, Schedule
from ackgap.model.verdict import VerdictKind
from ackgap.report.headline import expected_sentence, headline, scope_sentence
from ackgap.report.store import Run, read_run


def run_of(builders: ModuleType, *cells: CellResult) -> Run:
    return Run(directory=Path(), info=builders.run_info(), cells=cells)


def one(builders: ModuleType, point: str, kind: VerdictKind, summary: str = "", operation: str = "") -> CellResult:
    schedule = Schedule.kill(CrashPoint.parse(point)) if point else UNDISTURBED
    return builders.with_finding(builders.cell(builders.variants()[0], schedule), kind, summary, operation)  # type: ignore[no-any-return]


def test_the_worst_finding_is_said_as_a_person_would_say_it(partner_review: Path) -> None:
    run = read_run(partner_review)
    assert headline(run) == "A crash after the ticket is created makes a second one in 10 of 12 variants."


@pytest.mark.parametrize(
    ("point", "kind", "operation", "sentence"),
    [
        (
            "tickets.create#1:sending",
            VerdictKind.LOST,
            "tickets.create",
            "A crash at tickets.create#1:sending loses the ticket.",
        ),
        (
            "model.chat#2:applied",
            VerdictKind.DIVERGED,
            "tickets.create",
            "A crash at model.chat#2:applied leaves a ticket that is not what was approved or recorded.",
        ),
        (
            "model.chat#2:applied",
            VerdictKind.PHANTOM,
            "tickets.create",
            "A crash at model.chat#2:applied leads to a ticket that no undisturbed run has.",
        ),
        ("model.chat#2:applied", VerdictKind.STUCK, "", "A crash at model.chat#2:applied leaves the work unfinished."),
        (
            "notify.send#1:applied",
            VerdictKind.DUPLICATE,
            "notify.send",
            "A crash after the notification is sent makes a second one.",
        ),
        ("", VerdictKind.DUPLICATE, "tickets.create", "Even without a crash: two tickets."),
    ],
)
def test_each_red_kind_has_its_sentence(
    builders: ModuleType, point: str, kind: VerdictKind, operation: str, sentence: str
) -> None:
    assert headline(run_of(builders, one(builders, point, kind, "Two tickets", operation))) == sentence


def test_points_are_counted_and_not_the_crashes_that_follow_at_each_of_them(builders: ModuleType) -> None:
    texts = [f"tickets.create#1:{phase}" for phase in ("sending", "received")]
    texts += [f"kill@{text};2.kill@tickets.create#1:{phase}" for text in texts for phase in ("sending", "received")]
    cells = [
        builders.with_finding(
            builders.cell(builders.variants()[0], Schedule.parse(text)), VerdictKind.STUCK, "", "tickets.create"
        )
        for text in texts
    ]
    assert headline(run_of(builders, *cells)) == "A crash at any of 2 points leaves the work unfinished."


def test_a_crash_outranks_a_probe_that_is_at_fault_only_if_it_shows_more(builders: ModuleType) -> None:
    probe = one(builders, "", VerdictKind.DUPLICATE, "Two tickets", "tickets.create")
    crash = one(builders, "notify.send#1:applied", VerdictKind.LOST, "No notification", "notify.send")
    assert headline(run_of(builders, probe, crash)) == "A crash at notify.send#1:applied loses the notification."


def test_a_run_that_is_all_green_says_how_many_crashes_it_survived(builders: ModuleType) -> None:
    cells = [
        one(builders, point, VerdictKind.OK) for point in ("", "tickets.create#1:applied", "notify.send#1:applied")
    ]
    assert headline(run_of(builders, *cells)) == "The worker survived 2 crashes and did everything exactly once."


def test_amber_and_inconclusive_cells_are_never_passed_over(builders: ModuleType) -> None:
    wasted = one(builders, "model.chat#1:applied", VerdictKind.WASTED)
    grey = one(builders, "notify.send#1:applied", VerdictKind.INCONCLUSIVE)
    assert "1 of them repeated paid calls" in headline(run_of(builders, wasted))
    assert headline(run_of(builders, wasted, grey)).endswith("; 1 cell proved nothing.")
    assert headline(run_of(builders, grey)).startswith("Nothing was proven")
    assert headline(run_of(builders, one(builders, "", VerdictKind.OK))).endswith("no crash was tried.")
    assert headline(run_of(builders)) == "No cell was run, so nothing is known."


def test_what_was_expected_says_what_was_assumed(partner_review: Path) -> None:
    text = expected_sentence(read_run(partner_review))
    assert "1 ticket, 1 notification (assumed), 2 paid searches" in text


def test_an_interrupted_run_says_so(partner_review: Path) -> None:
    run = read_run(partner_review)
    stopped = replace(run, info=replace(run.info, interrupted=True, planned_cells=999))
    assert "Interrupted: 999 cells were planned." in scope_sentence(stopped)
