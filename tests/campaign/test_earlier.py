"""What a run that was interrupted knows, and what has to be run again all the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ackgap.campaign.earlier import Earlier
from ackgap.errors import ProbeFailed
from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind

SCHEDULE = Schedule.parse("hold@a#1:committing,until=b#1;kill@b#1:committed")
LOST = Finding(kind=VerdictKind.LOST, code="lost", summary="one ticket is missing")
REMARK = Finding(kind=None, code="order_dependent", summary="the order decides")
UNSURE = Finding(kind=VerdictKind.INCONCLUSIVE, code="slot_lost", summary="its slot was lost")


def cell(*findings: Finding, equal_to: str = "") -> CellResult:
    return CellResult(
        scenario="paper",
        variant=Variant(),
        schedule=SCHEDULE,
        verdict=Verdict.of(findings),
        incarnations=2,
        equal_to=equal_to,
    )


def known(result: CellResult) -> CellResult | None:
    yardsticks = {str(Variant()): Expectation()}
    earlier = Earlier({result.cell: result}, yardsticks, lambda one: replace(one, history=({"kind": "note"},)))
    return earlier.result(Variant(), SCHEDULE)


def test_a_result_comes_back_with_its_history_and_without_what_comparing_it_had_added():
    found = known(cell(LOST, REMARK))
    assert found is not None
    assert found.findings == (LOST,)
    assert found.verdict.kind is VerdictKind.LOST
    assert found.history == ({"kind": "note"},)


@pytest.mark.parametrize("result", [cell(UNSURE), cell(LOST, equal_to="a#1:committed@default")])
def test_what_proves_nothing_and_what_did_not_run_is_not_known(result):
    assert known(result) is None


def test_a_result_without_the_yardstick_of_its_variant_is_not_known():
    """A killed harness may have come to results and not to the yardstick, which a new one could not be held against."""
    result = cell(LOST)
    assert Earlier({result.cell: result}, {}, lambda one: one).result(Variant(), SCHEDULE) is None


def test_another_cell_is_not_known():
    assert Earlier({}, {}, lambda one: one).result(Variant(), SCHEDULE) is None


def test_a_variant_with_another_yardstick_is_refused_and_a_new_one_is_not():
    before = Expectation(points=("a#1:committing",))
    earlier = Earlier({}, {"default": before}, lambda one: one)
    earlier.check(Variant(), Expectation(points=("a#1:committing",)))
    earlier.check(Variant(), Expectation(points=("a#1:committing",), moved=("a#1:committing",)))
    earlier.check(Variant(values=(("key", "none"),)), Expectation())
    with pytest.raises(ProbeFailed, match="not what it was"):
        earlier.check(Variant(), Expectation(points=("b#1:committing",)))
