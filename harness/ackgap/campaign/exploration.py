"""Exploration of one variant: which schedules are run, which follow from what a run showed, which need no run.

It starts nothing and touches no file. A campaign asks it what to run (`begin`), tells it of each result (`take`), and
hands on what it says is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from ackgap.campaign.sample import Sample, disagreement
from ackgap.campaign.selection import Selection
from ackgap.campaign.shard import RowNumbers
from ackgap.judge.across import order_dependent
from ackgap.model.history import History
from ackgap.model.manner import PLAIN_KILL, Manner
from ackgap.model.matrix import CellResult
from ackgap.model.schedule import Fault, Schedule
from ackgap.model.verdict import VerdictKind
from ackgap.plan.deeper import faults_in_recovery, goes_deeper
from ackgap.plan.orders import in_usual_order, other_orders
from ackgap.plan.states import (
    CommonState,
    CrashState,
    common_states,
    crash_states,
    leaves_only_state,
    state_at_death,
)

__all__ = ["Exploration", "Fate", "Step"]

ORDER_IMPOSSIBLE = "order_impossible"
"""Code of the finding that one write never came while another was held."""
_DOUBTS = frozenset({"in_doubt", "doubt_without_cause"})
"""Findings that look at more than the crash state: at the point that the worker was about to come to."""


class Fate(Enum):
    """What became of a schedule."""

    WAITING = "waiting"
    RAN = "ran"
    EQUAL = "equal"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What follows from a result.

    Attributes:
        known: Results to hand on, in this order.
        run: Schedules to run.
        broken: Why equal crash states turned out to be different; empty where nothing did.
    """

    known: tuple[CellResult, ...] = ()
    run: tuple[Schedule, ...] = ()
    broken: str = ""


class Exploration:
    """Explores one variant.

    Args:
        selection: Within which bounds.
        prunes: Take points with equal crash states for one.
        lives_alike: Nothing around the worker depends on the number of its life, so that a recovery which is struck
            before it has changed anything is followed by an equal one.
        rows: Which of the schedules to begin with are to be run here; all of them where it is None.
    """

    def __init__(
        self, selection: Selection, *, prunes: bool = False, lives_alike: bool = False, rows: RowNumbers | None = None
    ) -> None:
        self._selection = selection
        self._rows = rows
        self._prunes = prunes
        self._lives_alike = lives_alike
        self.points: tuple[str, ...] = ()
        self.fates: dict[Schedule, Fate] = {}
        """In the order in which they were planned."""
        self.sample = Sample()
        self.unexplored: set[Schedule] = set()
        """Those whose recovery could be struck again, and was not, since their own cell proves nothing."""
        self.checked_in_vain = 0
        """Schedules that ran only to see whether states are equal, and that prove nothing."""
        self._named = frozenset(selection.schedules)
        self._leaders: dict[Schedule, Schedule] = {}
        self._followers: dict[Schedule, list[Schedule]] = {}
        self._common: dict[CommonState, Schedule] = {}
        self._audits: dict[Schedule, Schedule] = {}
        self._children: dict[Schedule, tuple[Fault, ...]] = {}
        self._results: dict[Schedule, CellResult] = {}
        self._trusted: set[Schedule] = set()
        self._held_back: dict[Schedule, list[CellResult]] = {}
        self._known: list[CellResult] = []
        self._run: list[Schedule] = []

    @property
    def planned(self) -> int:
        """How many cells there are, as far as is known."""
        return sum(fate is not Fate.IMPOSSIBLE for fate in self.fates.values())

    @property
    def audited(self) -> int:
        """How many schedules ran only to see whether states that look equal are."""
        return sum(self.fates[schedule] is Fate.RAN for schedule in self._audits)

    def begin(self, points: tuple[str, ...], probe: History) -> tuple[Schedule, ...]:
        """Return what to run first.

        Args:
            points: Those that every undisturbed run passes.
            probe: The undisturbed run.
        """
        self.points = points
        chosen = list(self._selection.chosen(points))
        if self._selection.orders:
            chosen += other_orders(probe, points, self._selection.points)
        if self._rows is not None:
            chosen = list(self._rows.own(chosen))
        states = crash_states(probe) if self._prunes else {}
        self._plan(chosen, states, self._common_states(probe, 1))
        self.sample.expect([follower for followers in self._followers.values() for follower in followers])
        return self._taken().run

    def take(self, schedule: Schedule, result: CellResult) -> Step:
        """Take note of the result of a schedule that was to be run."""
        impossible = any(finding.code == ORDER_IMPOSSIBLE for finding in result.findings)
        if impossible and schedule not in self._named:
            self.fates[schedule] = Fate.IMPOSSIBLE
            self._release(schedule)
            return self._taken()
        self.fates[schedule] = Fate.RAN
        history = self._history(schedule, result)
        self._know(schedule, result)
        leader = self._audits.get(schedule)
        broken = ""
        if leader is not None:
            broken = disagreement(self._results[leader], result)
            self.checked_in_vain += result.verdict.kind is VerdictKind.INCONCLUSIVE
        if _settled_and_sure(result, history):
            self._trusted.add(schedule)
        self._go_deeper(schedule, result, history, leader)
        self._resolve(schedule, self._followers.pop(schedule, []))
        return replace(self._taken(), broken=broken)

    def flush(self) -> tuple[CellResult, ...]:
        """Return the results that still wait for another to be compared with, which will not come any more."""
        left = tuple(result for waiting in self._held_back.values() for result in waiting)
        self._held_back.clear()
        return left

    def _taken(self) -> Step:
        step = Step(known=tuple(self._known), run=tuple(self._run))
        self._known, self._run = [], []
        return step

    # -------------------------------------------------------------- planning

    def _plan(
        self,
        schedules: Iterable[Schedule],
        states: Mapping[str, CrashState],
        common: Mapping[str, CommonState],
        *,
        leaders: dict[tuple[Manner, CrashState], Schedule] | None = None,
        after: Schedule | None = None,
    ) -> None:
        """Plan schedules; each whose last fault strikes in the state of an earlier one is to follow that one.

        Args:
            schedules: In order.
            states: Of the life that they strike, by point.
            common: The same, as other runs can have it too.
            leaders: What is known to lead to a state already.
            after: The schedule that they go on from; None for the undisturbed run.
        """
        leaders = {} if leaders is None else leaders
        base = () if after is None else after.faults
        new = [schedule for schedule in dict.fromkeys(schedules) if schedule not in self.fates]
        # All of them first: what follows one of them may be planned while the others are still looked at.
        self.fates.update(dict.fromkeys(new, Fate.WAITING))
        for schedule in new:
            last = schedule.faults[-1]
            state = states.get(str(last.point))
            comparable = schedule.faults[:-1] == base and leaves_only_state(last.manner)
            if state is None or not comparable or schedule in self._named:
                self._run.append(schedule)
                continue
            leader = leaders.setdefault((last.manner, state), schedule)
            if leader is schedule:
                leader = self._leader_elsewhere(schedule, common.get(str(last.point)))
            if leader is schedule:
                self._run.append(schedule)
            else:
                self._follow(schedule, leader)

    def _leader_elsewhere(self, schedule: Schedule, state: CommonState | None) -> Schedule:
        """Return the schedule that leads to a state in whichever run; the schedule itself where none before it does.

        Time that goes by at a death is not part of a state, so only plain kills are compared. What is known of the
        recovery of one that strikes more lives would not reach as deep.
        """
        if state is None or any(fault.manner != PLAIN_KILL for fault in schedule.faults):
            return schedule
        leader = self._common.setdefault(state, schedule)
        if leader.depth > schedule.depth:
            leader = self._common[state] = schedule
        return leader

    def _follow(self, schedule: Schedule, leader: Schedule) -> None:
        """Have a schedule, which is not run yet, take the result of another that leads to the same state."""
        while self.fates[leader] is Fate.EQUAL:
            leader = self._leaders[leader]
        if self.fates[leader] is Fate.WAITING:
            self._followers.setdefault(leader, []).append(schedule)
        else:
            self._resolve(leader, [schedule])

    def _resolve(self, leader: Schedule, followers: list[Schedule]) -> None:
        """Decide about the schedules that lead to the same state as one that has run."""
        if not followers:
            return
        if leader not in self._trusted:
            self.sample.missed(followers)
            self._run += followers
            return
        checked = self.sample.of(followers)
        for schedule in followers:
            if schedule in checked:
                self._audits[schedule] = leader
                self._run.append(schedule)
                continue
            self.fates[schedule] = Fate.EQUAL
            self._leaders[schedule] = leader
            found = self._results[leader]
            lives = found.incarnations + schedule.depth - leader.depth
            mine = replace(found, schedule=schedule, incarnations=lives, duration_s=0.0)
            self._know(schedule, replace(mine, equal_to=found.cell, copied=False))
            self._mirror(schedule, leader)
            self._resolve(leader, self._followers.pop(schedule, []))

    # ---------------------------------------------------------------- deeper

    def _go_deeper(
        self, schedule: Schedule, result: CellResult, history: History | None, leader: Schedule | None
    ) -> None:
        if history is None or not goes_deeper(schedule, self._selection.depth):
            return
        if result.verdict.kind is VerdictKind.INCONCLUSIVE:
            self.unexplored.add(schedule)
            return
        if leader is not None:
            self._mirror(schedule, leader)
            return
        faults = faults_in_recovery(schedule, history, self._selection.points)
        self._children[schedule] = faults
        states, leaders = self._states_of_recovery(schedule, history)
        common = self._common_states(history, schedule.by_life[-1].incarnation + 1)
        self._plan((schedule.then(fault) for fault in faults), states, common, leaders=leaders, after=schedule)

    def _common_states(self, history: History, life: int) -> Mapping[str, CommonState]:
        return common_states(history, life, lives_alike=self._lives_alike) if self._prunes else {}

    def _states_of_recovery(
        self, schedule: Schedule, history: History
    ) -> tuple[dict[str, CrashState], dict[tuple[Manner, CrashState], Schedule]]:
        if not self._prunes:
            return {}, {}
        last = schedule.by_life[-1]
        states = crash_states(history, last.incarnation + 1)
        dead = state_at_death(history)
        alike = self._lives_alike and schedule in self._trusted and leaves_only_state(schedule.faults[-1].manner)
        if dead is None or not alike or last.manner.down_s or last.manner.stale_s:
            return states, {}
        return states, {(last.manner, dead): schedule}

    def _mirror(self, schedule: Schedule, leader: Schedule) -> None:
        """Plan what strikes the recovery of a schedule that is equal to another, whose recovery is known."""
        if not goes_deeper(schedule, self._selection.depth):
            return
        life = schedule.by_life[-1].incarnation + 1
        for fault in self._children.get(leader, ()):
            mine = schedule.then(replace(fault, incarnation=life))
            if mine not in self.fates:
                self.fates[mine] = Fate.WAITING
                self._follow(mine, leader.then(fault))

    # ----------------------------------------------------------------- known

    def _know(self, schedule: Schedule, result: CellResult) -> None:
        """Take note of a result, and hand it on; one in another order only once the usual order is known as well."""
        self._results[schedule] = replace(result, history=())
        usual = in_usual_order(schedule)
        if usual is None or usual not in self.fates:
            self._known.append(result)
        elif usual in self._results:
            self._known.append(order_dependent(result, self._results[usual]))
        elif self.fates[usual] is Fate.WAITING:
            self._held_back.setdefault(usual, []).append(result)
        else:
            self._known.append(result)
        self._release(schedule)

    def _release(self, usual: Schedule) -> None:
        known = self._results.get(usual)
        for other in self._held_back.pop(usual, []):
            self._known.append(other if known is None else order_dependent(other, known))

    def _history(self, schedule: Schedule, result: CellResult) -> History | None:
        """Return the history of a result where anything depends on it; None where not, or where the slot was lost."""
        if not result.history or not (self._prunes or goes_deeper(schedule, self._selection.depth)):
            return None
        return History.from_json([dict(event) for event in result.history])


def _settled_and_sure(result: CellResult, history: History | None) -> bool:
    """Whether what a cell showed holds for every point with the same state."""
    return (
        history is not None
        and result.settling == "settled"
        and result.verdict.kind is not VerdictKind.INCONCLUSIVE
        and not any(finding.code in _DOUBTS for finding in result.findings)
        and state_at_death(history) is not None
    )
