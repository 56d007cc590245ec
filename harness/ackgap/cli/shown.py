"""What is done with a run that is there: it is printed, and its reports are written."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from ackgap.report.gaps import gap_lines
from ackgap.report.store import Run
from ackgap.report.terminal import make_console, print_run, print_ways_on
from ackgap.report.write import HTML_FILE, write_reports_of

__all__ = ["print_gaps", "show"]


def show(result: Run, directory: Path) -> None:
    """Print the matrix, write the reports, and say where they are; it is printed also where they cannot be written."""
    console = make_console()
    print_run(console, result)
    print_gaps(console, result)
    write_reports_of(result)
    print_ways_on(console, result, directory / HTML_FILE)


def print_gaps(console: Console, result: Run) -> None:
    """Print what a run says of the known gaps that its scenario declares."""
    lines = list(gap_lines(result))
    if lines:
        console.print("\n".join(["", *lines]), soft_wrap=True)
