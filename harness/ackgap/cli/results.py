"""`ackgap report` and `ackgap merge`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ackgap.cli.run import exit_status, failing_kinds
from ackgap.merge import merge_runs
from ackgap.report.store import read_run
from ackgap.report.terminal import make_console, print_run
from ackgap.report.write import HTML_FILE, write_reports_of

__all__ = ["merge", "report"]


def merge(options: argparse.Namespace) -> int:
    """Join the parts of a run, print the matrix of the whole, and return the exit status of `run`."""
    failing = failing_kinds(options.fail_on)
    directory = Path(options.out)
    result = merge_runs([Path(name) for name in options.directories], directory)
    console = make_console()
    print_run(console, result)
    write_reports_of(result)
    console.print(f"\n{directory / HTML_FILE}")
    return exit_status(result, failing)


def report(options: argparse.Namespace) -> int:
    """Rebuild the reports of a run; the matrix is printed also where they cannot be written."""
    directory = Path(options.directory)
    result = read_run(directory)
    console = make_console()
    print_run(console, result)
    write_reports_of(result)
    console.print(f"\n{directory / HTML_FILE}")
    return 0
