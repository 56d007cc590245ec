"""What several runs say together: whether an order decides, and how often a race is lost."""

from __future__ import annotations

import pytest

from ackgap.judge.across import order_dependent, together
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind

HELD = Schedule.parse("hold@put#1:committing,until=writes#1;kill@writes#1:committed")
USUAL = Schedule.parse("kill@writes#1:committed")
RACE = Schedule.parse("kill@writes#1:committed,unsettled=20")


def result(schedule: Schedule, kind: VerdictKind, *, text: str = "seen", duration_s: float = 1.0) -> CellResult:
    found = () if kind is VerdictKind.OK else (Finding(kind=kind, code=kind.value, summary=text),)
    return CellResult(
        scenario="paper",
        variant=Variant(),
        schedule=schedule,
        verdict=Verdict.of(found),
        incarnations=2,
        duration_s=duration_s,
        history=({"what": text},),
    )


def test_where_the_other_order_has_another_verdict_the_cell_says_so_and_names_both():
    marked = order_dependent(result(HELD, VerdictKind.LOST), result(USUAL, VerdictKind.OK))
    assert marked.verdict.kind is VerdictKind.LOST
    remark = marked.findings[-1]
    assert (remark.kind, remark.code) == (None, "order_dependent")
    assert remark.summary == (
        "The order of two durable writes decides: lost where put#1 lands after writes#1, exactly once in the order in "
        "which they were asked for"
    )
    assert remark.detail == {"other": "lost", "usual": "ok", "usual_cell": "writes#1:committed@default"}


@pytest.mark.parametrize(
    ("other", "usual"),
    [
        (VerdictKind.OK, VerdictKind.OK),
        (VerdictKind.LOST, VerdictKind.LOST),
        (VerdictKind.INCONCLUSIVE, VerdictKind.OK),
        (VerdictKind.LOST, VerdictKind.INCONCLUSIVE),
    ],
)
def test_no_order_decides_where_the_verdicts_agree_or_one_proves_nothing(other, usual):
    held = result(HELD, other)
    assert order_dependent(held, result(USUAL, usual)) == held


def test_a_race_is_shown_by_its_worst_run_and_reported_as_a_rate():
    kinds = [VerdictKind.OK] * 16 + [VerdictKind.LOST, VerdictKind.WASTED, VerdictKind.LOST, VerdictKind.OK]
    runs = (result(RACE, kind, text=f"run {number}") for number, kind in enumerate(kinds))
    found = together(runs)
    assert found.verdict.kind is VerdictKind.LOST
    assert found.verdict.headline == "run 16"
    assert found.history == ({"what": "run 16"},)
    assert found.rate is not None
    assert found.rate.counts == {"lost": 2, "wasted": 1, "ok": 17}
    assert [finding.summary for finding in found.findings if finding.code == "rate"] == [
        f"lost: {found.rate.in_words(VerdictKind.LOST)}",
        f"wasted: {found.rate.in_words(VerdictKind.WASTED)}",
        f"exactly once: {found.rate.in_words(VerdictKind.OK)}",
    ]
    assert found.duration_s == 20.0


def test_a_run_that_proves_nothing_is_counted_and_hides_none_that_does():
    some = together(result(RACE, kind) for kind in (VerdictKind.INCONCLUSIVE, VerdictKind.OK))
    assert some.verdict.kind is VerdictKind.OK
    assert some.rate is not None
    assert some.rate.counts == {"ok": 1, "inconclusive": 1}
    none = together(result(RACE, VerdictKind.INCONCLUSIVE) for _ in range(3))
    assert none.verdict.kind is VerdictKind.INCONCLUSIVE


def test_a_race_that_mostly_proves_nothing_is_not_called_good():
    runs = [VerdictKind.OK, *[VerdictKind.INCONCLUSIVE] * 19]
    found = together(result(RACE, kind) for kind in runs)
    assert found.verdict.kind is VerdictKind.INCONCLUSIVE
    assert found.rate is not None
    assert found.rate.in_words(VerdictKind.OK).startswith("1 of 1 ")
    assert found.rate.in_words(VerdictKind.INCONCLUSIVE).startswith("19 of 20 ")


def test_one_bad_end_is_one_however_many_runs_prove_nothing():
    found = together(result(RACE, kind) for kind in [*[VerdictKind.INCONCLUSIVE] * 19, VerdictKind.LOST])
    assert found.verdict.kind is VerdictKind.LOST
    assert found.rate is not None
    assert found.rate.in_words(VerdictKind.DUPLICATE).startswith("0 of 1 ")
