"""History: the ordered, immutable events of one run, and the questions that may be asked of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from ackgap.model.boundary import Boundary
from ackgap.model.event import (
    AttemptAnswered,
    AttemptDropped,
    AttemptReceived,
    BoundaryReached,
    Decision,
    EffectApplied,
    Event,
    FaultInjected,
    IncarnationEnded,
    IncarnationStarted,
    Json,
    WorkFinished,
)
from ackgap.model.event_codec import event_from_json, event_to_json

__all__ = ["History"]

E = TypeVar("E", bound=Event)


@dataclass(frozen=True)
class History:
    """What happened in one run, in the order in which the supervisor saw it."""

    events: tuple[Event, ...]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)

    def of(self, kind: type[E]) -> tuple[E, ...]:
        """Return the events of one type, in order."""
        return tuple(event for event in self.events if isinstance(event, kind))

    @cached_property
    def attempts(self) -> tuple[AttemptReceived, ...]:
        """Every request that reached a target."""
        return self.of(AttemptReceived)

    @cached_property
    def effects(self) -> tuple[EffectApplied, ...]:
        """Every change of the outside world."""
        return self.of(EffectApplied)

    @cached_property
    def answers(self) -> dict[int, AttemptAnswered]:
        """Answers by attempt."""
        return {event.attempt: event for event in self.of(AttemptAnswered)}

    @cached_property
    def drops(self) -> dict[int, AttemptDropped]:
        """Attempts that ended without an answer."""
        return {event.attempt: event for event in self.of(AttemptDropped)}

    @cached_property
    def faults(self) -> tuple[FaultInjected, ...]:
        """Every fault that struck."""
        return self.of(FaultInjected)

    @cached_property
    def ends(self) -> dict[int, IncarnationEnded]:
        """The end of each life that is over, by incarnation."""
        return {event.incarnation: event for event in self.of(IncarnationEnded)}

    def served(self, attempt: int) -> bool:
        """Whether a target did what an attempt asked for, whether or not the answer arrived."""
        answer = self.answers.get(attempt) or self.drops.get(attempt)
        return answer is not None and answer.decision in (Decision.APPLIED, Decision.READ)

    def paid_counts(self) -> dict[str, int]:
        """Return how many attempts of each paid operation were served, and so charged."""
        return dict(Counter(event.operation for event in self.attempts if event.paid and self.served(event.attempt)))

    @property
    def incarnations(self) -> int:
        """How many lives there were."""
        return len(self.of(IncarnationStarted))

    @property
    def finished(self) -> bool:
        """Whether the work counts as finished."""
        return bool(self.of(WorkFinished))

    @cached_property
    def passages(self) -> tuple[BoundaryReached, ...]:
        """Every phase of every boundary that was reached."""
        return self.of(BoundaryReached)

    def boundaries(self, incarnation: int = 1) -> tuple[Boundary, ...]:
        """Return the boundaries of one life in the order in which they were first reached."""
        return tuple(dict.fromkeys(event.boundary for event in self.passages if event.incarnation == incarnation))

    def attempt(self, number: int) -> AttemptReceived:
        """Return one attempt.

        Raises:
            KeyError: No attempt has that number.
        """
        return self._attempts_by_number[number]

    @cached_property
    def _attempts_by_number(self) -> dict[int, AttemptReceived]:
        return {event.attempt: event for event in self.attempts}

    def to_json(self) -> list[dict[str, Json]]:
        """Return the events as JSON objects."""
        return [event_to_json(event) for event in self.events]

    @classmethod
    def from_json(cls, documents: Sequence[dict[str, Json]]) -> History:
        """Read what `to_json` wrote.

        Raises:
            ValueError: An object is not an event of this version.
        """
        return cls(events=tuple(event_from_json(document) for document in documents))
