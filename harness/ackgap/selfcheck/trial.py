"""A trial: one agent in one slot, undisturbed twice and then struck at every point, until the judge sees something."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ackgap.campaign.cell import run_raw
from ackgap.campaign.probe import yardstick
from ackgap.campaign.pruning import why_not_pruned
from ackgap.errors import ProbeFailed
from ackgap.execute.order import Order
from ackgap.judge import judge
from ackgap.model.boundary import Phase
from ackgap.model.event import IncarnationEnded
from ackgap.model.expectation import Expectation
from ackgap.model.history import History
from ackgap.model.manner import Manner
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Verdict, VerdictKind
from ackgap.plan.exhaustive import every_point_once
from ackgap.plan.states import CrashState, crash_states, leaves_only_state
from ackgap.selfcheck.seen import Seen, seen_in

__all__ = ["TRAP_STATUS", "Judge", "Trial", "TrialCell", "TrialResult", "run_trial"]

TRAP_STATUS = 97
"""What a trapped agent exits with when it comes to the line that is asked about."""
Judge = Callable[[History, Expectation, Schedule], Verdict]

_MOST_TELLING = (Phase.APPLIED, Phase.COMMITTING, Phase.COMMITTED, Phase.RETURNED, Phase.RECEIVED, Phase.SENDING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """An agent to be tried.

    Attributes:
        order: Its scenario, variant and profiles.
        manners: What is done at every point.
        isolated: The slot is in a network of its own.
        all_cells: Cells of the agent that is right; none where they are to be found out. With some, the first cell that
            is caught is the last.
        ok_cells: Those of them in which it is ok.
        judge: Says what a history proves.
    """

    order: Order
    manners: tuple[Manner, ...]
    isolated: bool
    all_cells: frozenset[str] = frozenset()
    ok_cells: frozenset[str] = frozenset()
    judge: Judge = judge


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialCell:
    """What came of one cell.

    Attributes:
        schedule: Text of its schedule.
        verdict: What the judge says.
        headline: And why.
        seen: What the outside world saw.
        remarks: Codes of what the judge remarks without a verdict.
        trapped: One of its lives came to the line that a trap was set at.
    """

    schedule: str
    verdict: VerdictKind
    headline: str
    seen: Seen
    remarks: tuple[str, ...] = ()
    trapped: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """What came of a trial.

    Attributes:
        peace: The undisturbed run; None where it failed.
        failed: Why the undisturbed run counts for nothing, empty where it counts.
        trapped: An undisturbed run came to the line that a trap was set at.
        cells: Those that were run; the last is the one that was caught, where one was.
        caught: The judge saw something in a cell in which the agent that is right is ok.
        modules: What a warm parent imports.
        keyed: By operation, whether the service looks at keys.
        natural: By operation, whether it looks at what a request is about.
    """

    peace: TrialCell | None = None
    failed: str = ""
    trapped: bool = False
    cells: tuple[TrialCell, ...] = ()
    caught: bool = False
    modules: tuple[str, ...] = ()
    keyed: Mapping[str, bool] = field(default_factory=dict)
    natural: Mapping[str, bool] = field(default_factory=dict)


def run_trial(trial: Trial) -> TrialResult:
    """Try an agent in this process's slot.

    Raises:
        AckgapError: A cell could not be run.
    """
    # What the agent that is right does is known of every point; a mutant is struck once in each crash state.
    prunes = bool(trial.all_cells) and not why_not_pruned(trial.order.scenario)
    order = dataclasses.replace(trial.order, probe=True, whole_store=prunes)
    first = run_raw(order)
    warm = order.warm or first.modules
    order = dataclasses.replace(order, warm=warm)
    second = run_raw(dataclasses.replace(order, drift=1))
    try:
        expectation = yardstick(order, first.history, second.history, isolated=trial.isolated)
    except ProbeFailed as error:
        return TrialResult(failed=error.what, trapped=_is_trapped(first.history), modules=warm)
    order = dataclasses.replace(order, probe=False)
    result = TrialResult(
        peace=_judged(trial, order, expectation, first.history),
        modules=warm,
        keyed={name: facts.honours_keys for name, facts in expectation.operations.items()},
        natural={name: facts.honours_natural_key for name, facts in expectation.operations.items()},
    )
    cells: list[TrialCell] = []
    states = crash_states(first.history) if prunes else {}
    for schedule in _schedules(expectation.points, trial.manners, states):
        mine = dataclasses.replace(order, schedule=schedule)
        cells.append(_judged(trial, mine, expectation, run_raw(mine).history))
        if _is_catch(trial, cells[-1]):
            return dataclasses.replace(result, cells=tuple(cells), caught=True)
    return dataclasses.replace(result, cells=tuple(cells))


def _is_catch(trial: Trial, cell: TrialCell) -> bool:
    """Whether the judge saw something where it sees nothing in the agent that is right."""
    if not trial.all_cells or cell.verdict in (VerdictKind.OK, VerdictKind.INCONCLUSIVE):
        return False
    return cell.schedule in trial.ok_cells or cell.schedule not in trial.all_cells


def _schedules(
    points: Sequence[str], manners: Sequence[Manner], states: Mapping[str, CrashState]
) -> Iterator[Schedule]:
    """Yield every schedule, those first that tell most; of kills that leave the same state behind only one."""

    def place(schedule: Schedule) -> tuple[int, int]:
        fault = schedule.faults[0]
        phase = fault.point.phase
        return manners.index(fault.manner), _MOST_TELLING.index(phase) if phase in _MOST_TELLING else len(_MOST_TELLING)

    left: set[tuple[Manner, CrashState]] = set()
    for schedule in sorted(every_point_once(points, (), manners), key=place):
        fault = schedule.faults[0]
        state = states.get(str(fault.point)) if leaves_only_state(fault.manner) else None
        if state is None or (fault.manner, state) not in left:
            yield schedule
        if state is not None:
            left.add((fault.manner, state))


def _judged(trial: Trial, order: Order, expectation: Expectation, history: History) -> TrialCell:
    verdict = trial.judge(history, expectation, order.schedule)
    return TrialCell(
        schedule=str(order.schedule),
        verdict=verdict.kind,
        headline=verdict.headline,
        seen=seen_in(history, order.scenario.approvals),
        remarks=tuple(finding.code for finding in verdict.findings if finding.kind is None),
        trapped=_is_trapped(history),
    )


def _is_trapped(history: History) -> bool:
    return any(event.exit_code == TRAP_STATUS for event in history.of(IncarnationEnded))
