"""run_cell: one cell, executed and judged; a plain function whose argument and result can be pickled."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from ackgap.execute.order import Order
from ackgap.execute.slot import run_order
from ackgap.execute.state.reading import NOTHING_READ, Reading
from ackgap.judge import judge
from ackgap.judge.across import together
from ackgap.model.event import Event
from ackgap.model.expectation import Expectation
from ackgap.model.history import History
from ackgap.model.matrix import CellResult
from ackgap.model.verdict import Finding, Verdict, VerdictKind

__all__ = ["CellTask", "RawRun", "judged", "lost_cell", "run_cell", "run_raw"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellTask:
    """A cell to run, with its yardstick."""

    order: Order
    expectation: Expectation


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRun:
    """A run that is not judged yet: a probe, or the proof of a mode."""

    order: Order
    history: History
    hold_outcome: str
    duration_s: float
    modules: tuple[str, ...] = ()
    reading: Reading = NOTHING_READ


def run_raw(order: Order) -> RawRun:
    """Run without judging.

    Raises:
        AckgapError: The run could not be made.
    """
    began_s = time.monotonic()
    finished = run_order(order)
    return RawRun(
        order=order,
        history=finished.history,
        hold_outcome=finished.hold_outcome,
        duration_s=time.monotonic() - began_s,
        modules=finished.modules,
        reading=finished.reading,
    )


def run_cell(task: CellTask, watch: Callable[[Event], None] | None = None) -> CellResult:
    """Run and judge one cell; where its schedule races the worker, as often as that says, and all of them together.

    Raises:
        AckgapError: The cell could not be run.
    """
    repeats = task.order.schedule.repeats
    if repeats > 1:
        return together(_run_once(task, watch) for _ in range(repeats))
    return _run_once(task, watch)


def _run_once(task: CellTask, watch: Callable[[Event], None] | None) -> CellResult:
    began_s = time.monotonic()
    finished = run_order(task.order, watch)
    return judged(task.order, task.expectation, finished.history, time.monotonic() - began_s)


def lost_cell(order: Order, why: str) -> CellResult:
    """Return the result of a cell whose slot was lost on the way: it proves nothing."""
    summary = f"the cell was not carried through: {why}"
    finding = Finding(kind=VerdictKind.INCONCLUSIVE, code="slot_lost", summary=summary)
    return CellResult(
        scenario=order.scenario.name,
        variant=order.variant,
        schedule=order.schedule,
        verdict=Verdict.of((finding,)),
        incarnations=0,
    )


def judged(order: Order, expectation: Expectation, history: History, duration_s: float) -> CellResult:
    """Return what a history proves."""
    return CellResult(
        scenario=order.scenario.name,
        variant=order.variant,
        schedule=order.schedule,
        verdict=judge(history, expectation, order.schedule),
        incarnations=history.incarnations,
        effects=dict(Counter(effect.operation for effect in history.effects)),
        duration_s=round(duration_s, 3),
        copied=any(end.copied for end in history.ends.values()),
        settling=", ".join(dict.fromkeys(fault.settling.value for fault in history.faults)),
        history=tuple(history.to_json()),
    )
