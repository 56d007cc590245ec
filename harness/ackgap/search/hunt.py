"""The hunt: schedules drawn one after the other until one comes out red, then the smallest that does the same.

What runs a schedule is handed in, so nothing here starts a process. The same seed and the same verdicts make the same
hunt: nothing looks at a clock, nothing is remembered between runs.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from ackgap.model.boundary import CrashPoint
from ackgap.model.history import History
from ackgap.model.manner import Manner
from ackgap.model.matrix import CellResult
from ackgap.model.schedule import UNDISTURBED, Schedule
from ackgap.model.verdict import Colour, VerdictKind
from ackgap.search.changes import earlier_points, faults_left_out, options_left_out, plainer_kinds, size_of
from ackgap.search.drawing import MannerOptions, every_manner, schedules
from ackgap.search.parts import Part, parts_of

__all__ = ["Effort", "Hunt", "Runner", "hunt"]

Runner = Callable[[Schedule], CellResult]
"""Runs a schedule and returns what it proved, with its history."""

_ROUND = 20
"""So many new schedules, then the points that recoveries have shown meanwhile are drawn as well."""
_DRAWS = 10
"""Draws for each schedule that is to be new: most of those that are not have been run already."""
_LONG_S = 240.0
_BARREN = 3
"""Rounds in a row that bring nothing new, after which there is taken to be nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How far to go.

    Attributes:
        seed: Of the draws.
        examples: At most so many different schedules are drawn and run until one is red.
        shrinks: At most so many more are run to find a smaller one.
        variations: At most so many more, to see which parts do not matter.
        repeats: Times that what was found is run once more, to see whether it comes out each time.
        max_faults: Of one schedule.
        options: What may be done at a point.
    """

    seed: int = 0
    examples: int = 100
    shrinks: int = 100
    variations: int = 30
    repeats: int = 4
    max_faults: int = 3
    options: MannerOptions = field(default_factory=MannerOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunt:
    """What a hunt came to.

    Attributes:
        found: The first red result, None where nothing red was drawn.
        smallest: The result of the smallest schedule with that verdict.
        shrunk: It is as small as shrinking makes it, and no fault of it can be left out; the effort was enough.
        again: Verdicts of the smallest schedule when it was run once more.
        parts: What was tried to tell its parts apart; nothing where the smallest does not come out each time, since
            then a single run of another schedule tells nothing.
        drawn: Different schedules that were run until then, the undisturbed run not counted.
        ran: All different ones that were run, those of shrinking included, the undisturbed run not counted.
        proved_nothing: Of those, the inconclusive ones: mostly a life that did not come to a point.
        exhausted: The draws brought nothing new any more.
        other_reds: Other red verdicts that were seen on the way, with the first schedule of each.
    """

    found: CellResult | None = None
    smallest: CellResult | None = None
    shrunk: bool = False
    again: tuple[VerdictKind, ...] = ()
    parts: tuple[Part, ...] = ()
    drawn: int = 0
    ran: int = 0
    proved_nothing: int = 0
    exhausted: bool = False
    other_reds: tuple[CellResult, ...] = ()

    @property
    def came_out(self) -> int:
        """In how many runs of the smallest schedule its verdict came out."""
        return 0 if self.smallest is None else 1 + self.again.count(self.smallest.verdict.kind)

    @property
    def steady(self) -> bool:
        """Whether it came out in each of them."""
        return self.smallest is not None and self.came_out == 1 + len(self.again)


def hunt(run: Runner, points: Sequence[str], effort: Effort, *, again: Runner | None = None) -> Hunt:
    """Draw schedules, run them, and shrink the first that is red.

    Args:
        run: Runs a schedule; each one once.
        points: Crash points of the undisturbed run, in its order.
        effort: How far to go.
        again: Runs one that has been run already; `run` where it is None.

    Raises:
        ValueError: None of the manners can be done at any of the points.
        Exception: Whatever `run` raises, at once.
    """
    try:
        return _Hunter(run, again or run, points, effort).hunt()
    except _Trouble as trouble:
        cause = trouble.__cause__
        assert cause is not None
        raise cause from None


class _Red(Exception):
    """A schedule has the verdict that is looked for: what Hypothesis shrinks."""


class _Trouble(BaseException):
    """The runner raised. No Exception, which Hypothesis would take for a finding."""


class _Hunter:
    """One hunt; see `hunt` for the arguments."""

    def __init__(self, run: Runner, again: Runner, points: Sequence[str], effort: Effort) -> None:
        self._run_it = run
        self._run_again = again
        self._points = tuple(CrashPoint.parse(point) for point in points)
        self._effort = effort
        self._results: dict[Schedule, CellResult] = {}
        self._later = dict.fromkeys(self._points)
        self._left = 0
        self._shrinks_left = 0
        self._drawn = 0
        self._found: CellResult | None = None
        self._latest = UNDISTURBED

    def hunt(self) -> Hunt:
        """Hunt."""
        undisturbed = self._run(UNDISTURBED)
        if undisturbed.verdict.kind.colour is Colour.RED:
            return Hunt(found=undisturbed, smallest=undisturbed, shrunk=True)
        number = barren = 0
        while barren < _BARREN and self._count < self._effort.examples:
            before = self._count
            self._left = min(_ROUND, self._effort.examples - before)
            menu = {1: self._points, 2: tuple(self._later)}
            began_s = time.monotonic()
            self._explore(number, menu)
            if self._found is not None:
                return self._shrunk(self._found, number, menu, began_s)
            number += 1
            barren = barren + 1 if self._count == before else 0
        return Hunt(
            drawn=self._count, ran=self._count, proved_nothing=self._proved_nothing, exhausted=barren >= _BARREN
        )

    # ------------------------------------------------------------------ drawing

    def _explore(self, number: int, menu: Mapping[int, Sequence[CrashPoint]]) -> None:
        """Draw and run schedules until one is red, and have Hypothesis shrink that one into `_latest`."""

        @seed(self._effort.seed * 1_000_003 + number)
        @settings(
            max_examples=_ROUND * _DRAWS,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
            report_multiple_bugs=False,
            print_blob=False,
            verbosity=Verbosity.quiet,
        )
        @given(schedules(menu, max_faults=self._effort.max_faults, **self._effort.options))
        def attempt(schedule: Schedule) -> None:
            result = self._look(schedule)
            if result is None or result.verdict.kind.colour is not Colour.RED:
                return
            if self._found is None:
                self._found, self._drawn, self._left = result, self._count, self._effort.shrinks
            if result.verdict.kind is self._found.verdict.kind:
                self._latest = schedule
                raise _Red

        with contextlib.suppress(_Red):
            attempt()

    def _shrunk(self, found: CellResult, number: int, menu: Mapping[int, Sequence[CrashPoint]], began_s: float) -> Hunt:
        # Hypothesis stops shrinking after five minutes. Drawing the round once more goes on from there, since all that
        # was run is known. The clock decides only whether that is needed, so how far it comes depends on none.
        before = -1
        while before != self._count and time.monotonic() - began_s > _LONG_S:
            before = self._count
            self._explore(number, menu)
        smallest, again, parts = self._told_apart(found.verdict.kind)
        others: dict[VerdictKind, CellResult] = {}
        for result in self._results.values():
            if result.verdict.kind.colour is Colour.RED and result.verdict.kind is not found.verdict.kind:
                others.setdefault(result.verdict.kind, result)
        return Hunt(
            found=found,
            smallest=smallest,
            shrunk=self._shrinks_left > 0,
            again=again,
            parts=parts,
            drawn=self._drawn,
            ran=self._count,
            proved_nothing=self._proved_nothing,
            other_reds=tuple(others.values()),
        )

    def _told_apart(self, kind: VerdictKind) -> tuple[CellResult, tuple[VerdictKind, ...], tuple[Part, ...]]:
        """Return the smallest result, its verdicts when it was run again, and what of it matters.

        A change that was made to tell a part may turn out to be a smaller schedule with the same verdict. Then that is
        the result, and all begins anew from there, with what is left of the effort.
        """
        manners = every_manner(**self._effort.options)
        schedule = self._latest
        variations, self._shrinks_left = self._effort.variations, self._left
        while True:
            self._left = self._shrinks_left
            schedule = self._reduced(schedule, kind, manners)
            self._shrinks_left, self._left = self._left, variations
            smallest = self._results[schedule]
            again = tuple(self._once_more(schedule) for _ in range(self._effort.repeats))
            if any(other is not kind for other in again):
                return smallest, again, ()
            parts = parts_of(smallest, {1: self._points, 2: tuple(self._later)}, manners, self._look)
            variations = self._left
            smaller = self._smallest_known(schedule, kind)
            if smaller == schedule:
                return smallest, again, parts
            schedule = smaller

    def _reduced(self, schedule: Schedule, kind: VerdictKind, manners: Sequence[Manner]) -> Schedule:
        """Return the schedule after nothing small makes it smaller; Hypothesis promises no such thing.

        No fault and no option of it can be left out, no fault can be at an earlier point with all else as it is, and
        none can be a kill that is not.
        """
        while True:
            points = tuple(self._later)
            size = size_of(schedule, points)
            changes = chain(
                (change.schedule for change in chain(faults_left_out(schedule), options_left_out(schedule))),
                earlier_points(schedule, points),
                plainer_kinds(schedule, manners),
            )
            those = (each for each in changes if size_of(each, points) < size and self._comes_to(each, kind))
            smaller = self._smallest_known(next(those, schedule), kind)
            if smaller == schedule:
                return schedule
            schedule = smaller

    def _smallest_known(self, schedule: Schedule, kind: VerdictKind) -> Schedule:
        """Return the smallest schedule of all that came to a verdict; this one where none is smaller."""
        same = (known for known, result in self._results.items() if result.verdict.kind is kind)
        points = tuple(self._later)
        return min((schedule, *same), key=lambda each: size_of(each, points))

    def _comes_to(self, schedule: Schedule, kind: VerdictKind) -> bool:
        result = self._look(schedule)
        return result is not None and result.verdict.kind is kind

    # ------------------------------------------------------------------ running

    @property
    def _count(self) -> int:
        return len(self._results) - 1

    @property
    def _proved_nothing(self) -> int:
        return sum(result.verdict.kind is VerdictKind.INCONCLUSIVE for result in self._results.values())

    def _look(self, schedule: Schedule) -> CellResult | None:
        """Return the result of a schedule, None where there is no effort left to run it."""
        known = self._results.get(schedule)
        if known is not None or self._left < 1:
            return known
        self._left -= 1
        return self._run(schedule)

    def _once_more(self, schedule: Schedule) -> VerdictKind:
        try:
            return self._run_again(schedule).verdict.kind
        except Exception as error:
            raise _Trouble from error

    def _run(self, schedule: Schedule) -> CellResult:
        try:
            result = self._run_it(schedule)
        except Exception as error:
            raise _Trouble from error
        self._results[schedule] = result
        for event in History.from_json([dict(event) for event in result.history]).passages:
            if event.incarnation > 1:
                self._later.setdefault(CrashPoint.parse(event.point_text))
        return result
