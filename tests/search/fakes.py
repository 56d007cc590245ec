"""A pure function in the place of a worker: from a schedule to its verdict."""

from __future__ import annotations

from collections.abc import Callable

from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind

POINTS = (
    "tickets.create#1:sending",
    "tickets.create#1:received",
    "tickets.create#1:applied",
    "tickets.create#1:returned",
    "file.state.replace#1:committing",
    "file.state.replace#1:committed",
    "mail.send#1:sending",
    "mail.send#1:received",
    "mail.send#1:applied",
    "mail.send#1:returned",
)


class FakeWorker:
    """Counts how often each schedule is run."""

    def __init__(self, judge: Callable[[Schedule], VerdictKind], history: Callable[[Schedule], tuple] | None = None):
        self.judge = judge
        self.history = history or (lambda schedule: ())
        self.ran: list[Schedule] = []

    def __call__(self, schedule: Schedule) -> CellResult:
        self.ran.append(schedule)
        kind = self.judge(schedule)
        return CellResult(
            scenario="fake",
            variant=Variant(),
            schedule=schedule,
            verdict=Verdict.of((Finding(kind=kind, code=str(kind), summary="as the test says"),)),
            incarnations=1,
            history=self.history(schedule),
        )


def has(schedule: Schedule, *texts: str) -> bool:
    """Whether each of the faults is there: `2.kill@tickets.create#1:applied`; options of it may differ."""
    there = {f"{fault.incarnation}.{fault.kind}@{fault.point}" for fault in schedule.by_life}
    return set(texts) <= there
