"""A session: a campaign whose results are written down as they come, and turned into reports at its end.

This is what the command line and the pytest plugin share. Its directory holds everything that `ackgap replay` and
`ackgap report` need.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from ackgap.campaign.campaign import Campaign
from ackgap.campaign.earlier import Earlier
from ackgap.campaign.listener import Listener
from ackgap.campaign.selection import Selection
from ackgap.campaign.shard import WHOLE, Shard
from ackgap.environments.cache import tell_on_stderr, with_environments
from ackgap.errors import ResultsInvalid, UsageInvalid
from ackgap.execute.engines.known import shortened
from ackgap.fingerprint import differences, fingerprint
from ackgap.model.bounds import Bounds
from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.report.commands import replay_prefix
from ackgap.report.info import AxisInfo, RunInfo
from ackgap.report.lock import directory_lock
from ackgap.report.origin import Origin
from ackgap.report.store import CELLS_FILE, HISTORIES_FILE, RUN_FILE, Run, RunWriter, read_run
from ackgap.report.write import REPORT_FILES, write_reports_of
from ackgap.requirements import check_requirements, network_note, versions
from ackgap.scenario.scenario import Scenario
from ackgap.source import SOURCE_FILE, Source
from ackgap.target.wire.redaction import Redactor

__all__ = ["Session", "check_writable", "set_aside"]


def _shortened_notes(scenario: Scenario) -> tuple[str, ...]:
    texts = shortened(scenario.engine)
    return (f"Waiting is shortened (--engine-defaults runs without): {'; '.join(texts)}.",) if texts else ()


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
        copies: Begin recoveries with copies of undisturbed runs.
        shard: Which part of the rows to run.
        resume: Go on with the run whose results the directory holds, if it holds any.
        tell: Told what takes its time before the campaign begins.
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
        copies: bool = False,
        shard: Shard = WHOLE,
        resume: bool = False,
        tell: Callable[[str], None] = tell_on_stderr,
    ) -> None:
        self._source = source
        self._scenario = scenario
        self._as_written = scenario  # where its environments are made is nothing that it is
        self._selection = selection
        self._directory = directory
        self._display = display
        self._jobs = jobs
        self._network = network
        self._command = command
        self._warm = warm
        self._copies = copies
        self._shard = shard
        self._resume = resume
        self._before: Run | None = None
        self._written: dict[str, CellResult] = {}
        self._tell = tell
        self._expectations: dict[str, Expectation] = {}
        self._schedules: dict[str, Schedule] = {}
        self._finished = 0
        self._stale = False
        self._write_again_at = 0.0
        self._info = RunInfo(scenario=scenario.name)
        self._writer: RunWriter | None = None
        self._held: list[CellResult] = []
        self._results: list[CellResult] = []
        self.unwritten: list[ResultsInvalid] = []
        """What could not be written at the end, although the run itself was carried through."""

    def run(self) -> Run:
        """Run, write results and reports, and return the run.

        A result that is known is returned also where the disk refuses it at the end; `unwritten` then says so.

        Raises:
            AckgapError: As the campaign raises it, after the reports of what had finished are written; `so_far` has
                what that is.
            KeyboardInterrupt: The same.
        """
        variants = self._selection.variants_of(self._scenario)
        check_requirements(self._scenario, variants)
        campaign = Campaign(
            self._scenario,
            selection=self._selection,
            listener=self,
            jobs=self._jobs,
            network=self._network,
            warm=self._warm,
            copies=self._copies,
            shard=self._shard,
        )
        check_writable(self._directory)
        complete = False
        with directory_lock(self._directory):
            # Only now, as it may take minutes: whatever else is wrong has been told.
            self._scenario = with_environments(self._scenario, variants, tell=self._tell)
            check_requirements(self._scenario, variants)
            campaign.equip(self._scenario.environments)
            self._before = self._interrupted() if self._resume else None
            if self._before is not None:
                self._written = {cell.cell: cell for cell in self._before.cells}
                campaign.resume(Earlier(self._written, self._before.info.expectations, self._before.with_history))
            try:
                campaign.run()
                complete = True
                if self._writer is None and self._is_empty_part():
                    self._writer = self._open()
            finally:
                self._info = replace(self._info, interrupted=not complete)
                self._conclude(campaign.bounds)
        if self._writer is None:
            raise UsageInvalid(
                "no cell was run: no crash point is like the ones that were asked for",
                where="--point, --only, --slice or --schedule",
                next_step=f"points that there are: {', '.join(self._some_points()) or 'none'}, ...",
            )
        return self._so_far() if self.unwritten else read_run(self._directory)

    def _is_empty_part(self) -> bool:
        """Whether this is a part without a row of a run that has rows: right as it is, and needed for the whole."""
        known = self._expectations.values()
        return self._shard != WHOLE and any(self._selection.chosen(each.points) for each in known)

    def _interrupted(self) -> Run | None:
        """Return the run that the directory holds, None where it holds none.

        Raises:
            ResultsInvalid: It cannot be read.
            UsageInvalid: It is a run of something else.
        """
        if not (self._directory / RUN_FILE).exists():
            return None
        run = read_run(self._directory)
        different = list(differences(run.info.fingerprint, self._fingerprint))
        if run.info.shard != str(self._shard):
            different.append("the part (--shard)")
        if different:
            raise UsageInvalid(
                f"what is to be run is not what was run; what differs: {', '.join(different)}",
                where=f"--resume, {self._directory}",
                next_step="run without --resume, which keeps the earlier results beside the new ones, or with another "
                "--out",
            )
        return run

    def so_far(self) -> Run | None:
        """Return what has finished by now, from memory; None where no cell has."""
        return self._so_far() if any(result.schedule.faults for result in self._results) else None

    def _so_far(self) -> Run:
        return Run.of(self._directory, self._info, self._results)

    @cached_property
    def _versions(self) -> Mapping[str, str]:
        return versions(self._scenario, self._selection.variants_of(self._scenario))

    @cached_property
    def _fingerprint(self) -> str:
        return fingerprint(self._as_written, self._selection, self._versions, results=self._directory)

    def _open(self) -> RunWriter:
        """Set an earlier run aside and begin to write; only now, so that a mistake does not cost its results."""
        if self._before is None:
            set_aside(self._directory)
        writer = RunWriter(self._directory, resume=self._before is not None)
        text = json.dumps(self._source.to_json(self._directory), indent=1)
        (self._directory / SOURCE_FILE).write_text(f"{text}\n", encoding="utf-8")
        for result in self._held:
            writer.append(result)
        self._held.clear()
        return writer

    def _conclude(self, bounds: Bounds) -> None:
        if self._writer is None:
            return
        self._info = replace(self._info, bounds=bounds)
        for step in (self._write_info, self._writer.close, lambda: write_reports_of(self._so_far())):
            try:
                step()
            except ResultsInvalid as error:
                self.unwritten.append(error)

    def _some_points(self) -> list[str]:
        points = dict.fromkeys(point for known in self._expectations.values() for point in known.points)
        return list(points)[:6]

    # -------------------------------------------- Listener, before the display

    def began(self, variants: Sequence[Variant], isolated: bool) -> None:
        """Write down what is going to be run."""
        told = Redactor.of(os.environ).text
        self._info = RunInfo(
            scenario=self._scenario.name,
            title=told(self._scenario.title),  # a worker of the command line is called by its command
            about=told(self._scenario.about),
            versions=self._versions,
            manners=self._selection.manners,
            named=self._selection.schedules,
            fingerprint=self._fingerprint,
            shard=str(self._shard),
            known_gaps=self._scenario.known_gaps,
            origin=Origin.of(self._scenario),
            started_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            command=self._command,
            axes=tuple(AxisInfo.of(axis) for axis in self._scenario.axes),
            variants=tuple(variants),
            replay_prefix=replay_prefix(self._directory),
            notes=(network_note(self._scenario, isolated=isolated), *_shortened_notes(self._scenario)),
            interrupted=True,
        )
        self._write_info()
        self._display.began(variants, isolated)
        for text in self._info.notes:
            self._display.noted(text)

    def probed(self, variant: Variant, expectation: Expectation) -> None:
        """Keep the yardstick of a variant."""
        self._expectations[str(variant)] = expectation
        self._stale = True
        self._write_info_in_turn()
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
        self._results.append(replace(result, history=()))
        if self._writer is None and result.schedule.faults:
            self._writer = self._open()
            self._write_info()
        if self._writer is None:
            self._held.append(result)
        elif not self._is_written(result):
            self._writer.append(result)
        self._finished += 1
        self._write_info_in_turn()
        self._display.finished(replace(result, history=()))

    def _is_written(self, result: CellResult) -> bool:
        """Whether a result was taken over, as it is, from the run that was interrupted."""
        return self._written.get(result.cell) == replace(result, history=())

    # -------------------------------------------------------------- run.json

    def _write_info_in_turn(self) -> None:
        """Write it if it is stale and not more time would go into that than a tenth: it grows with every variant."""
        if self._stale and time.monotonic() >= self._write_again_at:
            self._write_info()

    def _write_info(self) -> None:
        began = time.monotonic()
        self._stale = False
        killed = [schedule for schedule in self._schedules.values() if schedule.faults]
        cells = len(killed) * len(self._expectations)
        ran = self._finished - len(self._expectations)
        self._info = replace(
            self._info,
            expectations=dict(self._expectations),
            not_applicable=0 if self._info.interrupted else self._not_applicable(cells - ran),
        ).with_rows(self._schedules.values())
        if self._writer is not None:
            self._writer.write_run(self._info)
        self._write_again_at = time.monotonic() + 10 * (time.monotonic() - began)

    def _not_applicable(self, missing: int) -> int:
        """Return how many cells of the full rectangle there cannot be, of so many that are missing."""
        return max(0, missing)


def check_writable(directory: Path) -> None:
    """Refuse a directory that results cannot be written to, before anything runs.

    Raises:
        ResultsInvalid: Names the directory.
    """
    try:
        if not directory.resolve().name:
            raise ValueError("it is the root of the file system")
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=directory, prefix=".ackgap-"):
            pass
    except (OSError, ValueError) as error:  # ValueError: a NUL character in the path
        raise ResultsInvalid(
            f"results cannot be written: {getattr(error, 'strerror', None) or error}",
            where=str(directory),
            next_step="name a directory that you can write to with --out",
        ) from error


def set_aside(directory: Path) -> None:
    """Move the results of an earlier run in a directory to `<directory>.previous`.

    Raises:
        ResultsInvalid: They cannot be moved.
    """
    names = (RUN_FILE, CELLS_FILE, HISTORIES_FILE, SOURCE_FILE, *REPORT_FILES)
    found = [directory / name for name in names if (directory / name).exists()]
    if not found:
        return
    whole = directory.resolve()
    previous = whole.with_name(whole.name + ".previous")
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
