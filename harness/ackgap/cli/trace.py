"""`ackgap trace`: the history of one cell, step by step, from what a run has kept."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ackgap.cli.project import reports_of
from ackgap.errors import ResultsInvalid, UsageInvalid
from ackgap.model.event_codec import event_to_json
from ackgap.model.matrix import CellResult
from ackgap.project import nearest_project
from ackgap.report.choosing import cells_like, one_cell
from ackgap.report.hanging import Hanging
from ackgap.report.plain import plain
from ackgap.report.store import RUN_FILE, Run, read_run
from ackgap.report.terminal import make_console
from ackgap.report.timeline import render_timeline, steps_of

__all__ = ["trace"]


def trace(options: argparse.Namespace) -> int:
    """Print what happened in a cell, and return 0."""
    run = _newest_with(options.cell) if options.directory is None else read_run(Path(options.directory))
    result = one_cell(run, options.cell)
    lived = _lived(run, result)
    if options.json:
        _print_json(run, lived)
        return 0
    console = make_console()
    if options.directory is None:
        console.print(Hanging("", plain(f"From {run.directory}:")))
    if lived is not result:
        console.print(Hanging("", plain(f"{result.cell} was not run: it has the same state as the cell that follows.")))
    console.print(render_timeline(run.with_history(lived), every=True), soft_wrap=True)
    return 0


def _lived(run: Run, result: CellResult) -> CellResult:
    """Return the cell itself, or the one that stands for it where it was not run."""
    return next((cell for cell in run.cells if cell.cell == result.equal_to), result)


def _print_json(run: Run, result: CellResult) -> None:
    """Print a line for each event, as it was kept, with the life that it is of and what is said of it in words."""
    history = run.history(result.cell)
    told = {step.event.seq: step for step in steps_of(history, every=True)}
    file = make_console().file
    for event in history:
        step = told.get(event.seq)
        words = {"life": step.life, "text": step.text} if step is not None else {"life": 0, "text": ""}
        file.write(json.dumps({**event_to_json(event), **words}) + "\n")


def _newest_with(cell: str) -> Run:
    """Return the newest run that has such a cell, below where the project's runs write.

    Raises:
        UsageInvalid: There is none.
    """
    results = reports_of(nearest_project(Path.cwd()))
    found = [path for path in results.glob(f"*/{RUN_FILE}") if path.is_file()]
    found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in found:
        try:
            run = read_run(path.parent)
        except ResultsInvalid:
            continue
        if cells_like(run, cell):
            return run
    looked = ", ".join(str(path.parent) for path in found) or "none"
    raise UsageInvalid(
        f"no run has a cell like '{plain(cell)}'",
        where=f"{results}, of which these hold a run: {looked}",
        next_step="name the directory of the run as well: ackgap trace DIR CELL",
    )
