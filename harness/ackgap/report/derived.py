"""What reports say of cells that no line of the results holds: it follows from all of them, and is worked out anew.

From when on a bad end was certain, which cells were not run because another one has their state, and what the bounds of
the run came to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

from ackgap.judge.certain import Certainty, Ends
from ackgap.model.boundary import CrashPoint
from ackgap.model.bounds import Bounds
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, cell_id
from ackgap.model.schedule import Fault, Schedule
from ackgap.model.verdict import SEVERITY, Colour
from ackgap.report.store import Run
from ackgap.scenario.words import a_few

__all__ = ["Certainties", "bounds_facts", "bounds_sentence", "certain_words", "facts_of", "order_words", "rate_text"]

_NAMED = 3
"""How many points are named before the rest is counted."""


class Certainties:
    """From when on bad ends of a run were certain."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._orders: dict[str, _Order] = {}
        self._known: dict[str, Certainty | None] = {}

    @classmethod
    def of_run(cls, run: Run) -> Certainties:
        """Return those of a run, the same ones for every report: they are worked out from all of its cells."""
        known: Certainties = run.__dict__.setdefault("_certainties", cls(run))
        return known

    def of(self, result: CellResult) -> Certainty | None:
        """Return from when on the bad end of a cell was certain; None where it has none.

        Raises:
            ResultsInvalid: A history that is needed for it is damaged.
        """
        if result.verdict.kind.colour is not Colour.RED:
            return None
        if result.cell not in self._known:
            self._known[result.cell] = self._ends.certain_since(result)
        return self._known[result.cell]

    @cached_property
    def _ends(self) -> Ends:
        return Ends(self._run.cells, self._before)

    def _before(self, result: CellResult) -> Sequence[str]:
        last = result.schedule.faults[-1]
        for order in self._known_orders(result, last):
            if str(last.point) in order.places:
                return _Before(order, order.places[str(last.point)])
        return ()

    def _known_orders(self, result: CellResult, last: Fault) -> Iterator[_Order]:
        """Yield the order in which the life of the last fault passes its points, the best source first."""
        yardstick = self._run.info.expectations.get(str(result.variant))
        if last.incarnation == 1 and yardstick is not None:
            key = str(result.variant)
            if key not in self._orders:
                self._orders[key] = _Order(yardstick.points)
            yield self._orders[key]
        shorter = cell_id(Schedule(faults=result.schedule.faults[:-1]), result.variant)
        if last.incarnation > 1:
            key = f"{last.incarnation} {shorter}"
            if key not in self._orders:
                self._orders[key] = _passed(self._run.history(shorter), last.incarnation)
            yield self._orders[key]
        yield _passed(self._run.history(result.cell), last.incarnation)


class _Order:
    """Points in an order, and the place of each."""

    def __init__(self, points: Iterable[str]) -> None:
        self.places = {point: place for place, point in enumerate(dict.fromkeys(points))}
        self.points = tuple(self.places)


class _Before(Sequence[str]):
    """The points before a place of an order, without a copy of them: there is one such for each cell of a run."""

    def __init__(self, order: _Order, count: int) -> None:
        self._order = order
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return self._order.points[: self._count][place]
        return self._order.points[range(self._count)[place]]

    def __contains__(self, point: object) -> bool:
        return isinstance(point, str) and self._order.places.get(point, self._count) < self._count

    def __reversed__(self) -> Iterator[str]:
        return (self._order.points[place] for place in range(self._count - 1, -1, -1))


def _passed(history: History, life: int) -> _Order:
    return _Order(event.point_text for event in history.passages if event.incarnation == life)


def certain_words(certainty: Certainty, result: CellResult) -> str:
    """Return from when on a bad end was certain, in one to three sentences."""
    if not certainty.point:
        said = "Certain from the beginning: the undisturbed run ends in the same way."
    elif certainty.at_the_fault:
        said = f"Certain since {_at(certainty, result)}, where the last fault strikes."
    elif certainty.life == result.schedule.faults[-1].incarnation:
        count = len(certainty.cells) + len(certainty.later)
        said = f"Certain since {_at(certainty, result)}: {count} cells end in the same way from there on."
    else:
        said = (
            f"Certain since {_at(certainty, result)}: {len(certainty.cells)} cells end in the same way on the way back "
            "to there."
        )
    if certainty.otherwise and certainty.unknown:
        said += f" At {_place(certainty.otherwise)} it ends otherwise; not run between: {_listed(certainty.unknown)}."
    elif certainty.otherwise:
        said += f" One point earlier, at {_place(certainty.otherwise)}, it ends otherwise."
    elif certainty.unknown:
        said += f" Known only from there on; not run before it: {_listed(certainty.unknown)}."
    if certainty.between:
        said += f" Not run in between: {_listed(certainty.between)}."
    return said


def _at(certainty: Certainty, result: CellResult) -> str:
    several = result.schedule.faults[-1].incarnation > 1
    return f"{certainty.point} of life {certainty.life}" if several else certainty.point


def _place(cell: str) -> str:
    schedule = Schedule.parse(cell.rpartition("@")[0])
    return str(schedule.faults[-1].point) if schedule.faults else schedule.label


def _listed(points: Sequence[str]) -> str:
    return a_few([str(CrashPoint.parse(point)) for point in points], _NAMED)


def rate_text(result: CellResult) -> str:
    """Return `3/20`: in how many runs of a schedule that races the worker its verdict came out; else nothing."""
    if result.rate is None:
        return ""
    return f"{result.rate.counts.get(result.verdict.kind.value, 0)}/{result.rate.out_of(result.verdict.kind)}"


def order_words(result: CellResult) -> Iterator[str]:
    """Yield what is said of a cell in which the order of two durable writes decides."""
    yield from (finding.summary for finding in result.findings if finding.code == "order_dependent")


def facts_of(result: CellResult, certainties: Certainties) -> Iterator[str]:
    """Yield what is to be said of one cell besides its findings, a sentence each; where it is worth a line of text."""
    if result.rate is not None:
        kinds = (kind for kind in SEVERITY if kind.value in result.rate.counts)
        yield "Raced, not settled: " + "; ".join(f"{kind.words} {result.rate.in_words(kind)}" for kind in kinds) + "."
    if result.copied:
        yield "Not killed: the recovery began with a copy that was made while the worker stood parked at the point."
    if result.equal_to:
        yield f"Not run: the same state as {result.equal_to}."
    if result.verdict.kind.colour is Colour.RED:
        certainty = certainties.of(result)
        if certainty is not None and not certainty.at_the_fault:
            yield certain_words(certainty, result)


def bounds_facts(bounds: Bounds) -> Iterator[tuple[str, str]]:
    """Yield the bounds of a run and what they came to, as name and value; an empty value says nothing."""
    lives = {1: "one crash", 2: "a crash, and another one during its recovery"}
    if bounds.faults:
        yield "Depth", lives.get(bounds.depth, f"up to {bounds.depth} crashes, each during the recovery before it")
        yield "What is done", ", ".join(bounds.faults)
        yield "Points", ", ".join(bounds.points) or "every one"
        yield "Order of writes", "also the other one, where two run beside each other" if bounds.orders else ""
    yield "Variants", str(bounds.variants)
    yield "Asked for by name", str(bounds.named) if bounds.named else ""
    yield "Schedules in all", str(bounds.held)
    yield "Ran", _ran(bounds)
    yield "Equal to one that ran", str(bounds.equal) if bounds.equal else ""
    yield "Cannot happen", str(bounds.impossible) if bounds.impossible else ""
    yield (
        "Not gone into",
        f"{bounds.unexplored}, since what they go on from proves nothing" if bounds.unexplored else "",
    )
    yield "Not reached", f"{bounds.left}, since the run was ended before" if bounds.left else ""


def _ran(bounds: Bounds) -> str:
    amount = "all of them" if bounds.ran == bounds.held else str(bounds.ran)
    audited = f", {bounds.audited} only to see whether equal states are equal" if bounds.audited else ""
    return amount + audited


def bounds_sentence(bounds: Bounds) -> str:
    """Return what lay within the bounds of a run and what became of it, in one or two sentences."""
    count = f"{bounds.held} schedule{'' if bounds.held == 1 else 's'}"
    variants = f"{bounds.variants} variant{'' if bounds.variants == 1 else 's'}"
    if bounds.faults:
        depth = f"up to {bounds.depth} crashes in a row, " if bounds.depth > 1 else ""
        where = f"at {', '.join(bounds.points)}" if bounds.points else "at every point"
        orders = ", both orders of writes" if bounds.orders else ""
        named = f" and {bounds.named} by name" if bounds.named else ""
        said = f"Bounds: {depth}{', '.join(bounds.faults)} {where}{orders}{named}, {variants}; {count}"
    else:
        said = f"Asked for by name, {variants}: {count}"
    parts = [f"{bounds.ran} ran" if bounds.ran < bounds.held else "all ran"]
    parts += [f"{bounds.equal} equal{'s' if bounds.equal == 1 else ''} one that ran"] if bounds.equal else []
    parts += [f"{bounds.impossible} cannot happen"] if bounds.impossible else []
    parts += [f"{bounds.unexplored} not gone into"] if bounds.unexplored else []
    parts += [f"{bounds.left} {'was' if bounds.left == 1 else 'were'} not reached"] if bounds.left else []
    audited = f" {bounds.audited} ran only to see whether equal states are equal." if bounds.audited else ""
    return f"{said}: {', '.join(parts)}.{audited}".replace(f"{count}: all ran", f"{count}, all ran")
