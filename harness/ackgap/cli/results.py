"""`ackgap report`."""

from __future__ import annotations

import argparse
from pathlib import Path

from ackgap.report.terminal import make_console, print_run
from ackgap.report.write import HTML_FILE, write_reports

__all__ = ["report"]


def report(options: argparse.Namespace) -> int:
    """Rebuild the reports of a run."""
    directory = Path(options.directory)
    result = write_reports(directory)
    console = make_console()
    print_run(console, result)
    console.print(f"\n{directory / HTML_FILE}")
    return 0
