"""Crash states: which points of a run leave the same durable store and the same outside world behind.

Of a killed worker nothing is left but that, so two points with one state have one recovery. A state is named only
where this is certain; a point without one is never taken for equal to another:

* the store has a digest, and no hook had to let a write overlap another or block an event loop;
* no other call and no other durable write of the life was under way;
* the life is one process, and every earlier life is over;
* no target let virtual time go by, which would happen between two phases of one call.

Two states are equal only if the same durable writes had landed as well, so that a write which the digest does not
see keeps them apart. What a target has only received is not part of a state: it does nothing before it goes on.

Within one run stores are compared byte by byte. Two runs never write the same bytes: their stores are compared by a
masked digest, and what had happened by then has to be the same in order as well, up to deaths that left nothing
unrecorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from ackgap.model.boundary import Boundary, Phase
from ackgap.model.event import (
    AttemptAnswered,
    AttemptDropped,
    AttemptReceived,
    BoundaryReached,
    EffectApplied,
    Event,
    IncarnationEnded,
    IncarnationStarted,
    InjectorReady,
    Note,
    Settling,
)
from ackgap.model.history import History
from ackgap.model.manner import FaultKind, Manner
from ackgap.model.schedule import Schedule

__all__ = ["CommonState", "CrashState", "common_states", "crash_states", "leaves_only_state", "state_at_death"]

_SIMPLE = frozenset({Phase.SENDING, Phase.RECEIVED, Phase.APPLIED, Phase.RETURNED, Phase.COMMITTING, Phase.COMMITTED})
"""Phases of a call that is answered in one piece, and of a write."""
_UNDER_WAY = frozenset({Phase.SENDING, Phase.RECEIVED, Phase.APPLIED, Phase.COMMITTING})


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashState:
    """What a worker that is killed leaves behind; comparable within one history.

    Attributes:
        store: Digest of the durable store.
        landed: How many durable writes had landed, over all lives.
        decided: Attempts, by number, that a target had decided about.
    """

    store: str
    landed: int
    decided: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonState:
    """What a worker that is killed leaves behind; comparable between runs of one variant.

    Attributes:
        store: Masked digest of the durable store.
        past: Attempts that were decided, writes that landed, and deaths right after an attempt, in order.
        lives: How many lives had begun; 0 where nothing depends on that.
    """

    store: str
    past: tuple[tuple[str, ...], ...]
    lives: int


def leaves_only_state(manner: Manner) -> bool:
    """Whether what comes after a fault depends on the crash state alone.

    A worker that is told to end acts on what it has in memory; a race, a crash loop at one point and a service that is
    gone for real seconds depend on more than the state.
    """
    return manner.kind is FaultKind.KILL and not (
        manner.unsettled or manner.without or manner.release or manner.lives != 1 or manner.heirs != 1
    )


def crash_states(history: History, incarnation: int = 1) -> dict[str, CrashState]:
    """Return the state at each point of a life, in the order in which they were passed; only those that are certain."""
    ready = [event for event in history.of(InjectorReady) if event.incarnation == incarnation]
    if len(ready) != 1 or any(note.code == "time_passed" for note in history.of(Note)):
        return {}
    found: dict[str, CrashState | None] = {}
    for event, ledger in _followed(history):
        if isinstance(event, BoundaryReached) and event.incarnation == incarnation:
            found.setdefault(event.point_text, _state_at(event, ledger))
    return {point: state for point, state in found.items() if state is not None}


def common_states(history: History, incarnation: int = 1, *, lives_alike: bool = False) -> dict[str, CommonState]:
    """Return the state at each point of a life in a form that other runs can have as well.

    Args:
        history: Of a run whose passages have masked digests; none of the others is named.
        incarnation: Which life.
        lives_alike: Nothing around the worker depends on the number of its life.
    """
    certain = crash_states(history, incarnation)
    found: dict[str, CommonState] = {}
    for event, ledger in _followed(history):
        if (
            isinstance(event, BoundaryReached)
            and event.incarnation == incarnation
            and event.masked_digest
            and event.point_text in certain
            and event.point_text not in found
        ):
            lives = 0 if lives_alike else incarnation
            found[event.point_text] = CommonState(store=event.masked_digest, past=tuple(ledger.past), lives=lives)
    return found


def state_at_death(history: History) -> CrashState | None:
    """Return the state that the last fault of a history left; None where that is not certain.

    It is certain only if nothing moved between the point and the death, so that the state at the point is the state
    that was left: no write landed while the fault settled, and nobody else came to a boundary.
    """
    if not history.faults or any(note.code == "time_passed" for note in history.of(Note)):
        return None
    last = history.faults[-1]
    for event, ledger in _followed(history):
        if event is last:
            struck = ledger.latest.get(last.incarnation)
            if last.settling is not Settling.SETTLED or struck is None or last.parked_siblings:
                return None
            if struck.point_text != str(Schedule.parse(last.fault).faults[-1].point):
                return None
            state = _state_at(struck, ledger)
            return state if state is not None and state.store == last.store_digest else None
    return None


class _Ledger:
    """What had happened by a moment of a history."""

    def __init__(self) -> None:
        self.landed = 0
        self.decided: set[int] = set()
        self.living: set[int] = set()
        self.latest: dict[int, BoundaryReached] = {}
        self.past: list[tuple[str, ...]] = []
        self._attempts: dict[int, AttemptReceived] = {}
        self._under_way: dict[int, set[tuple[str, int]]] = {}

    def under_way(self, incarnation: int, apart: Boundary) -> bool:
        """Whether another call or write of a life had begun and was not over."""
        return bool(self._under_way.get(incarnation, set()) - {(apart.name, apart.occurrence)})

    def take(self, event: Event) -> None:
        """Go one event on."""
        if isinstance(event, IncarnationStarted):
            self.living.add(event.incarnation)
            self._under_way[event.incarnation] = set()
        elif isinstance(event, IncarnationEnded):
            self.living.discard(event.incarnation)
            if self.past and self.past[-1][0] == "call":
                self.past.append(("death",))
        elif isinstance(event, AttemptReceived):
            self._attempts[event.attempt] = event
            self._under_way.setdefault(event.incarnation, set()).add((event.operation, event.occurrence))
        elif isinstance(event, EffectApplied):
            self._decide(event.attempt)
        elif isinstance(event, AttemptAnswered | AttemptDropped):
            if isinstance(event, AttemptAnswered) or event.decision is not None:
                self._decide(event.attempt)
            attempt = self._attempts.get(event.attempt)
            if attempt is not None:
                mine = self._under_way.get(attempt.incarnation, set())
                mine.discard((attempt.operation, attempt.occurrence))
        elif isinstance(event, BoundaryReached):
            self._reach(event)

    def _reach(self, event: BoundaryReached) -> None:
        self.latest[event.incarnation] = event
        boundary = (event.name, event.occurrence)
        mine = self._under_way.setdefault(event.incarnation, set())
        if event.phase in _UNDER_WAY:
            mine.add(boundary)
        elif event.phase in (Phase.RETURNED, Phase.COMMITTED):
            mine.discard(boundary)
        if event.phase is Phase.COMMITTED:
            self.landed += 1
            self.past.append(("write", event.name))
        if event.phase is Phase.APPLIED and event.attempt is not None:
            self._decide(event.attempt)

    def _decide(self, number: int) -> None:
        if number in self.decided:
            return
        self.decided.add(number)
        attempt = self._attempts.get(number)
        if attempt is not None:
            asked = json.dumps((attempt.method, attempt.path, attempt.query, dict(attempt.headers)), sort_keys=True)
            self.past.append(("call", attempt.operation, asked, attempt.key or "", attempt.payload_digest))


def _followed(history: History) -> Iterator[tuple[Event, _Ledger]]:
    """Yield each event with what had happened by then, itself included."""
    ledger = _Ledger()
    for event in history:
        ledger.take(event)
        yield event, ledger


def _state_at(event: BoundaryReached, ledger: _Ledger) -> CrashState | None:
    """Return the state at a passage; None where it is not certain."""
    certain = (
        event.store_digest
        and event.phase in _SIMPLE
        and not (event.overlapped or event.blocks_loop or event.beside)
        and ledger.living == {event.incarnation}
        and not ledger.under_way(event.incarnation, event.boundary)
    )
    if not certain:
        return None
    return CrashState(store=event.store_digest, landed=ledger.landed, decided=frozenset(ledger.decided))
