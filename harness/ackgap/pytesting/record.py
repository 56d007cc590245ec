"""Record: the results of cells that tests ran, in a directory that `ackgap replay`, `show` and `report` can read.

It goes on with what lies there if that is of the same scenario, files and versions: a run of one cell leaves the
results of the others in place, and all processes of a test run write into the same one.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from ackgap.campaign.picking import Picked
from ackgap.campaign.selection import Selection
from ackgap.errors import ResultsInvalid
from ackgap.files import alone
from ackgap.fingerprint import differences, fingerprint
from ackgap.model.bounds import Bounds
from ackgap.model.expectation import Expectation
from ackgap.model.history import History
from ackgap.model.matrix import CellResult, Variant
from ackgap.report.commands import replay_prefix
from ackgap.report.info import AxisInfo, RunInfo
from ackgap.report.origin import Origin
from ackgap.report.store import RUN_FILE, Run, RunWriter, read_run
from ackgap.report.write import HTML_FILE, write_reports_of
from ackgap.requirements import versions
from ackgap.scenario.scenario import Scenario
from ackgap.session import check_writable, set_aside
from ackgap.source import SOURCE_FILE, Source

__all__ = ["Record", "conclude"]

_LOCK_FILE = ".ackgap.tests.lock"


class Record:
    """Writes down results as they come.

    Args:
        directory: Where.
        source: Where the scenario comes from.
        scenario: Whose cells.

    Raises:
        ResultsInvalid: The directory cannot be written to.
    """

    def __init__(self, directory: Path, source: Source, scenario: Scenario) -> None:
        self.directory = directory
        self._source = source
        self._scenario = scenario
        self._writer: RunWriter | None = None
        check_writable(directory)

    @property
    def prefix(self) -> str:
        """What a cell's name is appended to, to run it again."""
        return replay_prefix(self.directory)

    def open(self, cells: Iterable[Picked], expectations: Mapping[Variant, Expectation], notes: Iterable[str]) -> None:
        """Begin to write, or go on with what lies there; may be called again when more is known.

        Args:
            cells: That there are, whether they are run or not.
            expectations: Yardsticks of the variants.
            notes: What a reader should know.

        Raises:
            ResultsInvalid: It cannot be written.
        """
        with alone(self.directory / _LOCK_FILE):
            mine = self._info(expectations, notes)
            before = self._before(mine)
            if before is None and self._writer is None:
                set_aside(self.directory)
            if self._writer is None:
                self._writer = RunWriter(self.directory, resume=before is not None)
                text = json.dumps(self._source.to_json(self.directory), indent=1)
                (self.directory / SOURCE_FILE).write_text(f"{text}\n", encoding="utf-8")
            known = [] if before is None else [(cell.variant, cell.schedule) for cell in before.cells]
            there = dict.fromkeys([*cells, *known])
            info = mine if before is None else _with(mine, before.info, self._scenario)
            rows = dict.fromkeys(schedule for _, schedule in there)
            planned = max(len(there), 0 if before is None else before.info.planned_cells)
            struck = sum(bool(schedule.faults) for schedule in rows) * len(info.variants)
            missing = max(0, struck - sum(bool(schedule.faults) for _, schedule in there))
            self._writer.write_run(replace(info, planned_cells=planned, not_applicable=missing).with_rows(rows))

    def keep(self, result: CellResult) -> None:
        """Write a result down, over an earlier one of the same cell.

        Raises:
            ResultsInvalid: It cannot be written.
        """
        assert self._writer is not None, "not open"
        with alone(self.directory / _LOCK_FILE):
            self._writer.append(result)

    def history(self, cell: str) -> History:
        """Return the history of a cell that was written down."""
        return Run(directory=self.directory, info=RunInfo(scenario=self._scenario.name), cells=()).history(cell)

    def close(self) -> None:
        """Close the files."""
        if self._writer is not None:
            self._writer.close()

    def _info(self, expectations: Mapping[Variant, Expectation], notes: Iterable[str]) -> RunInfo:
        scenario = self._scenario
        variants = tuple(expectations)
        told = versions(scenario, variants)
        return RunInfo(
            scenario=scenario.name,
            title=scenario.title,
            about=scenario.about,
            versions=told,
            # Of the scenario as a whole: which part a test is about changes nothing of what a cell is.
            fingerprint=fingerprint(scenario, Selection(), told, results=self.directory),
            known_gaps=scenario.known_gaps,
            origin=Origin.of(scenario),
            started_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            command="pytest",
            axes=tuple(AxisInfo.of(axis) for axis in scenario.axes),
            variants=variants,
            expectations={str(variant): found for variant, found in expectations.items()},
            replay_prefix=self.prefix,
            notes=tuple(notes),
        )

    def _before(self, mine: RunInfo) -> Run | None:
        """Return what lies there if it is of the same; None where it is not, or cannot be read."""
        if not (self.directory / RUN_FILE).exists():
            return None
        try:
            run = read_run(self.directory)
        except ResultsInvalid:
            return None
        same = not differences(run.info.fingerprint, mine.fingerprint) and run.info.command == mine.command
        return run if same else None


def conclude(directory: Path) -> Path:
    """Make the reports of what lies in a directory, and return the one that a person opens.

    Raises:
        ResultsInvalid: They cannot be made.
    """
    with alone(directory / _LOCK_FILE):
        run = read_run(directory)
        variants = len(run.info.variants)
        ran = sum(bool(cell.schedule.faults) for cell in run.cells)
        left = max(0, run.info.planned_cells - variants - ran)
        info = replace(run.info, bounds=Bounds(faults=(), variants=variants, ran=ran, left=left))
        with RunWriter(directory, resume=True) as writer:
            writer.write_run(info)
        write_reports_of(Run.of(directory, info, run.cells))
    return directory / HTML_FILE


def _with(mine: RunInfo, before: RunInfo, scenario: Scenario) -> RunInfo:
    """Return what is to be run together with what was run before, of the same scenario."""
    known = {*mine.variants, *before.variants}
    return replace(
        mine,
        variants=tuple(variant for variant in scenario.variants() if variant in known),
        expectations={**before.expectations, **mine.expectations},
        notes=tuple(dict.fromkeys((*before.notes, *mine.notes))),
    )
