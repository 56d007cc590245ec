"""What crashes cost in paid calls that were made again, over a whole run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ackgap.model.matrix import CellResult
from ackgap.model.verdict import VerdictKind

__all__ = ["RepeatedWork", "repeated_work"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedWork:
    """Paid calls of one operation that were made again, over all cells.

    Attributes:
        operation: Which.
        currency: Of the amounts; empty where nothing is known of prices.
        calls: Beyond what undisturbed runs make.
        recorded: Of these, beyond what nobody could have known of: waste.
        cost: Of all of them.
        cells: In how many cells.
        dearest: The cell in which they cost most, or were most.
        dearest_cost: How much, there.
    """

    operation: str
    currency: str
    calls: int
    recorded: int
    cost: float
    cells: int
    dearest: CellResult
    dearest_cost: float


def repeated_work(results: Iterable[CellResult]) -> tuple[RepeatedWork, ...]:
    """Return what was paid for again, the dearest operation first.

    Cells that prove nothing do not count, nor do those whose result is another cell's.
    """
    found: dict[tuple[str, str], list[tuple[float, int, int, CellResult]]] = {}
    for result in results:
        if result.verdict.kind is VerdictKind.INCONCLUSIVE or result.equal_to:
            continue
        for finding in result.findings:
            extra, cost = finding.detail.get("extra"), finding.detail.get("cost")
            if not isinstance(extra, int) or not isinstance(cost, int | float):
                continue
            wasted = finding.detail.get("wasted", 0)
            key = finding.operation, str(finding.detail.get("currency", ""))
            found.setdefault(key, []).append((cost, extra, wasted if isinstance(wasted, int) else 0, result))
    works = [
        RepeatedWork(
            operation=operation,
            currency=currency,
            calls=sum(extra for _, extra, _, _ in members),
            recorded=sum(wasted for _, _, wasted, _ in members),
            cost=sum(cost for cost, _, _, _ in members),
            cells=len(members),
            dearest=(most := max(members, key=lambda member: member[:3]))[3],
            dearest_cost=most[0],
        )
        for (operation, currency), members in found.items()
    ]
    return tuple(sorted(works, key=lambda work: (-work.cost, -work.calls, work.operation)))
