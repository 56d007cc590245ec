"""Where cells may begin with a copy of an undisturbed run, and how that is checked: a sample is killed really.

Every variant that has such cells has some in the sample, and at least one in twenty of them. Which they are depends
on their names alone, so that the same run checks the same cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from zlib import crc32

from ackgap.execute.copies import passed_in_order
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import VerdictKind
from ackgap.scenario.scenario import Scenario

__all__ = ["CopyAudit", "order_of_points", "why_not_copied"]

SHARE = 0.05
"""Of the cells that began with a copy, at least."""


def why_not_copied(scenario: Scenario) -> str:
    """Return why no cell of a scenario can begin with a copy; empty where they may."""
    if not scenario.worker.python_injector:
        return "no hook in the worker proves that no write is in flight"
    if scenario.services:
        return f"the service {scenario.services[0].name!r} keeps state in a server, which is not copied"
    if scenario.client is not None:
        return "the client lives on beside the worker, and waits for an answer or does not"
    if scenario.worker.reset is not None or scenario.worker.external_state:
        return "the worker keeps state outside of its cell"
    if scenario.worker.allow_write:
        return "the worker may write outside of its cell (allow_write), where ackgap does not look"
    real = [target.name for target in scenario.targets if target.upstream is not None or target.replay is not None]
    if real:
        return f"{real[0]} is a real service or a recording of one, which cannot be copied"
    return ""


def order_of_points(first: History, second: History) -> tuple[str, ...]:
    """Return the points that both undisturbed runs came to, in their order; none where that differs."""
    points = passed_in_order(first)
    return points if points == passed_in_order(second) else ()


class CopyAudit:
    """Knows which cells began with a copy, and which of them are to be run again with a real kill."""

    def __init__(self) -> None:
        self._copied: dict[Variant, dict[Schedule, CellResult]] = {}
        self._sampled: set[tuple[Variant, Schedule]] = set()
        self._killed = 0
        self._in_vain = 0
        self._checked = 0

    def take(self, result: CellResult) -> None:
        """Take note of a cell that was run."""
        if result.copied:
            # Its history is written down by now; a run of many cells must not keep them all.
            self._copied.setdefault(result.variant, {})[result.schedule] = replace(result, history=())
        elif result.schedule.faults and not result.equal_to:
            self._killed += 1

    def due(self) -> Iterator[tuple[Variant, Schedule]]:
        """Yield what is to be run again and was not yet, once everything else has been run."""
        for variant, results in self._copied.items():
            wanted = math.ceil(len(results) * SHARE)
            by_chance = sorted(results, key=lambda schedule: crc32(f"{schedule}@{variant}".encode()))
            for schedule in by_chance[:wanted]:
                if (variant, schedule) not in self._sampled:
                    self._sampled.add((variant, schedule))
                    yield variant, schedule

    def compare(self, result: CellResult) -> str:
        """Compare a real kill with the cell that began with a copy; return how they differ, empty if they agree."""
        copied = self._copied[result.variant][result.schedule]
        kinds = copied.verdict.kind, result.verdict.kind
        if VerdictKind.INCONCLUSIVE in kinds:
            self._in_vain += 1
            return ""
        self._checked += 1
        if kinds[0] is kinds[1] and copied.effects == result.effects:
            return ""
        return (
            f"{result.cell} is {kinds[1]} with {_counted(result.effects)} when it is killed, and {kinds[0]} with "
            f"{_counted(copied.effects)} when it begins with a copy"
        )

    def notes(self, why_not: str) -> Iterator[str]:
        """Yield what a reader should know of it.

        Args:
            why_not: Why no cell could begin with a copy.
        """
        copied = sum(map(len, self._copied.values()))
        if not copied:
            yield f"No cell began with a copy: {why_not or 'none was made at any of their points'}."
            return
        agreed = f"{self._checked} of them were run again with a real kill, with the same verdict and the same effects"
        vain = f"; {self._in_vain} more that were so prove nothing" if self._in_vain else ""
        yield (
            f"{copied} cells began with a copy that was made while the worker stood parked, and {self._killed} with a "
            f"real kill; {agreed}{vain}."
        )


def _counted(effects: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {operation}" for operation, count in sorted(effects.items())) or "no effect"
