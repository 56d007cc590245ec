"""What results of runs say about the claims of engines: counts over the histories of cells, nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

from ackgap.model.boundary import Phase
from ackgap.model.event import (
    BoundaryReached,
    CheckReported,
    EngineReported,
    IncarnationEnded,
    InjectorReady,
)
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.verdict import Colour
from ackgap.report.store import Run

CALL_OF_STEP = {
    "write_words": "model.chat",
    "request": "model.chat",
    "file_ticket": "tickets.create",
    "create_ticket": "tickets.create",
    "notify": "desk.send",
    "tell_desk": "desk.send",
    "insert_ticket": "",
}
"""The call that a step of the agents makes, by the last part of the name under which an engine records the step.

A step without a call is known by its record alone.
"""
GAP = ("tickets.create#1:applied", "tickets.create#1:returned")
NEXT = ("desk.send#1:received",)
AT_FIRST_S = 10
"""Real seconds in which requests are counted of a program that does not give up."""


@dataclass(frozen=True)
class Again:
    """How much of what was done before a kill was done once more after it.

    Attributes:
        kills: Cells that were looked at.
        done: What counts as done before the kill, over all of them.
        again: How much of that later lives did once more.
    """

    kills: int
    done: int
    again: int


def killed(run: Run, modes: Collection[str], points: Collection[str] = ()) -> Iterator[tuple[CellResult, History]]:
    """Yield the cells in which a life was killed, with their histories; those that prove nothing are left out.

    Args:
        run: Results.
        modes: Only those of these modes.
        points: Only those killed at one of these points; any where there are none.
    """
    for cell in run.cells:
        if not cell.schedule.faults or cell.variant["mode"] not in modes or cell.verdict.kind.colour is Colour.GREY:
            continue
        if not points or str(cell.schedule.faults[0].point) in points:
            yield cell, run.history(cell.cell)


def undisturbed(run: Run, variant: Variant) -> History:
    """Return the history of a variant's undisturbed run."""
    return run.history(f"undisturbed@{variant}")


def recorded_again(run: Run, record: str, modes: Collection[str]) -> Again:
    """Count steps that an engine had recorded before a kill, and those of them that later lives did once more.

    A step that was not recorded may be done again, once; what goes beyond that is a recorded one. A step is known by
    its call, as the target has seen it.

    Args:
        run: Results.
        record: How names of records of steps begin, such as `dbos.step.`.
        modes: Only cells of these modes.
    """
    kills = done = again = 0
    for cell, history in killed(run, modes):
        kills += 1
        recorded = Counter(CALL_OF_STEP[step] or step for step in recorded_steps(history, record, 1))
        done += recorded.total()
        again += repeated(acts(undisturbed(run, cell.variant), record), acts(history, record, later=True), recorded)
    return Again(kills, done, again)


def called_again(run: Run, operation: str, mode: str, points: Collection[str]) -> Again:
    """Count calls that had been answered, or had taken effect, before a kill, and those that later lives made again."""
    kills = done = again = 0
    for cell, history in killed(run, [mode], points):
        kills += 1
        served = Counter(
            event.operation
            for event in history.attempts
            if event.incarnation == 1 and event.operation == operation and history.served(event.attempt)
        )
        done += served.total()
        again += repeated(acts(undisturbed(run, cell.variant)), acts(history, later=True), served)
    return Again(kills, done, again)


def repeated(needed: Counter[str], later: Counter[str], done: Counter[str]) -> int:
    """Return how much of what was done before a kill was done again after it.

    Args:
        needed: What the work needs, as an undisturbed run shows.
        later: What later lives did.
        done: What was done before.
    """
    return sum(max(0, later[name] - (needed[name] - count)) for name, count in done.items())


def acts(history: History, record: str = "", *, later: bool = False) -> Counter[str]:
    """Count calls by operation, and recorded steps that make none by name; of later lives than the first, or of all."""
    lives = range(2 if later else 1, history.incarnations + 1)
    found = Counter(event.operation for event in history.attempts if event.incarnation in lives)
    if record:
        found.update(step for life in lives for step in recorded_steps(history, record, life) if not CALL_OF_STEP[step])
    return found


def recorded_steps(history: History, record: str, incarnation: int) -> list[str]:
    """Return the steps of the agents that a life had recorded durably, by the last part of their names."""
    names = [
        event.name.rpartition(".")[2]
        for event in history.of(BoundaryReached)
        if event.incarnation == incarnation and event.phase is Phase.COMMITTED and event.name.startswith(record)
    ]
    return [name for name in names if name in CALL_OF_STEP]


def records(history: History, prefix: str) -> int:
    """Return how many durable writes whose names begin so an undisturbed run has made."""
    return sum(
        event.phase is Phase.COMMITTED and event.name.startswith(prefix) for event in history.of(BoundaryReached)
    )


def later_calls(history: History) -> int:
    """Return how many requests came from later lives than the first."""
    return sum(event.incarnation > 1 for event in history.attempts)


def told(history: History) -> str:
    """Return what the engine said of the work in the end, or the check that asked it."""
    words = [event.text for event in history if isinstance(event, EngineReported) and event.text]
    words += [event.text for event in history.of(CheckReported) if event.text]
    return words[-1].removeprefix("says that ") if words else ""


def held(run: Run, mode: str) -> str:
    """Return what came of holding a durable write back in a mode, as the run has noted it; empty where none was."""
    begin = f"mode={mode} is in force: "
    return next((note.removeprefix(begin).rstrip(".") for note in run.info.notes if note.startswith(begin)), "")


@dataclass(frozen=True)
class Patience:
    """How often a program asked a model that refused every request.

    Attributes:
        requests: Of each start of the program.
        ends: How each start ended: `gave up with exit status 1`, `still at it after 30 s`.
        at_first: How many requests came within `AT_FIRST_S` of the first.
        watched_s: From the first request to the end of all.
    """

    requests: tuple[int, ...]
    ends: tuple[str, ...]
    at_first: int
    watched_s: float

    @property
    def gave_up(self) -> bool:
        """Whether the first start ended by itself."""
        return self.ends[0].startswith("gave up")


def patience(history: History) -> Patience:
    """Count the requests of each start of a program, as `scenarios/engines/model-refuses` runs it.

    The first Python process of such a run only starts the others; each start after the first is a process more.
    """
    (end,) = history.of(IncarnationEnded)
    ends = tuple(re.findall(r"^start \d+: (.+)$", end.output_tail, re.MULTILINE))
    processes = [event.seq for event in history.of(InjectorReady)]
    begun = processes[len(processes) - len(ends) + 1 :]
    asked = [event for event in history.attempts if event.target == "model"]
    edges = [0, *begun, float("inf")]
    requests = tuple(sum(low < event.seq < high for event in asked) for low, high in pairwise(edges))
    began_s = asked[0].at_s
    at_first = sum(event.at_s - began_s <= AT_FIRST_S for event in asked)
    return Patience(requests, ends, at_first, end.at_s - began_s)


@dataclass(frozen=True)
class Left:
    """What a LangGraph worker has left in its store: rows, and bytes in them."""

    checkpoints: int
    writes: int
    size_bytes: int


def left(history: History) -> Left:
    """Read what the check of `scenarios/engines/langgraph-leaves` has counted."""
    (report,) = history.of(CheckReported)
    found = {
        table: (int(rows), int(size))
        for table, rows, size in re.findall(r"^(\w+): (\d+) rows, (\d+) bytes$", report.text, re.MULTILINE)
    }
    return Left(found["checkpoints"][0], found["writes"][0], sum(size for _, size in found.values()))
