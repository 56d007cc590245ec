"""Case: what a judge looks at, and the questions that several oracles ask of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from ackgap.model.boundary import CrashPoint, Phase
from ackgap.model.event import AttemptReceived, BoundaryReached, EffectApplied, FaultInjected
from ackgap.model.expectation import Expectation, OperationFacts
from ackgap.model.history import History
from ackgap.model.identity import Identity, identity_of
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding

__all__ = ["Case", "Oracle", "noun"]


@dataclass(frozen=True)
class Case:
    """One run with its yardstick."""

    history: History
    expectation: Expectation
    schedule: Schedule

    def facts(self, operation: str) -> OperationFacts | None:
        """Return what is known of an operation."""
        return self.expectation.operations.get(operation)

    @cached_property
    def effects_by_identity(self) -> dict[tuple[str, Identity], list[EffectApplied]]:
        """Effects of the run by logical action, in order."""
        groups: defaultdict[tuple[str, Identity], list[EffectApplied]] = defaultdict(list)
        for effect in self.history.effects:
            identity = identity_of(self.history, effect, self.facts(effect.operation))
            groups[effect.operation, identity].append(effect)
        return dict(groups)

    @cached_property
    def expected_counts(self) -> dict[tuple[str, Identity], int]:
        """Expected effects by logical action."""
        return {
            (expected.operation, tuple(sorted(expected.identity.items()))): expected.count
            for expected in self.expectation.effects
        }

    def unrecorded(self, fault: FaultInjected) -> list[AttemptReceived]:
        """Return the attempts of a struck life that its durable store did not know as done when the fault struck.

        An attempt counts as recorded once a durable write has landed after its answer: by the hooks inside the
        worker where there are any, else by a change of the store's digest.
        """
        found = []
        for attempt in self.history.attempts:
            if attempt.incarnation == fault.incarnation and attempt.seq < fault.seq:
                done = self._done_at(attempt)
                if done is None or done > fault.seq or not self._recorded_between(done, fault):
                    found.append(attempt)
        return found

    def _done_at(self, attempt: AttemptReceived) -> int | None:
        """Return when the worker could first know the outcome: `returned` where seen, else the answer."""
        for passage in self.history.passages:
            if passage.attempt == attempt.attempt and passage.phase is Phase.RETURNED:
                return passage.seq
        answer = self.history.answers.get(attempt.attempt)
        return None if answer is None else answer.seq

    def _recorded_between(self, done: int, fault: FaultInjected) -> bool:
        life = [passage for passage in self.history.passages if passage.incarnation == fault.incarnation]
        if any(passage.phase is Phase.COMMITTED for passage in life):
            return any(self._records(passage) and done < passage.seq < fault.seq for passage in life)
        before = [passage.store_digest for passage in life if passage.seq <= done]
        return bool(before) and before[-1] != fault.store_digest

    def _records(self, passage: BoundaryReached) -> bool:
        """Whether a durable write has landed there, other than that of a file which is about to replace another."""
        if passage.phase is not Phase.COMMITTED:
            return False
        following = self.next_point_in_probe(passage.boundary.at(passage.phase))
        prepares = following is not None and following.name.startswith("file.") and following.name.endswith(".replace")
        return not (prepares and passage.name.endswith(".write"))

    def point_of(self, fault: FaultInjected) -> CrashPoint | None:
        """Return the crash point of a fault that struck."""
        planned = self.schedule.fault_in(fault.incarnation)
        return None if planned is None else planned.point

    def next_point_in_probe(self, point: CrashPoint) -> CrashPoint | None:
        """Return the point that follows in the undisturbed run."""
        points = self.expectation.points
        text = str(point)
        if text not in points or points.index(text) + 1 >= len(points):
            return None
        return CrashPoint.parse(points[points.index(text) + 1])

    def passage_of(self, attempt: int, phase: Phase) -> BoundaryReached | None:
        """Return the event at which an attempt reached a phase."""
        for passage in self.history.passages:
            if passage.attempt == attempt and passage.phase is phase:
                return passage
        return None


Oracle = Callable[[Case], Iterable[Finding]]


def noun(facts: OperationFacts | None, operation: str, count: int) -> str:
    """Return what `count` effects are called: `ticket`, `tickets`."""
    if facts is None or not facts.noun[0]:
        name = f"effect of {operation}"
        return name if count == 1 else name.replace("effect", "effects", 1)
    return facts.noun[0 if count == 1 else 1]
