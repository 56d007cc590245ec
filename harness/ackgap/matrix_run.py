"""MatrixRun: a crash matrix as a test sees it, with a failure message that a person can act on."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ackgap.campaign.choosing import selection_of
from ackgap.campaign.listener import Listener, Silent
from ackgap.environments.cache import tell_on_stderr
from ackgap.errors import UsageInvalid
from ackgap.model.event import Json
from ackgap.model.history import History
from ackgap.model.matrix import CellResult
from ackgap.model.verdict import Colour, Finding, Verdict, VerdictKind
from ackgap.report.failure import failure_lines
from ackgap.report.gaps import failing_cells, standing_of
from ackgap.report.plain import plain
from ackgap.report.store import Run
from ackgap.report.write import HTML_FILE
from ackgap.scenario.discover import find_scenario
from ackgap.scenario.flags import scenario_from_flags
from ackgap.session import Session
from ackgap.source import Source
from ackgap.support import cores

__all__ = ["MatrixRun", "run_matrix", "share_of_cores"]

Check = Callable[[History], str | None]
"""An invariant of the user's own: returns what is wrong with a history, or None."""

_SHOWN = 5
_LISTS = frozenset({"targets", "env", "state", "allow_hosts", "reads", "expects", "protections", "toxics"})


@dataclass(frozen=True)
class MatrixRun:
    """What a run of a crash matrix found.

    Attributes:
        run: The run as its files tell it.
        cells: Its results, checks of the test's own included.
    """

    run: Run
    cells: tuple[CellResult, ...]

    @property
    def verdicts(self) -> dict[str, str]:
        """Verdict by cell."""
        return {cell.cell: cell.verdict.kind.value for cell in self.cells}

    def assert_exactly_once(self, *, allow: Sequence[str] = ("wasted", "in_doubt")) -> None:
        """Fail unless every action happened exactly once at every crash point.

        A known gap of the scenario passes as it was declared, and fails once it is closed or has changed.

        Args:
            allow: Verdicts that pass besides `ok`; amber ones by default.

        Raises:
            AssertionError: Says what happened twice, at which point, who could have prevented it, and how to see it
                again.
        """
        __tracebackhide__ = True
        passing = {VerdictKind.OK, *map(VerdictKind, allow)}
        failing = frozenset(VerdictKind) - passing
        bad = failing_cells(replace(self.run, cells=self.cells), failing)
        if bad:
            raise AssertionError("\n".join(self._message(bad)))

    def _message(self, bad: Sequence[CellResult]) -> Iterator[str]:
        ran = len(self.cells)
        yield f"{len(bad)} of {ran} cells of {self.run.info.scenario} fail"
        groups: dict[tuple[str, str], list[CellResult]] = {}
        for cell in bad:
            declared = standing_of(self.run.info.known_gaps, cell)
            if declared is not None:
                yield f"\n{plain(cell.cell)}: {declared.words}"
            if cell.verdict.kind is not VerdictKind.OK:
                groups.setdefault((cell.verdict.kind.value, cell.verdict.headline), []).append(cell)
        for cells in list(groups.values())[:_SHOWN]:
            yield ""
            told = self.run.with_history(cells[0])
            yield from failure_lines(told, self.run.info.replay_prefix, more=len(cells) - 1)
        if len(groups) > _SHOWN:
            yield f"\nand {len(groups) - _SHOWN} more kinds of finding"
        yield f"\nreport: {self.run.directory / HTML_FILE}"


def run_matrix(
    scenario: str | Path | None,
    *,
    root: Path,
    directory: Path,
    display: Listener | None = None,
    tell: Callable[[str], None] = tell_on_stderr,
    jobs: int | None = None,
    network: str = "auto",
    only: Sequence[str] = (),
    points: Sequence[str] = (),
    slice_name: str | None = None,
    schedules: Sequence[str] = (),
    faults: Sequence[str] = (),
    depth: int | None = None,
    orders: bool = False,
    unsettled: int = 0,
    prune: bool = False,
    settings: Sequence[str] | Mapping[str, Mapping[str, Json]] = (),
    check: Check | None = None,
    warm: bool = False,
    copies: bool = False,
    engine_defaults: bool = False,
    **flags: Json,
) -> MatrixRun:
    """Run a matrix and return what it found.

    Args:
        scenario: Path or name; None with `worker=...` among the flags.
        root: What a relative path is relative to.
        directory: Where results go.
        display: Follows the run; nobody does where it is None.
        tell: Told what takes its time before the run.
        jobs: Cells at a time; None takes one for each core, shared among the workers of pytest-xdist.
        network: `auto`, `isolated` or `host`.
        only: `AXIS=VALUE` each.
        points: Globs over crash points.
        slice_name: A slice of the scenario.
        schedules: Run these instead of a kill at every point.
        faults: What is done at every point, such as `lose`; those of the scenario where there are none.
        depth: Kill recoveries as well, at the points that they pass: up to so many lives of a run, at most 3.
        orders: Let durable writes that run beside each other land in the other order as well.
        unsettled: Kill at every point also without waiting for writes in flight, in so many runs.
        prune: Of points with the same crash state run one, and check a sample of the others.
        settings: Of profiles: `NAME.SETTING=VALUE` each, or values by target and setting; over those of the scenario.
        check: An invariant over each cell's history.
        warm: Fork Python lives from a parent that has imported their installed modules once.
        copies: Begin recoveries with copies that one undisturbed run left at each point, and check a sample of them
            with real kills.
        engine_defaults: Shorten nothing of what an engine waits for.
        flags: Arguments of `scenario_from_flags`.

    Raises:
        AckgapError: The scenario cannot be read, or the run proved nothing.
    """
    source = _source(scenario, root, settings, flags, engine_defaults=engine_defaults)
    loaded = source.scenario()
    selection = selection_of(
        loaded,
        only=only,
        points=points,
        slice_name=slice_name,
        schedules=schedules,
        faults=faults,
        depth=depth,
        orders=orders,
        unsettled=unsettled,
        prune=prune,
    )
    begin = partial(Session, source, loaded, selection, directory=directory, display=display or Silent(), tell=tell)
    at_once = jobs or share_of_cores(os.environ, cores())
    session = begin(jobs=at_once, network=network, warm=warm, copies=copies, command="pytest")
    return _carried_through(session, check)


def share_of_cores(environment: Mapping[str, str], cores: int) -> int:
    """Return how many of a machine's cores this process may take: with `pytest -n 4` there are four of it."""
    count = environment.get("PYTEST_XDIST_WORKER_COUNT", "1")
    return max(1, cores // max(1, int(count) if count.isdecimal() else 1))


def _carried_through(session: Session, check: Check | None) -> MatrixRun:
    run = session.run()
    for error in session.unwritten:
        warnings.warn(str(error), stacklevel=3)
    cells = run.cells if check is None else tuple(_checked(run, cell, check) for cell in run.cells)
    return MatrixRun(run=run, cells=cells)


def _source(
    scenario: str | Path | None,
    root: Path,
    settings: Sequence[str] | Mapping[str, Mapping[str, Json]],
    flags: Mapping[str, Json],
    *,
    engine_defaults: bool,
) -> Source:
    _check_arguments(scenario, flags)
    if isinstance(settings, str):
        raise UsageInvalid(
            "'settings' is a list of texts, as on the command line, or a dict",
            where="crash_matrix(...)",
            next_step="write settings=['NAME.SETTING=VALUE'], or settings={'NAME': {'SETTING': VALUE}}",
        )
    if scenario is None:
        given = {"targets": [], **flags, "directory": str(flags.get("directory") or root)}
        return Source(flags=given, settings=settings, home=root, engine_defaults=engine_defaults)
    path = root / scenario
    found = find_scenario(str(path if path.exists() else scenario))
    return Source(path=found, settings=settings, home=root, engine_defaults=engine_defaults)


def _check_arguments(scenario: str | Path | None, flags: Mapping[str, Json]) -> None:
    known = {*inspect.signature(scenario_from_flags).parameters, "life_s"} - {"limits"}
    for name, value in flags.items():
        if name not in known:
            near = {
                "slice": "slice_name",
                "point": "points",
                "target": "targets",
                "schedule": "schedules",
                "fault": "faults",
                "set": "settings",
            }.get(name)
            raise UsageInvalid(
                f"crash_matrix has no argument {name!r}",
                where="crash_matrix(...)",
                next_step=f"write {near}=..." if near else f"its arguments for a worker: {', '.join(sorted(known))}",
            )
        if scenario is not None:
            raise UsageInvalid(
                f"{name!r} belongs to worker=..., not to a scenario",
                where="crash_matrix(...)",
                next_step="write it into the scenario",
            )
        if name in _LISTS and (isinstance(value, str) or not isinstance(value, Sequence)):
            raise UsageInvalid(
                f"{name!r} is a list of texts, as on the command line",
                where="crash_matrix(...)",
                next_step=f"write {name}=['NAME=...']",
            )


def _checked(run: Run, cell: CellResult, check: Check) -> CellResult:
    """Return the result with the finding of a test's own check, if it has one."""
    # A cell that was not run has the history of the one that leads to the same state.
    wrong = check(run.history(cell.equal_to or cell.cell))
    if wrong is None:
        return cell
    finding = Finding(kind=VerdictKind.DIVERGED, code="check", summary=f"the test's own check does not hold: {wrong}")
    if cell.verdict.kind.colour is Colour.GREY:
        return cell
    return replace(cell, verdict=Verdict.of((*cell.findings, finding)))
