"""Small changes of a schedule: a fault or an option left out, another duration, kind or place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ackgap.model.boundary import CrashPoint
from ackgap.model.manner import FaultKind, Manner
from ackgap.model.schedule import Fault, Schedule
from ackgap.search.drawing import ordered, plainness

__all__ = [
    "Change",
    "Size",
    "earlier_points",
    "faults_left_out",
    "options_left_out",
    "other_values",
    "plainer_kinds",
    "size_of",
]

Size = tuple[int, tuple[tuple[int, tuple[int, bool], int], ...]]

_OPTIONS: Mapping[str, Any] = {
    "down_s": 0.0,
    "stale_s": 0.0,
    "lives": 1,
    "heirs": 1,
    "without": "",
    "release": "",
    "unsettled": 0,
}
"""Options that go with a fault, as they are where nothing is said. What a kind always has is not among them."""
_DURATIONS_S = (3600.0, 30 * 86400.0, 86400.0)
"""Of virtual time: short and long against what services remember."""
_STATUSES = (500, 429)
_NEAR = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A schedule that differs from another one in one part.

    Attributes:
        place: Which fault is concerned, from 1.
        what: `fault`, `kind`, `phase`, `occurrence`, `boundary`, or the name of an option.
        value: What it was.
        other: What it is.
        schedule: With the change.
    """

    place: int
    what: str
    value: str
    other: str
    schedule: Schedule


def faults_left_out(schedule: Schedule) -> Iterator[Change]:
    """Yield the schedule without each of its faults, where there are several.

    Faults of later lives come so much earlier. Where a fault of a call is in the same life, it may have brought that
    life down or not, so that both are there.
    """
    for place, fault in enumerate(schedule.faults):
        before, after = schedule.faults[:place], schedule.faults[place + 1 :]
        shifts = dict.fromkeys((fault.manner.lives, 0) if fault.kind.strikes_worker else (0, 1))
        for shift in shifts if before or after else ():
            changed = _schedule((*before, *_earlier(after, shift)))
            if changed is not None:
                yield Change(place=place + 1, what="fault", value=str(fault), other="left out", schedule=changed)


def options_left_out(schedule: Schedule) -> Iterator[Change]:
    """Yield the schedule with each option of each fault left out."""
    for place, fault in enumerate(schedule.faults):
        for name, nothing in _OPTIONS.items():
            if getattr(fault.manner, name) != nothing:
                values: dict[str, Any] = {name: nothing, **({"for_s": 0.0} if name == "without" else {})}
                yield from _with_manner(schedule, place, name, "left out", values)


def earlier_points(schedule: Schedule, points: Sequence[CrashPoint]) -> Iterator[Schedule]:
    """Yield the schedule with one of its faults at an earlier point, and all else as it is.

    Args:
        schedule: What is changed.
        points: Those of later lives, in which those of the first life come first.
    """
    order = {point: number for number, point in enumerate(points)}
    for place, fault in enumerate(schedule.faults):
        # A point that is not known is drawn nowhere; the schedule is not of this search.
        for point in points[: order.get(fault.point, 0)]:
            if fault.manner.strikes_at(point) and str(point.boundary) != fault.manner.until:
                changed = _put(schedule, place, replace(fault, point=point))
                if changed is not None:
                    yield changed


def plainer_kinds(schedule: Schedule, manners: Sequence[Manner]) -> Iterator[Schedule]:
    """Yield the schedule with a kill in place of another kind of fault, its options as they are."""
    for place, fault in enumerate(schedule.faults):
        for manner in _of_other_kinds(fault, manners):
            changed = _put(schedule, place, replace(fault, manner=manner)) if manner.kind is FaultKind.KILL else None
            if changed is not None:
                yield changed


def size_of(schedule: Schedule, points: Sequence[CrashPoint]) -> Size:
    """Return what schedules are ordered by, the smallest first, as they shrink: see the module `drawing`.

    Args:
        schedule: Any.
        points: Those of later lives, in which those of the first life come first.
    """
    order = {point: number for number, point in enumerate(points)}
    sizes = sorted(
        (fault.incarnation, fault.kind.strikes_worker, order.get(fault.point, len(order)), plainness(fault.manner))
        for fault in schedule.faults
    )
    return len(sizes), tuple((place, plain, life) for life, _, place, plain in sizes)


def other_values(
    schedule: Schedule, points: Mapping[int, Sequence[CrashPoint]], manners: Sequence[Manner]
) -> Iterator[Change]:
    """Yield the schedule with other values of each option, other kinds of fault, and other places nearby.

    One part alone is another, so that what comes of it can be said of that part. Another kind of fault has the options
    of the one that is there; where it does not take them, it is not tried.

    Args:
        schedule: What is changed.
        points: Those of the first life, and those of later ones.
        manners: Plain ones first; what a kind always has, such as a status, is that of its first one.
    """
    for place, fault in enumerate(schedule.faults):
        yield from _other_options(schedule, place)
        for manner in _of_other_kinds(fault, manners):
            changed = _put(schedule, place, replace(fault, manner=manner))
            if changed is not None:
                yield Change(place=place + 1, what="kind", value=str(fault.kind), other=str(manner), schedule=changed)
        known = points[max(life for life in points if life <= fault.incarnation)]
        for what, value, point in _elsewhere(fault, known):
            changed = _put(schedule, place, replace(fault, point=point))
            if changed is not None:
                other = {"phase": str(point.phase), "occurrence": f"#{point.occurrence}"}.get(what, str(point.boundary))
                yield Change(place=place + 1, what=what, value=value, other=other, schedule=changed)


def _other_options(schedule: Schedule, place: int) -> Iterator[Change]:
    manner = schedule.faults[place].manner
    for name in ("down_s", "stale_s"):
        present_s = getattr(manner, name)
        for other_s in _DURATIONS_S if present_s else ():
            if other_s != present_s:
                yield from _with_manner(schedule, place, name, "", {name: other_s})
    for name in ("lives", "heirs"):
        count = getattr(manner, name)
        for other in (count - 1, count + 1) if count > 1 else ():
            yield from _with_manner(schedule, place, name, "", {name: other})
    for status in _STATUSES if manner.status else ():
        if status != manner.status:
            yield from _with_manner(schedule, place, "status", "", {"status": status})
    if manner.for_s:
        yield from _with_manner(schedule, place, "for_s", "", {"for_s": manner.for_s / 2})


def _with_manner(schedule: Schedule, place: int, name: str, other: str, values: Mapping[str, Any]) -> Iterator[Change]:
    fault = schedule.faults[place]
    try:
        manner = replace(fault.manner, **values)
        changed = _put(schedule, place, replace(fault, manner=manner))
    except ValueError:  # what the model excludes, such as 5 heirs
        return
    if changed is not None:
        option = name.removesuffix("_s")
        value = _written(fault.manner, option)
        yield Change(
            place=place + 1, what=option, value=value, other=other or _written(manner, option), schedule=changed
        )


def _written(manner: Manner, option: str) -> str:
    """Return the value of an option as the text form has it; a number of lives that is the usual one as well."""
    texts = dict(part.split("=", 1) for part in str(manner).split(",")[1:])
    return texts.get(option, "1" if option in ("lives", "heirs") else "")


def _of_other_kinds(fault: Fault, manners: Sequence[Manner]) -> Iterator[Manner]:
    """Yield a manner of each other kind that can be done there and takes all options that go with the fault."""
    going: dict[str, Any] = {name: getattr(fault.manner, name) for name in _OPTIONS}
    named = {name.removesuffix("_s") for name, nothing in _OPTIONS.items() if going[name] != nothing}
    seen: set[FaultKind] = {fault.kind}
    for known in manners:
        if known.kind in seen or not named <= set(known.kind.options):
            continue
        seen.add(known.kind)
        # Only a kill takes `without`, so it goes with none of the others, and neither does how long that lasts.
        manner = replace(known, **going, for_s=0.0 if known.without else known.for_s)
        if manner.strikes_at(fault.point) and manner.until != str(fault.point.boundary):
            yield manner


def _elsewhere(fault: Fault, points: Sequence[CrashPoint]) -> Iterator[tuple[str, str, CrashPoint]]:
    """Yield what is changed, its value, and another point at which the same can be done."""
    here = fault.point
    able = [point for point in points if point != here and fault.manner.strikes_at(point)]
    able = [point for point in able if str(point.boundary) != fault.manner.until]
    order = {point: number for number, point in enumerate(points)}
    able.sort(key=lambda point: abs(order[point] - order.get(here, 0)))
    phases = [point for point in able if str(point.boundary) == str(here.boundary)]
    yield from (("phase", str(here.phase), point) for point in phases)
    same = [point for point in able if (point.name, point.phase) == (here.name, here.phase)]
    yield from (("occurrence", f"#{here.occurrence}", point) for point in same[:_NEAR])
    others = [point for point in able if point.name != here.name and point.phase is here.phase]
    yield from (("boundary", str(here.boundary), point) for point in others[:_NEAR])


def _put(schedule: Schedule, place: int, fault: Fault) -> Schedule | None:
    """Return the schedule with another fault in a place; later lives move where that ends fewer or more of them."""
    old = schedule.faults[place].manner.lives
    after = _earlier(schedule.faults[place + 1 :], old - fault.manner.lives)
    return _schedule((*schedule.faults[:place], fault, *after))


def _earlier(faults: Sequence[Fault], lives: int) -> tuple[Fault, ...]:
    return tuple(replace(fault, incarnation=max(1, fault.incarnation - lives)) for fault in faults)


def _schedule(faults: Sequence[Fault]) -> Schedule | None:
    """Return the schedule; None where the model has no such one, or where nothing leads to one of its lives."""
    try:
        schedule = ordered(faults)
    except ValueError:  # one life would be ended twice, or two faults strike at one place
        return None
    lives = {fault.incarnation for fault in schedule.by_life}
    return schedule if lives == set(range(1, len(lives) + 1)) else None
