from __future__ import annotations

from dataclasses import replace

from ackgap.model.verdict import Finding, Verdict, VerdictKind
from ackgap.report.costs import repeated_work


def paid(operation, extra, cost, *, wasted=0, kind=None):
    detail = {"extra": extra, "cost": cost, "currency": "USD"} | ({"wasted": wasted} if wasted else {})
    return Finding(kind=kind, code="wasted", summary="paid again", operation=operation, detail=detail)


def with_findings(result, *findings):
    return replace(result, verdict=Verdict.of(findings))


def test_repeats_are_summed_by_operation_and_the_dearest_crash_is_named(builders):
    first, second, third = builders.results()[:3]
    cells = [
        with_findings(first, paid("model.chat", 1, 0.1), paid("search.query", 2, 0.5)),
        with_findings(second, paid("model.chat", 3, 0.7, wasted=2, kind=VerdictKind.WASTED)),
        with_findings(third),
    ]
    model, search = repeated_work(cells)
    assert (model.operation, model.calls, model.recorded, model.cells) == ("model.chat", 4, 2, 2)
    assert round(model.cost, 9) == 0.8
    assert model.dearest.cell == second.cell
    assert (search.operation, search.recorded, search.dearest_cost) == ("search.query", 0, 0.5)


def test_cells_that_prove_nothing_or_were_not_run_cost_nothing(builders):
    first, second = builders.results()[:2]
    doubtful = paid("model.chat", 1, 0.1, kind=VerdictKind.INCONCLUSIVE)
    cells = [with_findings(first, doubtful), replace(with_findings(second, paid("x.y", 1, 1.0)), equal_to=first.cell)]
    assert repeated_work(cells) == ()
