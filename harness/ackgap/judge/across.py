"""Across cells: what several runs say together that none of them says alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ackgap.model.matrix import CellResult
from ackgap.model.rate import Rate
from ackgap.model.verdict import SEVERITY, Finding, Verdict, VerdictKind

__all__ = ["order_dependent", "together"]


def order_dependent(other: CellResult, usual: CellResult) -> CellResult:
    """Return the result of a cell whose durable writes landed in the other order, with a remark if that decides.

    Args:
        other: One write was held until another had landed.
        usual: The same kill, in the worker's own order.
    """
    kinds = (other.verdict.kind, usual.verdict.kind)
    if kinds[0] is kinds[1] or VerdictKind.INCONCLUSIVE in kinds:
        return other
    held = other.schedule.faults[0]
    remark = Finding(
        kind=None,
        code="order_dependent",
        summary=f"The order of two durable writes decides: {kinds[0].words} where {held.point.boundary} lands after "
        f"{held.manner.until}, {kinds[1].words} in the order in which they were asked for",
        detail={"other": kinds[0].value, "usual": kinds[1].value, "usual_cell": usual.cell},
    )
    return replace(other, verdict=Verdict.of((*other.findings, remark)))


def together(runs: Iterable[CellResult]) -> CellResult:
    """Return the result of a schedule that races the worker, from all of its runs.

    The worst of them is shown, and the first of those that are as bad, with a remark for each verdict that says how
    often it came out. A run that proves nothing is counted, and has no part in the shares of the others. Where no run
    ended badly and more than half of them prove nothing, the schedule has not been tried well enough to be called good.

    Args:
        runs: At least one; each may be let go of before the next.
    """
    kinds: list[VerdictKind] = []
    worst: CellResult | None = None
    unproven: CellResult | None = None
    duration_s = 0.0
    for run in runs:
        kinds.append(run.verdict.kind)
        duration_s += run.duration_s
        if worst is None or SEVERITY.index(run.verdict.kind) < SEVERITY.index(worst.verdict.kind):
            worst = run
        if run.verdict.kind is VerdictKind.INCONCLUSIVE and unproven is None:
            unproven = run
    assert worst is not None, "no run"
    rate = Rate.of(kinds)
    if worst.verdict.kind is VerdictKind.OK and unproven is not None and 2 * rate.conclusive < rate.runs:
        worst = unproven
    remarks = tuple(
        Finding(
            kind=None,
            code="rate",
            summary=f"{kind.words}: {rate.in_words(kind)}",
            detail={"verdict": kind.value, "seen": rate.counts[kind.value], "runs": rate.runs},
        )
        for kind in SEVERITY
        if kind.value in rate.counts
    )
    verdict = replace(worst.verdict, findings=(*worst.findings, *remarks))
    return replace(worst, verdict=verdict, rate=rate, duration_s=round(duration_s, 3))
