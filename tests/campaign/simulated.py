"""A worker that exists only on paper: its history under any schedule of kills, in the notation of the judge's tests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from notation import Run, expect, h

from ackgap.campaign.exploration import Exploration
from ackgap.campaign.selection import Selection
from ackgap.judge import judge
from ackgap.model.boundary import Phase
from ackgap.model.event import BoundaryReached, Event
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule

Program = Callable[[Sequence[str], int], Sequence[str]]
"""From the durable writes that have landed, and the tickets that exist, to the steps of a life.

A step is `[name]` (a durable write), `tickets.create`, `search.query` (paid) or `tickets.find` (a read).
"""

CALL_PHASES = ("sending", "received", "applied", "returned")
WRITE_PHASES = ("committing", "committed")


@dataclass
class Worker:
    """One program, and the cells that were run of it.

    Attributes:
        secret: It notes each point that it passes where nobody looks: neither digest nor hooks show that.
    """

    program: Program
    secret: bool = False
    ran: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.expectation = expect(self._peace())
        self.variant = Variant()

    def probe(self) -> History:
        return self._history(Schedule()).history

    def run(self, schedule: Schedule) -> CellResult:
        """Run one cell on paper."""
        run = self._history(schedule)
        self.ran.append(schedule.label)
        return CellResult(
            scenario="paper",
            variant=self.variant,
            schedule=schedule,
            verdict=judge(run.history, self.expectation, schedule),
            incarnations=run.history.incarnations,
            effects=dict(Counter(effect.operation for effect in run.history.effects)),
            settling="settled",
            history=tuple(run.history.to_json()),
        )

    def _peace(self) -> str:
        return " ".join(self.program((), 0))

    def _history(self, schedule: Schedule) -> Run:
        kills = {fault.incarnation: str(fault.point) for fault in schedule.by_life}
        store: list[str] = []
        tickets, secrets, text = 0, 0, []
        for life in range(1, 12):
            text.append(f"{life}> READY(unmoved)")
            steps = self.program([*store, *["secret"] * (secrets * self.secret)], tickets)
            counts: Counter[str] = Counter()
            killed = False
            for step in steps:
                name = step.strip("[]")
                counts[name] += 1
                if step == "tickets.find":
                    text.append(step)
                    continue
                struck = kills.get(life, "")
                phases = WRITE_PHASES if step.startswith("[") else CALL_PHASES
                passed = phases
                if struck.rpartition(":")[0] == f"{name}#{counts[name]}":
                    passed = phases[: phases.index(struck.rpartition(":")[2]) + 1]
                    killed = True
                secrets += len(passed)
                if passed[-1] == "committed":
                    store.append(name)
                tickets += step == "tickets.create" and "applied" in passed
                text.append(step if passed == phases else f"{step}:{passed[-1]}")
                if killed:
                    text.append("KILL")
                    break
            if not killed:
                text.append("DONE")
                return masked(h(" ".join(text), plan=str(schedule)))
        raise AssertionError("more lives than faults")


def masked(run: Run) -> Run:
    """Return the run with digests that other runs can have as well: of which durable writes have landed."""
    landed: list[str] = []
    events: list[Event] = []
    for event in run.history:
        if isinstance(event, BoundaryReached):
            landed += [event.name] if event.phase is Phase.COMMITTED else []
            event = replace(event, masked_digest=" ".join(["store", *dict.fromkeys(landed)]))
        events.append(event)
    return replace(run, history=History(tuple(events)))


def resuming(steps: Sequence[str], *, looks: bool = False) -> Program:
    """Return a program that goes on after its last durable write, and may look before it files a ticket."""

    def program(store: Sequence[str], tickets: int) -> Sequence[str]:
        done = max((steps.index(f"[{name}]") + 1 for name in store if f"[{name}]" in steps), default=0)
        left = list(steps[done:])
        if not store or not looks:
            return left
        return ["tickets.find", *(step for step in left if step != "tickets.create" or not tickets)]

    return program


def explored(
    worker: Worker,
    selection: Selection,
    *,
    prunes: bool = False,
    last_first: bool = False,
    lives_alike: bool = True,
) -> tuple[dict[str, CellResult], Exploration, list[str]]:
    """Run all of an exploration on paper; return results by cell, the exploration and what broke."""
    exploration = Exploration(selection, prunes=prunes, lives_alike=lives_alike)
    waiting = list(exploration.begin(worker.expectation.points, worker.probe()))
    found: dict[str, CellResult] = {}
    broken = []
    while waiting:
        schedule = waiting.pop(-1 if last_first else 0)
        step = exploration.take(schedule, worker.run(schedule))
        waiting += step.run
        broken += [step.broken] if step.broken else []
        for result in step.known:
            assert result.cell not in found
            found[result.cell] = replace(result, history=())
    assert not exploration.flush()
    return found, exploration, broken


def verdicts(found: dict[str, CellResult]) -> dict[str, str]:
    return {cell: result.verdict.kind.value for cell, result in found.items()}


def phase_of(cell: str) -> str:
    return re.split(r"[:@]", cell)[1]
