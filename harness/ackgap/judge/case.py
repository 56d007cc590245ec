"""Case: what a judge looks at, and the questions that several oracles ask of it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from ackgap.model.boundary import CrashPoint, Phase
from ackgap.model.event import AttemptReceived, BoundaryReached, EffectApplied, FaultInjected, IncarnationEnded, Note
from ackgap.model.expectation import Expectation, ExpectedEffect, OperationFacts
from ackgap.model.history import History
from ackgap.model.identity import Identity, identity_of
from ackgap.model.manner import FaultKind
from ackgap.model.schedule import Fault, Schedule
from ackgap.model.verdict import Finding

__all__ = ["Case", "Oracle", "noun"]

_OFF = "toxic_off"
"""Code of the note that a fault of the network is over."""


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
        return {_action(expected): expected.count for expected in self.expectation.effects}

    @cached_property
    def expected_copies(self) -> dict[tuple[str, Identity], int]:
        """How many effects of a learned action may be equal in every field."""
        return {_action(expected): expected.copies for expected in self.expectation.effects}

    @cached_property
    def declared(self) -> frozenset[tuple[str, Identity]]:
        """Actions of which somebody declared how often they happen."""
        return frozenset(_action(expected) for expected in self.expectation.effects if expected.declared)

    def unrecorded(self, event: FaultInjected | IncarnationEnded) -> list[AttemptReceived]:
        """Return the attempts of a life that its durable store did not know as done when it was struck, or ended.

        An attempt counts as recorded once a durable write has landed after its answer: by the hooks inside the
        worker where there are any, else by a change of the store's digest. After a fault of the network the life goes
        on: what counts then is what it has not heard the outcome of, whenever it asked.
        """
        if isinstance(event, FaultInjected) and self.disturbs_network(event):
            return [
                attempt
                for attempt in self.history.attempts
                if self._met_disturbance(attempt, event) and not self._heard(attempt, event)
            ]
        found = []
        for attempt in self.history.attempts:
            if attempt.incarnation == event.incarnation and attempt.seq < event.seq:
                done = self._done_at(attempt)
                if done is None or done > event.seq or not self._recorded_between(event.incarnation, done, event):
                    found.append(attempt)
        return found

    def disturbs_network(self, fault: FaultInjected) -> bool:
        """Whether a fault was one of the network, so that what a target answered need not have reached the worker."""
        planned = self.planned(fault)
        return planned is not None and planned.kind is FaultKind.TOXIC

    def _met_disturbance(self, attempt: AttemptReceived, fault: FaultInjected) -> bool:
        """Whether an attempt is of the life that a fault of the network struck, or of a later one while that lasted."""
        return attempt.incarnation == fault.incarnation or fault.seq < attempt.seq < self._over_at(fault)

    def _heard(self, attempt: AttemptReceived, fault: FaultInjected) -> bool:
        """Whether an answer has surely reached its life, although a fault of the network struck."""
        announced = (Phase.SENDING, Phase.RETURNED)
        if any(p.incarnation == attempt.incarnation and p.phase in announced for p in self.history.passages):
            return self.passage_of(attempt.attempt, Phase.RETURNED) is not None
        answer = self.history.answers.get(attempt.attempt)
        return answer is not None and not fault.seq < answer.seq < self._over_at(fault)

    def _over_at(self, fault: FaultInjected) -> float:
        """Return when what a fault of the network had switched on was off again; infinity where that is not told."""
        planned = self.planned(fault)
        begins = f"network: {planned.manner.name} is off again" if planned is not None else ""
        ends = (note.seq for note in self.history.of(Note) if note.code == _OFF and note.text.startswith(begins))
        return next((seq for seq in ends if seq > fault.seq), math.inf)

    def recorded_before(self, attempt: AttemptReceived, seq: int) -> bool:
        """Whether the life of an attempt had written something durable after its answer, and before an event."""
        done, life = self._done_at(attempt), attempt.incarnation
        faults = [fault for fault in self.history.faults if fault.incarnation == life and fault.seq <= seq]
        end = self.history.ends.get(life)
        ended = faults[-1] if faults else end if end is not None and end.seq <= seq else None
        return done is not None and done < seq and self._recorded_between(life, done, ended, until=seq)

    def _done_at(self, attempt: AttemptReceived) -> int | None:
        """Return when the worker could first know the outcome: `returned` where seen, else the answer."""
        for passage in self.history.passages:
            if passage.attempt == attempt.attempt and passage.phase is Phase.RETURNED:
                return passage.seq
        disturbed = [fault for fault in self.history.faults if self.disturbs_network(fault)]
        if any(self._met_disturbance(attempt, fault) and not self._heard(attempt, fault) for fault in disturbed):
            return None
        answer = self.history.answers.get(attempt.attempt)
        return None if answer is None else answer.seq

    def _recorded_between(
        self, life: int, done: int, event: FaultInjected | IncarnationEnded | None, *, until: int = 0
    ) -> bool:
        """Whether something durable landed after an answer, until a life was struck or ended, or until earlier."""
        passages = [passage for passage in self.history.passages if passage.incarnation == life]
        if any(passage.phase in (Phase.COMMITTING, Phase.COMMITTED) for passage in passages):
            # Hooks see its writes. What else has changed is what opening a file for the first write leaves behind.
            until = until or (0 if event is None else event.seq)
            return any(self._records(passage) and done < passage.seq <= until for passage in passages)
        before = [passage.store_digest for passage in passages if passage.seq <= done]
        return event is not None and bool(before) and before[-1] != event.store_digest

    def _records(self, passage: BoundaryReached) -> bool:
        """Whether a durable write has landed there, other than that of a file which is about to replace another."""
        if passage.phase is not Phase.COMMITTED:
            return False
        if not passage.name.startswith("file.") or not passage.name.endswith(".write"):
            return True
        following = self.next_point_in_probe(passage.boundary.at(passage.phase))
        if following is not None and following.name.startswith("file.") and following.name.endswith(".replace"):
            return False
        # With threads, another thread's point may follow: a file that another one's name begins replaces that.
        written = passage.name.removesuffix(".write")
        return not any(written.startswith(f"{name}.") for name in self._replaced)

    @cached_property
    def _replaced(self) -> frozenset[str]:
        names = (CrashPoint.parse(point).name for point in self.expectation.points)
        return frozenset(
            name.removesuffix(".replace") for name in names if name.startswith("file.") and name.endswith(".replace")
        )

    def point_of(self, fault: FaultInjected) -> CrashPoint | None:
        """Return the crash point of a fault that struck."""
        planned = self.planned(fault)
        return None if planned is None else planned.point

    def planned(self, fault: FaultInjected) -> Fault | None:
        """Return the fault of the schedule that struck."""
        mine = self.schedule.faults_in(fault.incarnation)
        return next((each for each in mine if str(each) == fault.fault), None)

    def rivals(self, incarnation: int) -> frozenset[int]:
        """Return the lives that began at once with one, itself among them, after a fault with several heirs."""
        for fault in self.schedule.faults:
            group = range(fault.incarnation + 1, fault.incarnation + 1 + fault.manner.heirs)
            if fault.manner.heirs > 1 and incarnation in group:
                return frozenset(group)
        return frozenset({incarnation})

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


def _action(expected: ExpectedEffect) -> tuple[str, Identity]:
    """Return the logical action that is expected, as effects are grouped by it."""
    return expected.operation, tuple(sorted(expected.identity.items()))


Oracle = Callable[[Case], Iterable[Finding]]


def noun(facts: OperationFacts | None, operation: str, count: int) -> str:
    """Return what `count` effects are called: `ticket`, `tickets`."""
    if facts is None or not facts.noun[0]:
        name = f"effect of {operation}"
        return name if count == 1 else name.replace("effect", "effects", 1)
    return facts.noun[0 if count == 1 else 1]
