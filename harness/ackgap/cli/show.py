"""`ackgap show`: the matrix of a run that has ended or goes on, or what there is to say of one of its cells."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ackgap.report.account import render_account
from ackgap.report.choosing import one_cell
from ackgap.report.commands import replay_prefix
from ackgap.report.hanging import Hanging
from ackgap.report.lock import is_held
from ackgap.report.store import Run, read_run
from ackgap.report.terminal import make_console, print_run

__all__ = ["show"]


def show(options: argparse.Namespace) -> int:
    """Print what a directory of results has, and return 0: a look at something is no verdict about it."""
    directory = Path(options.directory)
    goes_on = is_held(directory)
    run = _as_far_as_it_is(read_run(directory))
    console = make_console()
    if options.cell is not None:
        console.print(render_account(run, one_cell(run, options.cell)), soft_wrap=True)
        return 0
    print_run(console, replace(run, info=replace(run.info, interrupted=False)) if goes_on else run)
    if goes_on:
        count = f"{len(run.cells)} of {run.info.planned_cells}" if run.info.planned_cells else f"{len(run.cells)}"
        console.print(Hanging("\n", f"The run goes on: {count} cells have finished so far."))
    return 0


def _as_far_as_it_is(run: Run) -> Run:
    """Return a run as it can be looked at from here: commands lead to where it is now, and rows are in their order.

    Rows are written down when a run ends; what has been moved keeps the commands of where it was.
    """
    info = replace(run.info, replay_prefix=replay_prefix(run.directory))
    if info.interrupted:
        info = info.with_rows(cell.schedule for cell in run.cells)
    return Run.of(run.directory, info, run.cells)
