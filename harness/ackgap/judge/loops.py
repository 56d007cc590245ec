"""Crash loops told apart: work that kills whatever touches it, and a recovery that gets further with each life.

What a life added is measured by the undisturbed run: points of it that no earlier life had come to, and expected
actions that had not happened. A write that each life makes in the same way, such as a count of attempts, adds nothing.
A life that ended before it had come to any point, or sent any request, is not known to have touched the work.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ackgap.judge.case import Case
from ackgap.model.boundary import CrashPoint, Phase
from ackgap.model.event import AttemptAnswered, AttemptReceived, BoundaryReached, IncarnationEnded
from ackgap.model.event import IncarnationStarted as Started
from ackgap.model.identity import identity_of

__all__ = ["Loop", "loop_of"]

_LEAST_LIVES = 2
_LEAST_LIVES_THAT_COUNT = 3
"""Lives after which one and the same write, made by each of them, is taken for a count of attempts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """What lives that did not end well had in common.

    Attributes:
        code: `poison`, or `slow_recovery`.
        lives: Their numbers.
        summary: One sentence.
    """

    code: str
    lives: tuple[int, ...]
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Life:
    """What one life came to.

    Attributes:
        number: Its incarnation.
        end: Its end.
        place: Where it was last seen, whatever the occurrence: name and phase, empty where it touched nothing.
        place_text: The same for a reader.
        added_s: When it added something, in real seconds since the cell began.
        calls: Operation and digest of each request, in order.
        records: Durable writes that it made.
        changes: How many of them left the store other than it was before.
        kept_store: The durable store is as it was when the life began; False where nothing is known of it.
        out_of_order: The last answer that it heard was an error of the service's own, or that there is too much to do.
        lasted_s: Real seconds from its start to its end.
    """

    number: int
    end: IncarnationEnded
    place: tuple[str, str]
    place_text: str
    added_s: tuple[float, ...]
    calls: tuple[tuple[str, str], ...]
    records: frozenset[tuple[str, int]]
    changes: int
    kept_store: bool
    out_of_order: bool
    lasted_s: float


def loop_of(case: Case, reason: str) -> Loop | None:
    """Return what is to be said of the lives that ended before a cell was given up; None where it is nothing special.

    Args:
        case: The run.
        reason: For which it was given up.
    """
    if reason == "crash_loop":
        lives = _ended_by_themselves(case)
        return _poison(case, lives) or _slow(lives)
    if reason == "waiting":
        return _cut_off(case)
    return None


def _ended_by_themselves(case: Case) -> list[_Life]:
    """Return the last lives of the run, as far back as nobody but they themselves ended them."""
    found: list[_Life] = []
    for end in sorted(case.history.ends.values(), key=lambda end: -end.seq):
        if end.by_harness:
            break
        found.append(_life(case, end))
    return found[::-1]


def _poison(case: Case, lives: Sequence[_Life]) -> Loop | None:
    touched = [life for life in lives if life.place[0]]
    if len(touched) < _LEAST_LIVES:
        return None
    ways = {(life.end.exit_code, life.end.signal) for life in touched}
    same = len({life.place for life in touched}) == len(ways) == 1 and ways != {(0, None)}
    # A service that is out of order kills every worker, whatever the work is.
    if not same or any(life.out_of_order for life in touched):
        return None
    pairs = list(itertools.pairwise(touched))
    if any(life.added_s for _, life in pairs):
        return None
    if all(_only_repeats(life, before) for before, life in pairs):
        left = "none of them recorded anything more"
    elif _only_count(case, touched):
        left = "each of them wrote only what the one before it had written, such as a count of attempts"
    else:
        return None
    return Loop(
        code="poison",
        lives=tuple(life.number for life in touched),
        summary=f"{len(touched)} lives died the same way after {touched[-1].place_text}, and {left}: the work kills "
        f"whatever touches it{_last_words(touched[-1])}",
    )


def _only_repeats(life: _Life, before: _Life) -> bool:
    """Whether a life left nothing behind, or asked and wrote just what the one before it had."""
    if life.kept_store:
        return True
    return bool(life.calls) and life.calls == before.calls and life.records <= before.records


def _only_count(case: Case, lives: Sequence[_Life]) -> bool:
    """Whether what lives wrote that asked for nothing is no sign that one of them got further than another.

    Each wrote the same, and died with the same last words. Either it is nothing that an undisturbed run writes
    step by step, since that writes it once in all; or it is one single write, and they printed the same to the letter:
    a database has one name for all that is written to it.
    """
    first = lives[0]
    if any(life.calls or life.records != first.records or _last_line(life) != _last_line(first) for life in lives):
        return False
    once = {point.name for point in _written(case) if point.occurrence == 1}
    again = {point.name for point in _written(case) if point.occurrence > 1}
    if first.records and all(name in once - again for name, _ in first.records):
        return True
    if any(name in again and name.startswith("file.") for name, _ in first.records):
        return False  # a file that an undisturbed run writes again and again says how far it is
    printed = {life.end.output_tail.strip() for life in lives}
    alike = len(printed) == 1 and printed != {""} and all(life.changes == 1 for life in lives)
    return alike and len(lives) >= _LEAST_LIVES_THAT_COUNT


def _written(case: Case) -> list[CrashPoint]:
    """Return the durable writes that landed in the undisturbed run."""
    points = map(CrashPoint.parse, case.expectation.points)
    return [point for point in points if point.phase is Phase.COMMITTED]


def _slow(lives: Sequence[_Life]) -> Loop | None:
    if len(lives) < _LEAST_LIVES or not all(life.added_s for life in lives[1:]):
        return None
    return Loop(
        code="slow_recovery",
        lives=tuple(life.number for life in lives),
        summary=f"each of {len(lives)} lives got further than the one before, the last to {lives[-1].place_text}; more "
        f"restarts or a longer life may have finished it{_last_words(lives[-1])}",
    )


def _cut_off(case: Case) -> Loop | None:
    """Return what is to be said where the last life ran out of time and was still getting further.

    It was if what it added last, which no life had added before, came in the second half of its time.
    """
    ends = sorted(case.history.ends.values(), key=lambda end: end.seq)
    if not ends or not ends[-1].by_harness:
        return None
    life = _life(case, ends[-1])
    if not life.added_s or life.end.at_s - life.added_s[-1] > life.lasted_s / 2:
        return None
    return Loop(
        code="slow_recovery",
        lives=(life.number,),
        summary=f"life {life.number} was still getting further when its time was over, {life.lasted_s:.3g} s after it "
        f"had begun and {life.end.at_s - life.added_s[-1]:.2g} s after {life.place_text}; a longer life may have "
        f"finished it{_last_words(life)}",
    )


def _life(case: Case, end: IncarnationEnded) -> _Life:
    history, number = case.history, end.incarnation
    start = next((event for event in history.of(Started) if event.incarnation == number), None)
    passages = [event for event in history.passages if event.incarnation == number]
    attempts = [event for event in history.attempts if event.incarnation == number]
    answer = history.answers.get(attempts[-1].attempt) if attempts else None
    place, place_text = _place(case, number)
    return _Life(
        number=number,
        end=end,
        place=place,
        place_text=place_text,
        added_s=tuple(sorted((*_new_points(case, number), *_new_actions(case, number)))),
        calls=tuple((attempt.operation, attempt.payload_digest) for attempt in attempts),
        records=frozenset((event.name, event.occurrence) for event in passages if event.phase is Phase.COMMITTED),
        changes=_changes(start, passages),
        kept_store=start is not None and start.store_digest == end.store_digest != "",
        out_of_order=answer is not None and (answer.status >= 500 or answer.status == 429),
        lasted_s=end.at_s - (start.at_s if start is not None else 0.0),
    )


def _changes(start: Started | None, passages: Sequence[BoundaryReached]) -> int:
    """Return how many durable writes of a life left its store other than the one before had."""
    landed = [event.store_digest for event in passages if event.phase is Phase.COMMITTED]
    before = "" if start is None else start.store_digest
    return sum(one != other for one, other in itertools.pairwise((before, *landed)))


def _place(case: Case, number: int) -> tuple[tuple[str, str], str]:
    """Return where a life was last seen: at a point, or with the answer to a request that has none."""
    place, text = ("", ""), "its start"
    for event in case.history:
        if isinstance(event, BoundaryReached | AttemptReceived) and event.incarnation == number:
            if isinstance(event, BoundaryReached):
                place, text = (event.name, str(event.phase)), event.point_text
            else:
                place, text = (event.operation, "received"), f"{event.operation}#{event.occurrence}"
        elif isinstance(event, AttemptAnswered):
            attempt = case.history.attempt(event.attempt)
            if attempt.incarnation == number:
                place, text = (attempt.operation, "answered"), f"the answer to {attempt.operation}#{attempt.occurrence}"
    return place, text


def _new_points(case: Case, number: int) -> list[float]:
    """Return when a life came to points of the undisturbed run that no life had come to before."""
    expected = frozenset(case.expectation.points)
    seen: set[str] = set()
    times = []
    for event in case.history.passages:
        if event.incarnation == number and event.point_text in expected and event.point_text not in seen:
            times.append(event.at_s)
        seen.add(event.point_text)
    return times


def _new_actions(case: Case, number: int) -> list[float]:
    """Return when a life took expected actions that had not happened before."""
    seen: set[object] = set()
    times = []
    for effect in case.history.effects:
        action = (effect.operation, identity_of(case.history, effect, case.facts(effect.operation)))
        if effect.incarnation == number and action in case.expected_counts and action not in seen:
            times.append(effect.at_s)
        seen.add(action)
    return times


def _last_line(life: _Life) -> str:
    lines = life.end.output_tail.strip().splitlines()
    return lines[-1].strip() if lines else ""


def _last_words(life: _Life) -> str:
    line = _last_line(life)
    return f"; life {life.number} last printed: {line[:300]}" if line else ""
