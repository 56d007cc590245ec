"""Raced: a cell in whose first life other durable writes had landed than at the same point of both undisturbed runs.

A settled cell waits for the writes that were asked for. Whether another thread of the worker has asked for its write by
then is the worker's own race. Where two undisturbed runs had the same writes at a point and this run had not, that race
went the other way, and the verdict is one of two.
"""

from __future__ import annotations

from collections.abc import Iterator

from ackgap.judge.case import Case
from ackgap.model.boundary import Phase, landed_by_point
from ackgap.model.verdict import Finding
from ackgap.scenario.words import a_few

__all__ = ["raced"]

_NAMED = 3


def raced(case: Case) -> Iterator[Finding]:
    """Yield a remark where the writes that had landed when the first life was struck are not the usual ones."""
    known = case.expectation
    planned = case.schedule.faults_in(1)
    # What is done to a call, or to the order of writes, is meant to change what comes after it.
    if known.moved is None or known.nondeterministic or len(planned) != 1 or not _strikes_settled(case):
        return
    point = str(planned[0].point)
    usual = landed_by_point(known.points)
    struck = next((fault for fault in case.history.faults if case.planned(fault) == planned[0]), None)
    if struck is None or point not in usual or point in known.moved:
        return
    passed = [event for event in case.history.passages if event.incarnation == 1 and event.seq < struck.seq]
    if not passed:
        return  # it began with a copy of another run
    every = frozenset[str]().union(*usual.values())
    landed = {str(event.boundary) for event in passed if event.phase is Phase.COMMITTED} & every
    missing, early = sorted(usual[point] - landed), sorted(landed - usual[point])
    if missing or early:
        parts = [f"{a_few(missing, _NAMED)} had not landed yet"] if missing else []
        parts += [f"{a_few(early, _NAMED)} had landed already"] if early else []
        yield Finding(
            kind=None,
            code="raced",
            summary=f"when life 1 was struck at {point}, {' and '.join(parts)}, other than in both undisturbed runs: "
            "writes of the worker race each other, and another run of this cell may end otherwise",
            evidence=(struck.seq,),
            detail={"missing": missing, "early": early},
        )


def _strikes_settled(case: Case) -> bool:
    (planned,) = case.schedule.faults_in(1)
    return planned.kind.strikes_worker and not planned.manner.unsettled
