"""Hypothesis strategies of schedules and their parts: whatever is drawn is valid, and shrinks to what is simplest.

The shrink order, from most to least important:

1. fewer faults;
2. the first fault at an earlier point, in the order in which the points were given;
3. at that point a plainer manner: a plain kill, then other kinds without an option, then one option, then several;
4. the next fault in the same life rather than in the next one; and so on with its point and manner.

Each fault is the same number of choices to Hypothesis, whatever its options, so that two plain faults never count as
simpler than one with options. Nothing is drawn and thrown away: which life a fault strikes follows from those before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TypedDict, TypeVar, Unpack

from hypothesis import strategies as st

from ackgap.model.boundary import CrashPoint, Phase
from ackgap.model.manner import FaultKind, Manner
from ackgap.model.schedule import Fault, Schedule

__all__ = ["DEFAULT_KINDS", "MannerOptions", "Points", "crash_points", "every_manner", "faults", "manners", "schedules"]

T = TypeVar("T")

Points = Sequence[str] | Sequence[CrashPoint]
"""Crash points or their text forms, in the order of the run: earlier ones count as simpler."""

DEFAULT_KINDS = (
    FaultKind.KILL,
    FaultKind.PAUSE,
    FaultKind.LOSE,
    FaultKind.RESET,
    FaultKind.FAIL,
    FaultKind.TWICE,
)
"""What takes no real time. `term`, `slow`, `hold` and `toxic` are drawn where they are asked for."""

_ORDER = {phase: number for number, phase in enumerate(Phase)}
_GRACE_S = 5.0
_OUTAGE_S = 3.0


class MannerOptions(TypedDict, total=False):
    """What may be done at a point; each list is in order, what stands first counts as simpler.

    Attributes:
        kinds: What is done; `DEFAULT_KINDS` where nothing is said.
        downs_s: Virtual seconds until the next life, with what ends or stops a life.
        stales_s: Virtual seconds by which lookups then lag.
        statuses: Of `fail`; 503 where nothing is said.
        lates_s: Real seconds of `slow`; 30 where nothing is said.
        graces_s: Real seconds of `term`; 5 where nothing is said.
        lives: In how many lives a kill is repeated.
        heirs: How many lives begin at once after a kill.
        withouts: Services that are stopped after a kill; the empty name for none.
        releases: Releases that come after what ends a life; the empty name for none.
        untils: Boundaries, `<name>#<n>`, that a durable write is held for; those of the points where nothing is said.
        toxics: Names of toxics of the scenario, for `toxic`; each is on until its life is over.
        more: Further manners, as they are.
    """

    kinds: Sequence[FaultKind | str]
    downs_s: Sequence[float]
    stales_s: Sequence[float]
    statuses: Sequence[int]
    lates_s: Sequence[float]
    graces_s: Sequence[float]
    lives: Sequence[int]
    heirs: Sequence[int]
    withouts: Sequence[str]
    releases: Sequence[str]
    untils: Sequence[str]
    toxics: Sequence[str]
    more: Sequence[Manner]


def every_manner(**options: Unpack[MannerOptions]) -> tuple[Manner, ...]:
    """Return every manner that options allow, the plainest first; combinations that exclude each other are left out.

    Raises:
        ValueError: A kind is not one, or nothing is left.
    """
    kinds = tuple(FaultKind(kind) for kind in options.get("kinds", DEFAULT_KINDS))
    found = [manner for kind in kinds for manner in _of_kind(kind, options)]
    found += options.get("more", ())
    if not found:
        raise ValueError("there is nothing to draw: no kind of fault is left")
    # Sorting is stable: within the same number of options, the order in which things were given.
    return tuple(sorted(dict.fromkeys(found), key=plainness))


def _of_kind(kind: FaultKind, options: MannerOptions) -> list[Manner]:
    once = kind is not FaultKind.KILL
    spans = kind.strikes_worker
    lists: dict[str, Sequence[object]] = {
        "down_s": options.get("downs_s", (0.0,)) if spans else (0.0,),
        "stale_s": options.get("stales_s", (0.0,)) if spans or kind is FaultKind.LOSE else (0.0,),
        "release": options.get("releases", ("",)) if spans else ("",),
        "lives": (1,) if once else options.get("lives", (1,)),
        "heirs": (1,) if once else options.get("heirs", (1,)),
        "without": ("",) if once else options.get("withouts", ("",)),
        "status": options.get("statuses", (503,)) if kind is FaultKind.FAIL else (0,),
        "until": options.get("untils", ()) if kind is FaultKind.HOLD else ("",),
        "name": options.get("toxics", ()) if kind is FaultKind.TOXIC else ("",),
        "for_s": {
            FaultKind.SLOW: options.get("lates_s", (30.0,)),
            FaultKind.TERM: options.get("graces_s", (_GRACE_S,)),
        }.get(kind, (0.0,)),
    }
    found: list[Manner] = []
    for values in product(*lists.values()):
        given = dict(zip(lists, values, strict=True))
        if given["without"]:
            given["for_s"] = _OUTAGE_S
        try:
            found.append(Manner(kind=kind, **given))  # type: ignore[arg-type]
        except ValueError:
            continue  # several lives and several heirs, say
    return found


def plainness(manner: Manner) -> tuple[int, bool]:
    """Return how many options go with a manner beyond what its kind always has, and whether it is no kill."""
    extra = (manner.down_s, manner.stale_s, manner.without, manner.release, manner.unsettled)
    return (sum(map(bool, extra)) + (manner.lives != 1) + (manner.heirs != 1), manner.kind is not FaultKind.KILL)


def crash_points(points: Points) -> st.SearchStrategy[CrashPoint]:
    """Return a strategy of crash points that shrinks to the first."""
    return st.sampled_from(_parsed(points))


def manners(**options: Unpack[MannerOptions]) -> st.SearchStrategy[Manner]:
    """Return a strategy of manners that shrinks to the plainest."""
    return st.sampled_from(every_manner(**options))


def faults(points: Points, incarnation: int = 1, **options: Unpack[MannerOptions]) -> st.SearchStrategy[Fault]:
    """Return a strategy of faults in one life; each is one that can be done at its point.

    Raises:
        ValueError: None of the manners can be done at any of the points.
    """
    menu = _menu(points, options)

    @st.composite
    def fault(draw: st.DrawFn) -> Fault:
        point = draw(st.sampled_from(tuple(menu)))
        return Fault(point=point, manner=draw(st.sampled_from(menu[point])), incarnation=incarnation)

    return fault()


def schedules(
    points: Points | Mapping[int, Points],
    *,
    max_faults: int = 3,
    min_faults: int = 1,
    **options: Unpack[MannerOptions],
) -> st.SearchStrategy[Schedule]:
    """Return a strategy of schedules; the module says in which order it shrinks.

    After what ends or stops a life the next fault is in the life that follows. After what is done to a call it is in
    the same life, or in the next one, for workers that such a fault brings down.

    Args:
        points: Where faults can strike, or that for each life, from 1; lives after the last that is named have its
            points.
        max_faults: At most so many faults.
        min_faults: At least so many; 0 allows the undisturbed run.
        options: What may be done, as `MannerOptions` has it.

    Raises:
        ValueError: Nothing can be done at the points of some life.
    """
    if not 0 <= min_faults <= max_faults or max_faults < 1:
        raise ValueError("a schedule has from min_faults to max_faults faults, and max_faults is 1 or more")
    by_life: Mapping[int, Points] = points if isinstance(points, Mapping) else {1: points}
    if 1 not in by_life:
        raise ValueError("the points of the first life are missing: write {1: [...], 2: [...]}")
    menus = {life: _menu(known, options) for life, known in by_life.items()}

    @st.composite
    def schedule(draw: st.DrawFn) -> Schedule:
        def one_of(values: Sequence[T]) -> T:
            return values[draw(st.integers(0, len(values) - 1))]  # several times faster than sampled_from

        chosen: list[Fault] = []
        life = 1
        while len(chosen) < max_faults:
            go_on = one_of(_ways_on(chosen, min_faults, max_faults)) if chosen or not min_faults else ""
            if go_on == "end":
                break
            if chosen and chosen[-1].kind.strikes_worker:
                life = chosen[-1].incarnation + chosen[-1].manner.lives
            elif chosen and go_on == "next":
                life += 1
            taken = {fault.point for fault in chosen if fault.incarnation == life}
            menu = menus[max(known for known in menus if known <= life)]
            if menu.keys() <= taken:
                life += 1
                taken = set()
                menu = menus[max(known for known in menus if known <= life)]
            point = one_of([point for point in menu if point not in taken])
            chosen.append(Fault(point=point, manner=one_of(menu[point]), incarnation=life))
        return ordered(chosen)

    return schedule()


def _ways_on(chosen: Sequence[Fault], min_faults: int, max_faults: int) -> tuple[str, ...]:
    """Return what may follow, the simplest first; the more faults are left, the less likely is the end."""
    left = max_faults - len(chosen)
    after_strike = not chosen or chosen[-1].kind.strikes_worker
    more = ("next",) * left if after_strike else ("same", "next") * left
    return more if len(chosen) < min_faults else ("end", *more)


def ordered(faults: Iterable[Fault]) -> Schedule:
    """Return the schedule of faults in the one order that it is written in, so that equal ones are equal texts.

    Raises:
        ValueError: Two faults strike at one place, or one life would be ended twice.
    """

    def place(fault: Fault) -> tuple[int, bool, str, int, int]:
        point = fault.point
        return (fault.incarnation, fault.kind.strikes_worker, point.name, point.occurrence, _ORDER[point.phase])

    return Schedule(faults=tuple(sorted(faults, key=place)))


def _menu(points: Points, options: MannerOptions) -> dict[CrashPoint, tuple[Manner, ...]]:
    """Return what can be done at each point at which something can."""
    parsed = _parsed(points)
    checkpoints = dict.fromkeys(str(point.boundary) for point in parsed if point.phase is Phase.COMMITTED)
    full = options.copy()
    full.setdefault("untils", tuple(checkpoints))
    known = every_manner(**full)
    menu = {
        point: tuple(manner for manner in known if manner.strikes_at(point) and manner.until != str(point.boundary))
        for point in parsed
    }
    found = {point: here for point, here in menu.items() if here}
    if not found:
        raise ValueError("nothing can be done: none of the faults can strike at any of the points")
    return found


def _parsed(points: Points) -> tuple[CrashPoint, ...]:
    parsed = (CrashPoint.parse(point) if isinstance(point, str) else point for point in points)
    return tuple(dict.fromkeys(parsed))
