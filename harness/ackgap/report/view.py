"""Views: a cell as a matrix places it, by the points at which its faults strike and by what is done there.

Killing at a point, losing the answer there, and killing with three days of downtime are one row; what is done is shown
as if it were an axis of the scenario, called `fault`. A kill that races the worker's writes, one with writes in another
order, and one that is followed by another have rows of their own, which hang below the row of the point: branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ackgap.model.manner import PLAIN_KILL, FaultKind, Manner
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import UNDISTURBED, Fault, Schedule
from ackgap.report.info import RowInfo

__all__ = ["FAULT_AXIS", "Branch", "Views", "branch_of", "row_label"]

FAULT_AXIS = "fault"
"""Name of the axis that tells apart what is done; no scenario may have one of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """How a row differs from the one that it hangs below.

    Attributes:
        parent: Label of that row.
        step: What comes to it, in words: `then killed again`.
        at: Where that is done, or to what; empty where the words say all.
        depth: How many rows are above it, 1 for what hangs below a row of the rail.
    """

    parent: str
    step: str
    at: str = ""
    depth: int = 1

    @property
    def words(self) -> str:
        """The whole of it: `then killed again at tickets.create#1:received`."""
        return f"{self.step} {'at ' if self.step.startswith('then') else ''}{self.at}".strip()


def row_label(schedule: Schedule) -> str:
    """Return the label of the row in which a schedule stands: of one fault in the first life, its point."""
    return _row(schedule)[0].label


def branch_of(row: Schedule) -> Branch | None:
    """Return how a row differs from the one above it; None for a row of the rail.

    Args:
        row: The schedule of the row, as `Views` has it.
    """
    above, step, at = _step(row)
    if above is None:
        return None
    parent = _row(above)[0]
    higher = branch_of(parent)
    return Branch(parent=parent.label, step=step, at=at, depth=1 if higher is None else higher.depth + 1)


@lru_cache(maxsize=2**16)  # every report asks for every cell, and a report has several parts
def _row(schedule: Schedule) -> tuple[Schedule, Manner | None]:
    """Return the row of a schedule as a schedule of plain kills, and what is done in their place.

    None where several things are done: such a schedule is a row of its own.
    """
    strikes = [fault for fault in schedule.faults if fault.kind is not FaultKind.HOLD]
    done = {replace(fault.manner, unsettled=0) for fault in strikes}
    alike = len(done) == 1 and strikes[0].incarnation == 1
    if not alike or (len(strikes) > 1 and not all(fault.kind.strikes_worker for fault in strikes)):
        return schedule, None
    plain = tuple(
        fault if fault.kind is FaultKind.HOLD else replace(fault, manner=Manner(unsettled=fault.manner.unsettled))
        for fault in schedule.faults
    )
    return Schedule(faults=plain), done.pop()


def _step(row: Schedule) -> tuple[Schedule | None, str, str]:
    """Return the row above one, what comes to it, and where."""
    faults = row.faults
    if row.repeats > 1 or any(fault.manner.unsettled for fault in faults):
        settled = tuple(replace(fault, manner=replace(fault.manner, unsettled=0)) for fault in faults)
        return Schedule(faults=settled), f"unsettled, {row.repeats} runs", ""
    if len(faults) < 2:
        return None, "", ""
    last = faults[-1]
    held = [fault for fault in faults if fault.kind is FaultKind.HOLD and fault.incarnation == last.incarnation]
    if held and last.kind is not FaultKind.HOLD:
        without = tuple(fault for fault in faults if fault not in held)
        at = ", ".join(f"{fault.point.boundary} after {fault.manner.until}" for fault in held)
        return Schedule(faults=without), "in another order:", at
    return Schedule(faults=faults[:-1]), _then(faults[-2], last), str(last.point)


def _then(before: Fault, last: Fault) -> str:
    words = last.manner.words.partition(",")[0] if last.manner == before.manner else last.manner.words
    again = " again" if last.manner == before.manner else ""
    after = before.incarnation + before.manner.lives
    if last.incarnation == before.incarnation:
        life = " in the same life"
    else:
        life = "" if last.incarnation == after else f" in life {last.incarnation}"
    return f"then {words}{again}{life}"


def _order(manner: Manner) -> tuple[float | str, ...]:
    kinds = list(FaultKind)
    plain = (kinds.index(manner.kind), manner.status, manner.down_s, manner.stale_s, manner.for_s)
    return (*plain, manner.lives, manner.heirs, manner.without, manner.release, manner.until, manner.name)


@dataclass(frozen=True)
class Views:
    """Where each cell of a run stands.

    Attributes:
        manners: What is done in this run, killing first.
        variants: As a matrix shows them, with what is done as last axis, where that varies.
        place: Row label and shown variant, by cell.
    """

    manners: tuple[Manner, ...]
    variants: tuple[Variant, ...]
    place: dict[str, tuple[str, Variant]] = field(repr=False)

    @classmethod
    def of(cls, results: Iterable[CellResult], variants: Iterable[Variant]) -> Views:
        """Place results.

        Args:
            results: Of one run.
            variants: In the order in which they are to be shown.
        """
        kept = [(result, *_row(result.schedule)) for result in results]
        seen = dict.fromkeys(manner for _, _, manner in kept if manner is not None)
        manners = tuple(sorted(seen, key=_order))
        several = any(manner != PLAIN_KILL for manner in manners)
        first = manners[0] if manners else PLAIN_KILL
        place = {}
        for result, row, manner in kept:
            shown = result.variant
            if several:
                # What has no place on the axis, such as the undisturbed run, stands with the first.
                shown = Variant(values=(*shown.values, (FAULT_AXIS, (manner or first).words)))
            place[result.cell] = (row.label, shown)
        used = {shown for _, shown in place.values()}
        ordered = tuple(
            view
            for variant in variants
            for view in (
                [Variant(values=(*variant.values, (FAULT_AXIS, manner.words))) for manner in manners]
                if several
                else [variant]
            )
            if view in used
        )
        return cls(manners=manners, variants=ordered, place=place)

    @property
    def several(self) -> bool:
        """Whether anything but killing is done in this run, so that there is an axis of it."""
        return any(manner != PLAIN_KILL for manner in self.manners)

    def real(self, view: Variant) -> Variant:
        """Return the scenario's variant that a shown one stands for."""
        return Variant(values=view.values[:-1]) if self.several else view

    def rows(self, schedules: Iterable[Schedule], known: Iterable[RowInfo]) -> tuple[RowInfo, ...]:
        """Return the rows that schedules stand in, each once: the undisturbed run, then the rail with its branches.

        A row that others hang below is there also if nothing was run in it.

        Args:
            schedules: In the order of the run.
            known: What is known of rows already.
        """
        described = {row.label: row for row in known}
        rows: dict[str, RowInfo] = {}
        steps: dict[str, tuple[Schedule | None, str, str]] = {}
        below: dict[str, list[str]] = {}
        for schedule in schedules:
            row: Schedule | None = _row(schedule)[0]
            while row is not None and row.label not in rows:
                rows[row.label] = described.get(row.label) or RowInfo.of(row)
                steps[row.label] = _step(row)
                above = steps[row.label][0]
                row = None if above is None else _row(above)[0]
                below.setdefault("" if row is None else row.label, []).append(next(reversed(rows)))
        order = {label: number for number, label in enumerate(dict.fromkeys((UNDISTURBED.label, *described)))}
        for labels in below.values():
            labels.sort(key=lambda label: _place(label, steps[label], order))
        return tuple(rows[label] for label in _walk("", below))


def _place(label: str, how: tuple[Schedule | None, str, str], order: Mapping[str, int]) -> tuple[bool, int, int]:
    """Return what rows below the same one are sorted by: races and orders first, then by their last point."""
    _, step, at = how
    unknown = len(order)
    return step.startswith("then"), order.get(at or label, unknown), order.get(label, unknown)


def _walk(label: str, below: dict[str, list[str]]) -> Iterator[str]:
    for child in below.get(label, ()):
        yield child
        yield from _walk(child, below)
