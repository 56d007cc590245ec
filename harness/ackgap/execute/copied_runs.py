"""The undisturbed runs that a slot has copied, one for each variant that it has lately been asked about."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from ackgap.execute import workspace
from ackgap.execute.copies import Beginning, Copies, passed_in_order, point_of_copy
from ackgap.execute.order import Order
from ackgap.model.history import History
from ackgap.model.schedule import UNDISTURBED

__all__ = ["CopiedRuns"]

_KEPT = 2
_TOO_OLD_S = 60.0
"""Real seconds after which a run is copied anew: a lease that its worker had taken would have run out by then."""

_Kind = tuple[str, tuple[str, ...], bool, bool]
Run = Callable[[Order, Path], tuple[History, Copies]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _CopiedRun:
    kind: _Kind
    copies: Copies
    directory: Path
    began_s: float


class CopiedRuns:
    """Makes copied runs when they are first asked for, and keeps the last ones.

    Args:
        directory: Of the slot; the copies go below it.
        run: Runs an order, copies everything at each point into a directory, and returns what came of both.
    """

    def __init__(self, directory: Path, run: Run) -> None:
        self._directory = directory / "copies"
        self._run = run
        self._kept: list[_CopiedRun] = []
        self._count = 0

    def beginning(self, order: Order) -> Beginning:
        """Return where a cell begins; its order says in which sequence undisturbed runs come to their points."""
        point = point_of_copy(order.schedule)
        if not point:
            return Beginning(why_none="its first life meets something else than one kill")
        copies = self._copies(order)
        copy = copies.by_point.get(point)
        return Beginning(own_words=copies.own_words, copy=copy, why_none="" if copy else copies.why_none(point))

    def _copies(self, order: Order) -> Copies:
        kind = (str(order.variant), order.warm, order.states, order.whole_store)
        for found in self._kept:
            # What cannot be copied will not be any better a minute later.
            fresh = time.monotonic() - found.began_s < _TOO_OLD_S or "" in found.copies.left_out
            if found.kind == kind and fresh:
                self._kept.remove(found)
                self._kept.append(found)
                return found.copies
        for old in [one for one in self._kept if one.kind == kind] or self._kept[: 1 - _KEPT]:
            self._kept.remove(old)
            workspace.remove_tree(old.directory)
        self._count += 1
        directory = self._directory / str(self._count)
        began_s = time.monotonic()
        history, copies = self._run(replace(order, schedule=UNDISTURBED, copies=()), directory)
        if passed_in_order(history) != order.copies:
            late = 1 not in history.ends or history.ends[1].by_harness
            copies.left_out[""] = (
                "the run that was to be copied did not end within limits.life_s"
                if late
                else "a run that was copied came to its points in another order than one that was not"
            )
            workspace.remove_tree(directory)
            copies.by_point.clear()
        self._kept.append(_CopiedRun(kind=kind, copies=copies, directory=directory, began_s=began_s))
        return copies
