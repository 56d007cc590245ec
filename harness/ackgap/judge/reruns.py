"""How a step came to run again: by a recovery, beside another one, or by a worker that had been asleep or cut off.

What could have kept a life from it is only what it could know: a durable write that had landed before it sent the
repeat. Where two lives run beside each other their order in the history decides, and not which of them began first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ackgap.judge.case import Case
from ackgap.model.boundary import Phase
from ackgap.model.event import AttemptReceived, BoundaryReached, EffectApplied, IncarnationStarted
from ackgap.model.manner import FaultKind

__all__ = ["how_it_ran_again"]

_Pair = tuple[EffectApplied, EffectApplied]


def how_it_ran_again(case: Case, effects: Sequence[EffectApplied]) -> str:
    """Return in one sentence why these effects, in their order, are more than one life's."""
    pairs = list(_pairs(effects))
    if not pairs:
        return "no recovery was involved: the repeats came from one life"
    told = [_of(case, *pair) for pair in pairs]
    return next((text for text, recorded in told if recorded), told[0][0])


def _pairs(effects: Sequence[EffectApplied]) -> Iterator[_Pair]:
    """Yield each effect with the last one before it that another life had made."""
    for index, effect in enumerate(effects):
        before = [other for other in effects[:index] if other.incarnation != effect.incarnation]
        if before:
            yield before[-1], effect


def _of(case: Case, first: EffectApplied, again: EffectApplied) -> tuple[str, bool]:
    """Return how a step ran again, and whether the life that ran it could have known better."""
    one, other = first.incarnation, again.incarnation
    away = _away(case, other, first.seq)
    if away is not None:
        was, again_there = ("cut off", "was connected again") if away is FaultKind.DISCONNECT else ("paused", "woke up")
        text = (
            f"no recovery ran the step again: life {other}, which had been {was}, took it as well when it "
            f"{again_there}, after life {one} had"
        )
        return text, False
    known_until = _sent_after(case, case.history.attempt(again.attempt))
    if case.recorded_before(case.history.attempt(first.attempt), known_until):
        return "recovery ran the step again, although something durable had been written after its answer", True
    if other in case.rivals(one):
        text = (
            f"lives {min(one, other)} and {max(one, other)} recovered at once and both ran the step: nothing had "
            "recorded that it was done when the second of them came to it"
        )
        return text, False
    return "recovery ran the step again (at least once): nothing had recorded that it was done", False


def _away(case: Case, life: int, seq: int) -> FaultKind | None:
    """Return what had taken a life out of the way before an event, so that what it does later it does after that."""
    for event in case.history.faults:
        planned = case.planned(event)
        if event.incarnation == life and event.seq < seq and planned is not None and planned.kind.overlaps:
            return planned.kind
    return None


def _sent_after(case: Case, attempt: AttemptReceived) -> int:
    """Return when a life was last seen before it sent a request: what had landed by then it could have read."""
    life, sent = attempt.incarnation, attempt.seq
    seen = 0
    for event in case.history:
        if event.seq >= sent:
            break
        if isinstance(event, IncarnationStarted | BoundaryReached) and event.incarnation == life:
            if isinstance(event, BoundaryReached) and event.phase is Phase.SENDING and _is(event, attempt):
                break
            seen = event.seq
    return seen


def _is(event: BoundaryReached, attempt: AttemptReceived) -> bool:
    return (event.name, event.occurrence) == (attempt.operation, attempt.occurrence)
