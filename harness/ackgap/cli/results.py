"""`ackgap report` and `ackgap merge`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ackgap.cli.github import tell_of_run
from ackgap.cli.run import exit_status
from ackgap.cli.shown import show
from ackgap.merge import merge_runs
from ackgap.report.failing import failing_kinds
from ackgap.report.store import read_run

__all__ = ["merge", "report"]


def merge(options: argparse.Namespace) -> int:
    """Join the parts of a run, print the matrix of the whole, and return the exit status of `run`."""
    failing = failing_kinds(options.fail_on)
    directory = Path(options.out)
    result = merge_runs([Path(name) for name in options.directories], directory)
    show(result, directory)
    tell_of_run(options.github, result)
    return exit_status(result, failing)


def report(options: argparse.Namespace) -> int:
    """Rebuild the reports of a run; the matrix is printed also where they cannot be written."""
    failing = failing_kinds(options.fail_on)
    directory = Path(options.directory)
    result = read_run(directory)
    show(result, directory)
    tell_of_run(options.github, result)
    return exit_status(result, failing)
