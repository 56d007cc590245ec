"""A session: a campaign whose results are written down as they come, and turned into reports at its end.

This is what the command line and the pytest plugin share. Its directory holds everything that `ackgap replay` and
`ackgap report` need.
"""

from __future__ import annotations

import datetime as dt
import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ackgap.campaign.campaign import Campaign, Listener, Selection
from ackgap.errors import ResultsInvalid, UsageInvalid
from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.plan.rows import merged_order
from ackgap.report.store import AxisInfo, RowInfo, Run, RunInfo, RunWriter, read_run
from ackgap.report.write import write_reports
from ackgap.requirements import check_requirements, network_note, versions
from ackgap.scenario.scenario import Scenario
from ackgap.source import SOURCE_FILE, Source

__all__ = ["Session", "selection_of"]


def selection_of(
    scenario: Scenario,
    *,
    only: Sequence[str] = (),
    points: Sequence[str] = (),
    slice_name: str | None = None,
    schedules: Sequence[str] = (),
) -> Selection:
    """Return the part of the matrix that options name.

    Args:
        scenario: Whose axes and slices they name.
        only: `AXIS=VALUE` or `AXIS=VALUE,VALUE`.
        points: Globs over crash points.
        slice_name: A slice of the scenario.
        schedules: Text forms of schedules, such as `pause@tickets.create#1:sending`.

    Raises:
        UsageInvalid: An axis, value or slice does not exist, or a text is no schedule.
    """
    variants: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    globs = tuple(points)
    if slice_name is not None:
        try:
            part = scenario.slice(slice_name)
        except KeyError:
            names = ", ".join(part.name for part in scenario.slices) or "it has none"
            raise UsageInvalid(
                f"the scenario has no slice {slice_name!r}", where="--slice", next_step=f"its slices: {names}"
            ) from None
        variants, globs = part.variants, globs or part.points
    chosen: dict[str, tuple[str, ...]] = {}
    for text in only:
        axis, values = _axis_and_values(scenario, text)
        chosen[axis] = (*chosen.get(axis, ()), *values)
    if chosen:
        variants = tuple(filter(None, (_narrowed(partial, chosen) for partial in variants))) if variants else (chosen,)
        if not variants:
            raise UsageInvalid(
                f"no variant of the slice {slice_name} is left",
                where="--only",
                next_step="leave out --slice or --only; the scenario's file has the variants of its slices",
            )
    try:
        parsed = tuple(Schedule.parse(text) for text in schedules)
    except ValueError as error:
        raise UsageInvalid(
            str(error), where="--schedule", next_step="write it as in a report, such as kill@tickets.create#1:applied"
        ) from None
    return Selection(variants=variants, points=globs, schedules=parsed)


def _narrowed(
    partial: Mapping[str, tuple[str, ...]], chosen: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]] | None:
    """Return the partial variant that agrees with both; None where nothing does."""
    both = dict(partial)
    for axis, values in chosen.items():
        both[axis] = tuple(value for value in both.get(axis, values) if value in values)
    return both if all(both.values()) else None


def _axis_and_values(scenario: Scenario, text: str) -> tuple[str, tuple[str, ...]]:
    name, equals, values = text.partition("=")
    axis = next((axis for axis in scenario.axes if axis.name == name), None)
    if axis is None or not equals:
        names = ", ".join(f"{axis.name}=..." for axis in scenario.axes) or "it has none"
        raise UsageInvalid(f"{text!r} names no axis of the scenario", where="--only", next_step=f"its axes: {names}")
    chosen = tuple(values.split(","))
    allowed = [value.name for value in axis.values]
    for value in chosen:
        if value not in allowed:
            raise UsageInvalid(
                f"axis {name} has no value {value!r}", where="--only", next_step=f"its values: {', '.join(allowed)}"
            )
    return name, chosen


class Session:
    """Runs a selection of a scenario and keeps its results in a directory.

    Args:
        source: Where the scenario comes from.
        selection: Which part to run; needs the loaded scenario, so it is given as a function of it.
        directory: Where results go. Those of an earlier run there are kept as `<directory>.previous`.
        display: Followed along, beside the writing.
        jobs: How many slots.
        network: `auto`, `isolated` or `host`.
        command: How the run was started, for a reader to repeat it.
        warm: Fork Python lives from a warm parent.
    """

    def __init__(
        self,
        source: Source,
        scenario: Scenario,
        selection: Selection,
        *,
        directory: Path,
        display: Listener,
        jobs: int | None = None,
        network: str = "auto",
        command: str = "",
        warm: bool = False,
    ) -> None:
        self._source = source
        self._scenario = scenario
        self._selection = selection
        self._directory = directory
        self._display = display
        self._jobs = jobs
        self._network = network
        self._command = command
        self._warm = warm
        self._expectations: dict[str, Expectation] = {}
        self._schedules: dict[str, Schedule] = {}
        self._finished = 0
        self._info = RunInfo(scenario=scenario.name)
        self._writer: RunWriter | None = None
        self._held: list[CellResult] = []

    def run(self) -> Run:
        """Run, write results and reports, and return the run as its files tell it.

        Raises:
            AckgapError: As the campaign raises it, after the reports of what had finished are written.
            KeyboardInterrupt: The same.
        """
        check_requirements(self._scenario)
        campaign = Campaign(
            self._scenario,
            selection=self._selection,
            listener=self,
            jobs=self._jobs,
            network=self._network,
            warm=self._warm,
        )
        check_writable(self._directory)
        complete = False
        try:
            campaign.run()
            complete = True
        finally:
            self._info = replace(self._info, interrupted=not complete)
            self._conclude()
        if self._writer is None:
            raise UsageInvalid(
                "no cell was run: no crash point is like the ones that were asked for",
                where="--point, --only, --slice or --schedule",
                next_step=f"points that there are: {', '.join(self._some_points()) or 'none'}, ...",
            )
        return read_run(self._directory)

    def _open(self) -> RunWriter:
        """Set an earlier run aside and begin to write; only now, so that a mistake does not cost its results."""
        set_aside(self._directory)
        writer = RunWriter(self._directory)
        text = json.dumps(self._source.to_json(self._directory), indent=1)
        (self._directory / SOURCE_FILE).write_text(f"{text}\n", encoding="utf-8")
        for result in self._held:
            writer.append(result)
        self._held.clear()
        return writer

    def _conclude(self) -> None:
        if self._writer is not None:
            self._write_info()
            self._writer.close()
            write_reports(self._directory)

    def _some_points(self) -> list[str]:
        points = dict.fromkeys(point for known in self._expectations.values() for point in known.points)
        return list(points)[:6]

    # -------------------------------------------- Listener, before the display

    def began(self, variants: Sequence[Variant], isolated: bool) -> None:
        """Write down what is going to be run."""
        self._info = RunInfo(
            scenario=self._scenario.name,
            title=self._scenario.title,
            about=self._scenario.about,
            versions=versions(self._scenario),
            started_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            command=self._command,
            axes=tuple(AxisInfo.of(axis) for axis in self._scenario.axes),
            variants=tuple(variants),
            replay_prefix=f"{_program()} replay {shlex.quote(_relative(self._directory))}",
            notes=(network_note(self._scenario, isolated=isolated),),
            interrupted=True,
        )
        self._write_info()
        self._display.began(variants, isolated)
        self._display.noted(self._info.notes[0])

    def probed(self, variant: Variant, expectation: Expectation) -> None:
        """Keep the yardstick of a variant."""
        self._expectations[str(variant)] = expectation
        self._write_info()
        self._display.probed(variant, expectation)

    def planned(self, cells: int) -> None:
        """Keep how many cells there are."""
        self._info = replace(self._info, planned_cells=cells)
        self._display.planned(cells)

    def noted(self, text: str) -> None:
        """Keep what a reader should know."""
        if text not in self._info.notes:
            self._info = replace(self._info, notes=(*self._info.notes, text))
            self._display.noted(text)

    def finished(self, result: CellResult) -> None:
        """Write down a result."""
        self._schedules[result.schedule.label] = result.schedule
        if self._writer is None and result.schedule.faults:
            self._writer = self._open()
            self._write_info()
        if self._writer is None:
            self._held.append(result)
        else:
            self._writer.append(result)
        self._finished += 1
        self._display.finished(replace(result, history=()))

    # -------------------------------------------------------------- run.json

    def _write_info(self) -> None:
        order = merged_order(expectation.points for expectation in self._expectations.values())
        rows = [label for label in order if label in self._schedules]
        rows += [label for label in self._schedules if label not in order]
        nouns = {
            name: facts.noun[0]
            for expectation in self._expectations.values()
            for name, facts in expectation.operations.items()
            if facts.effectful
        }
        killed = [label for label in rows if self._schedules[label].faults]
        cells = len(killed) * len(self._expectations)
        ran = self._finished - len(self._expectations)
        self._info = replace(
            self._info,
            expectations=dict(self._expectations),
            row_order=tuple(
                RowInfo.of(schedule, noun=nouns.get(schedule.faults[0].point.name, "") if schedule.faults else "")
                for schedule in (self._schedules[label] for label in rows)
            ),
            not_applicable=max(0, cells - ran) if not self._info.interrupted else 0,
        )
        if self._writer is not None:
            self._writer.write_run(self._info)


def check_writable(directory: Path) -> None:
    """Refuse a directory that results cannot be written to, before anything runs.

    Raises:
        ResultsInvalid: Names the directory.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=directory, prefix=".ackgap-"):
            pass
    except OSError as error:
        raise ResultsInvalid(
            f"results cannot be written: {error.strerror or error}",
            where=str(directory),
            next_step="name a directory that you can write to with --out",
        ) from error


def set_aside(directory: Path) -> None:
    """Move the results of an earlier run in a directory to `<directory>.previous`.

    Raises:
        ResultsInvalid: They cannot be moved.
    """
    names = ("run.json", "cells.jsonl", "histories.jsonl", SOURCE_FILE, "report.html", "junit.xml", "summary.md")
    found = [directory / name for name in names if (directory / name).exists()]
    if not found:
        return
    previous = directory.with_name(directory.name + ".previous")
    try:
        if previous.exists():
            shutil.rmtree(previous)
        previous.mkdir()
        for path in found:
            path.rename(previous / path.name)
    except OSError as error:
        raise ResultsInvalid(
            f"the results of the last run cannot be set aside: {error.strerror or error}",
            where=str(directory),
            next_step="name another directory with --out",
        ) from error


def _program() -> str:
    """Return how ackgap is called from the shell that this process came from."""
    called = Path(sys.argv[0])
    if shutil.which("ackgap") is not None or called.name != "ackgap":
        return "ackgap"
    return shlex.quote(_relative(called))


def _relative(path: Path) -> str:
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path.absolute())
