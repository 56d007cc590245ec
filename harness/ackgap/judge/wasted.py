"""Wasted: paid calls that were made again although the worker had recorded them.

Paid calls are counted attempts, never effects. Extra is the run's count minus the probe's. Allowed is the number of
paid calls that had been served and not recorded when a life was killed, summed over all kills: nobody could have
known of those. What is repeated beyond that is waste; what is repeated within it is a remark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ackgap.judge.case import Case
from ackgap.model.verdict import Attribution, Finding, VerdictKind

__all__ = ["wasted"]


def wasted(case: Case) -> Iterator[Finding]:
    """Yield a finding for each paid operation that was attempted more often than an undisturbed run does."""
    allowed: Counter[str] = Counter()
    for fault in case.history.faults:
        for attempt in case.unrecorded(fault):
            if attempt.paid and case.history.served(attempt.attempt):
                allowed[attempt.operation] += 1
    for operation, count in case.history.paid_counts().items():
        probe = case.expectation.paid_counts.get(operation, 0)
        extra = count - probe
        if extra <= 0:
            continue
        facts = case.facts(operation)
        price = facts.price if facts is not None else 0.0
        currency = facts.currency if facts is not None else ""
        waste = extra - allowed[operation]
        evidence = tuple(attempt.seq for attempt in case.history.attempts if attempt.operation == operation)
        cost = _cost(case, operation, extra, price)
        detail = {
            "probe": probe,
            "seen": count,
            "extra": extra,
            "allowed": allowed[operation],
            "cost": cost,
            "currency": currency,
        }
        if waste > 0:
            yield Finding(
                kind=VerdictKind.WASTED,
                code="wasted",
                summary=f"{operation} was paid {count} times instead of {probe}; "
                f"{waste} of the repeats had been recorded before",
                evidence=evidence,
                operation=operation,
                detail={**detail, "wasted": waste},
                attribution=Attribution(
                    worker="asked again for what it had already recorded",
                    engine="started from a point before the recorded step",
                    target="charges for each call",
                    preventable_by=("worker", "engine"),
                    fix="Resume from the checkpoint instead of from the input, or keep paid answers by request.",
                ),
            )
        else:
            yield Finding(
                kind=None,
                code="repeated_unrecorded_paid_work",
                summary=f"{operation} was paid {count} times instead of {probe}; nothing had recorded the first ones",
                evidence=evidence,
                operation=operation,
                detail=detail,
            )


def _cost(case: Case, operation: str, extra: int, price: float) -> float:
    """Return what the repeats cost: the latest `extra` served attempts, at what each was charged."""
    charged = []
    for attempt in case.history.attempts:
        if attempt.operation == operation and case.history.served(attempt.attempt):
            answer = case.history.answers.get(attempt.attempt) or case.history.drops.get(attempt.attempt)
            charged.append(answer.cost if answer is not None and answer.cost else price)
    return round(sum(charged[-extra:]), 6)
