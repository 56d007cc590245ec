"""Checks: invariants of the user's own, already answered when the judge sees them."""

from __future__ import annotations

from collections.abc import Iterator

from ackgap.judge.case import Case
from ackgap.model.event import CheckReported
from ackgap.model.verdict import Finding, VerdictKind

__all__ = ["checks"]


def checks(case: Case) -> Iterator[Finding]:
    """Yield a finding for each check that does not hold, or could not be made."""
    for event in case.history.of(CheckReported):
        if event.passed is None:
            yield Finding(
                kind=VerdictKind.INCONCLUSIVE,
                code="check_failed_to_run",
                summary=f"the check `{event.name}` could not be made: {event.text[:300]}",
                evidence=(event.seq,),
            )
        elif not event.passed:
            yield Finding(
                kind=VerdictKind(event.verdict),
                code="check",
                summary=f"the check `{event.name}` does not hold: {event.text[:300] or 'no reason given'}",
                evidence=(event.seq,),
                detail={"check": event.name},
            )
