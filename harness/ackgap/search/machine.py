"""A stateful test of one scenario: rules build a schedule step by step, and it is run when the steps are over.

    from ackgap.strategies import crash_machine

    class TestMyAgent(crash_machine("scenarios/my-agent", only=["key=none"])):
        pass

pytest and unittest collect that as one test. Hypothesis decides which steps; what fails is shrunk, and the failure says
how to see it again.
"""

from __future__ import annotations

import unittest
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from ackgap.errors import AckgapError
from ackgap.model.boundary import CrashPoint
from ackgap.model.manner import FaultKind, Manner
from ackgap.model.matrix import CellResult
from ackgap.model.schedule import UNDISTURBED, Fault, Schedule
from ackgap.model.verdict import Colour
from ackgap.search.drawing import Points, ordered
from ackgap.search.told import finding_lines

__all__ = ["CrashTest", "ScheduleMachine", "crash_machine"]

_HOURS_S = (3600.0, 72 * 3600.0)


class _Trouble(BaseException):
    """The runner raised. No Exception, which Hypothesis would take for a finding."""


def _able(machine: ScheduleMachine, kind: FaultKind) -> list[str]:
    manner = Manner(kind=kind)
    return [str(point) for point in dict.fromkeys((*machine.points, *machine.later)) if manner.strikes_at(point)]


def _points(kind: FaultKind) -> st.SearchStrategy[str]:
    # As texts, which is how the steps of a failure are printed.
    return st.runner().flatmap(lambda machine: st.sampled_from(_able(machine, kind)))


def _can(kind: FaultKind) -> Callable[[Any], bool]:
    return lambda machine: bool(_able(machine, kind))


class ScheduleMachine(RuleBasedStateMachine):
    """Builds a schedule with rules, and runs it at the end. Derive from it to add rules of your own.

    Attributes:
        run: Runs a schedule.
        points: Crash points of the first life.
        later: Those of later lives.
        max_faults: At most so many faults.
        replay_prefix: Of the command that shows a cell again.
    """

    run: ClassVar[Callable[[Schedule], CellResult]]
    points: ClassVar[tuple[CrashPoint, ...]] = ()
    later: ClassVar[tuple[CrashPoint, ...]] = ()
    max_faults: ClassVar[int] = 3
    replay_prefix: ClassVar[str] = "ackgap replay"
    results: ClassVar[dict[Schedule, CellResult]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[Fault] = []
        self.life = 1

    def do(self, point: str, manner: Manner) -> None:
        """Add a fault of the present life; what ends or stops it begins the next one.

        Does nothing where there are enough faults, or where that point of that life is no place for it. A step that
        does nothing goes away in shrinking; one that is forbidden by a precondition makes shrinking stop early.
        """
        place = CrashPoint.parse(point)
        taken = {fault.point for fault in self.faults if fault.incarnation == self.life}
        known = self.points if self.life == 1 else self.later
        if len(self.faults) < self.max_faults and place in known and place not in taken:
            self.faults.append(Fault(point=place, manner=manner, incarnation=self.life))
            self.life += manner.lives if manner.kind.strikes_worker else 0

    @precondition(_can(FaultKind.KILL))
    @rule(point=_points(FaultKind.KILL))
    def kill_at(self, point: str) -> None:
        """End the life there."""
        self.do(point, Manner())

    @precondition(_can(FaultKind.PAUSE))
    @rule(point=_points(FaultKind.PAUSE))
    def pause_at(self, point: str) -> None:
        """Stop the life there; another one takes over, then it wakes up."""
        self.do(point, Manner(kind=FaultKind.PAUSE))

    @precondition(_can(FaultKind.LOSE))
    @rule(point=_points(FaultKind.LOSE))
    def lose_answer(self, point: str) -> None:
        """Lose the answer of a call."""
        self.do(point, Manner(kind=FaultKind.LOSE))

    @precondition(_can(FaultKind.FAIL))
    @rule(point=_points(FaultKind.FAIL))
    def answer_error(self, point: str) -> None:
        """Answer a call with an error."""
        self.do(point, Manner(kind=FaultKind.FAIL, status=503))

    @precondition(_can(FaultKind.TWICE))
    @rule(point=_points(FaultKind.TWICE))
    def deliver_twice(self, point: str) -> None:
        """Deliver a request twice."""
        self.do(point, Manner(kind=FaultKind.TWICE))

    @precondition(_can(FaultKind.RESET))
    @rule(point=_points(FaultKind.RESET))
    def reset_connection(self, point: str) -> None:
        """Reset a connection before anything has happened."""
        self.do(point, Manner(kind=FaultKind.RESET))

    @rule(down_s=st.sampled_from(_HOURS_S))
    def let_time_pass(self, down_s: float) -> None:
        """Let virtual time pass before the next life, after what ended or stopped the last one."""
        if self.faults and self.faults[-1].kind.strikes_worker:
            last = self.faults.pop()
            self.faults.append(replace(last, manner=replace(last.manner, down_s=down_s)))

    @rule()
    def in_the_next_life(self) -> None:
        """What follows is done in the next life: that of a worker which a fault of a call brings down."""
        if self.faults and self.faults[-1].incarnation == self.life:
            self.life += 1

    def teardown(self) -> None:
        """Run the schedule and fail where it is red."""
        schedule = ordered(self.faults)
        result = self.results.get(schedule)
        if result is None:
            try:
                result = type(self).run(schedule)
            except Exception as error:
                raise _Trouble from error
            self.results[schedule] = result
        if result.verdict.kind.colour is Colour.RED:
            raise AssertionError("\n".join(finding_lines(result, self.replay_prefix)))


class CrashTest(unittest.TestCase):
    """The test that `crash_machine` makes.

    Attributes:
        settings: Of Hypothesis; replace them in your class for more or longer examples.
    """

    __test__: ClassVar[bool] = False  # only what is derived from it is one

    settings: ClassVar[settings] = settings(max_examples=30, stateful_step_count=6)

    @contextmanager
    def machine(self) -> Iterator[type[ScheduleMachine]]:
        """Lend the machine that the test runs."""
        raise NotImplementedError
        yield

    def runTest(self) -> None:  # noqa: N802 - unittest's name
        """Have Hypothesis build schedules, and fail at the smallest that is red."""
        mistake: BaseException | None = None
        try:
            with self.machine() as machine:
                # Whatever is set: cells take their time, and explaining a failure would run many more of them.
                phases = tuple(phase for phase in self.settings.phases if phase is not Phase.explain)
                everything = list(HealthCheck)
                chosen = settings(self.settings, deadline=None, phases=phases, suppress_health_check=everything)
                run_state_machine_as_test(machine, settings=chosen)
        except _Trouble as trouble:
            mistake = trouble.__cause__
        except AckgapError as error:
            mistake = error
        if isinstance(mistake, AckgapError):
            self.fail(f"ackgap: {mistake}")  # out of the handler, so that it is not printed twice
        if mistake is not None:
            raise mistake

    runTest.is_hypothesis_test = True  # type: ignore[attr-defined]


def crash_machine(
    scenario: str | Path,
    *,
    only: Sequence[str] = (),
    later: Points = (),
    max_faults: int = 3,
    machine: type[ScheduleMachine] = ScheduleMachine,
    directory: str | Path | None = None,
    network: str = "auto",
) -> type[CrashTest]:
    """Return a test class, to derive a test of your own from.

    Args:
        scenario: Path of a scenario, as seen from the current directory when the test runs, or a shipped one's name.
        only: `AXIS=VALUE` each; one variant has to be left.
        later: Crash points of later lives, beyond those of the undisturbed run.
        max_faults: Of one schedule.
        machine: With rules of your own.
        directory: Where results go; `reports/<name of the test>` where it is None.
        network: `auto`, `isolated` or `host`.
    """

    class Test(CrashTest):
        __test__ = True

        @contextmanager
        def machine(self) -> Iterator[type[ScheduleMachine]]:
            from ackgap.search.session import cells_of

            where = Path(directory) if directory is not None else Path("reports") / type(self).__name__
            with cells_of(scenario, only=only, directory=where, network=network) as cells:
                points = tuple(CrashPoint.parse(point) for point in cells.expectation.points)
                more = tuple(CrashPoint.parse(point) if isinstance(point, str) else point for point in later)
                undisturbed = cells.run(UNDISTURBED)
                if undisturbed.verdict.kind.colour is Colour.RED:
                    self.fail("\n".join(finding_lines(undisturbed, cells.replay_prefix)))
                yield type(
                    machine.__name__,
                    (machine,),
                    {
                        "run": staticmethod(cells.run),
                        "points": points,
                        "later": tuple(dict.fromkeys((*points, *more))),
                        "max_faults": max_faults,
                        "replay_prefix": cells.replay_prefix,
                        "results": {UNDISTURBED: undisturbed},
                    },
                )

    return Test
