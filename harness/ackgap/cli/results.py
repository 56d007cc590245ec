"""`ackgap report`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ackgap.report.store import read_run
from ackgap.report.terminal import make_console, print_run
from ackgap.report.write import HTML_FILE, write_reports_of

__all__ = ["report"]


def report(options: argparse.Namespace) -> int:
    """Rebuild the reports of a run; the matrix is printed also where they cannot be written."""
    directory = Path(options.directory)
    result = read_run(directory)
    console = make_console()
    print_run(console, result)
    write_reports_of(result)
    console.print(f"\n{directory / HTML_FILE}")
    return 0
