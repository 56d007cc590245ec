"""Where cells may begin with a copy of an undisturbed run, and how that is checked: a sample is killed really.

Every variant that has such cells has some in the sample, and at least one in twenty of them. Which they are depends
on their names alone, so that the same run checks the same cells.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from zlib import crc32

from ackgap.campaign.sight import out_of_sight
from ackgap.execute.copies import passed_in_order
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import VerdictKind
from ackgap.scenario.scenario import Scenario

__all__ = ["CopyAudit", "order_of_points", "why_not_copied"]

SHARE = 0.05
"""Of the cells that began with a copy, at least."""

_Group = tuple[Variant, str, int]


def why_not_copied(scenario: Scenario) -> str:
    """Return why no cell of a scenario can begin with a copy; empty where they may."""
    if reason := out_of_sight(scenario):
        return reason
    if scenario.worker.container is not None:
        return "the worker runs in a container, whose own file system is not copied"
    return "the worker keeps state outside of its cell" if scenario.worker.external_state else ""


def order_of_points(first: History, second: History) -> tuple[str, ...]:
    """Return the points that both undisturbed runs came to, in their order; none where that differs."""
    points = passed_in_order(first)
    return points if points == passed_in_order(second) else ()


class CopyAudit:
    """Knows which cells began with a copy, and which of them are to be run again with a real kill.

    What is done to the first life, and how many lives are struck, makes a group of its own in each variant: a copy may
    be right for one and not for another. A real kill that proves nothing is no check; the next cell takes its place.
    """

    def __init__(self) -> None:
        self._copied: dict[_Group, dict[Schedule, CellResult]] = {}
        self._sampled: dict[_Group, set[Schedule]] = {}
        self._in_vain: Counter[_Group] = Counter()
        self._killed = 0
        self._checked = 0
        self._refuted = False

    def take(self, result: CellResult) -> bool:
        """Take note of a cell that was run; return whether its result counts.

        A copied one that proves nothing does not: it is to be killed really, and its history is of no use.
        """
        if not result.copied:
            self._killed += bool(result.schedule.faults and not result.equal_to)
            return True
        if result.verdict.kind is VerdictKind.INCONCLUSIVE:
            return False
        # Its history is written down by now; a run of many cells must not keep them all.
        self._copied.setdefault(_group_of(result), {})[result.schedule] = replace(result, history=())
        return True

    def due(self) -> Iterator[tuple[Variant, Schedule]]:
        """Yield what is to be run again and was not yet, once everything else has been run."""
        for group, results in self._copied.items():
            wanted = math.ceil(len(results) * SHARE) + self._in_vain[group]
            by_chance = sorted(results, key=lambda schedule: crc32(f"{schedule}@{group[0]}".encode()))
            sampled = self._sampled.setdefault(group, set())
            for schedule in by_chance[:wanted]:
                if schedule not in sampled:
                    sampled.add(schedule)
                    yield group[0], schedule

    def compare(self, result: CellResult) -> str:
        """Compare a real kill with the cell that began with a copy; return how they differ, empty if they agree."""
        group = _group_of(result)
        copied = self._copied[group][result.schedule]
        if result.verdict.kind is VerdictKind.INCONCLUSIVE:
            self._in_vain[group] += 1
            return ""
        self._checked += 1
        ends = [_end(one) for one in (result, copied)]
        if ends[0] == ends[1]:
            return ""
        self._refuted = True
        return f"{result.cell} is {ends[0]} when it is killed, and {ends[1]} when it begins with a copy"

    def notes(self, why_not: str, *, complete: bool) -> Iterator[str]:
        """Yield what a reader should know of it.

        Args:
            why_not: Why no cell could begin with a copy.
            complete: The run was carried through.
        """
        copied = sum(map(len, self._copied.values()))
        if not copied:
            yield f"No cell began with a copy: {why_not or 'none was made at any of their points'}."
            return
        began = (
            f"{copied} cells began with a copy that was made while the worker stood parked, and {self._killed} with a "
            "real kill"
        )
        if self._refuted:
            yield f"{began}. A copy was not what a kill leaves: no verdict of a copied cell counts."
            return
        agreed = f"{self._checked} of them were run again with a real kill, with the same verdict and the same effects"
        if not complete:
            agreed += "; the run ended before the others could be chosen from"
        in_vain = self._in_vain.total()
        vain = f"; {in_vain} more that were so prove nothing" if in_vain else ""
        yield f"{began}; {agreed}{vain}."


def _group_of(result: CellResult) -> _Group:
    first = result.schedule.faults[0]
    return result.variant, str(first.manner), len(result.schedule.by_life)


def _end(result: CellResult) -> str:
    """Return what has to be the same, in words."""
    effects = ", ".join(f"{count} {operation}" for operation, count in sorted(result.effects.items())) or "no effect"
    codes = ", ".join(sorted({finding.code for finding in result.findings if finding.kind is result.verdict.kind}))
    return f"{result.verdict.kind}{f' ({codes})' if codes else ''} with {effects} in {result.incarnations} lives"
