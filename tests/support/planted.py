"""Judges that are at fault, planted into a self-check; here, so that slots can import them."""

from __future__ import annotations

from ackgap.judge import judge
from ackgap.model.expectation import Expectation
from ackgap.model.history import History
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind

__all__ = ["blind", "frightened", "frightened_of_crashes"]


def blind(history: History, expectation: Expectation, schedule: Schedule) -> Verdict:
    """See everything but what is there twice."""
    found = judge(history, expectation, schedule)
    return Verdict.of(finding for finding in found.findings if finding.kind is not VerdictKind.DUPLICATE)


def frightened_of_crashes(history: History, expectation: Expectation, schedule: Schedule) -> Verdict:
    """Take every crash for a loss."""
    if not schedule.faults:
        return judge(history, expectation, schedule)
    return Verdict.of([Finding(kind=VerdictKind.LOST, code="lost", summary="it crashed")])


def frightened(history: History, expectation: Expectation, schedule: Schedule) -> Verdict:
    """Be right about the agent as it was, and take every other request for a loss: one that has another key."""
    found = judge(history, expectation, schedule)
    if schedule.faults and any(attempt.key and "review" not in attempt.key for attempt in history.attempts):
        return Verdict.of([Finding(kind=VerdictKind.LOST, code="lost", summary="another key")])
    return found
