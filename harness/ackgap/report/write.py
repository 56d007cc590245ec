"""Every report of a run, from its files alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from ackgap.errors import ResultsInvalid
from ackgap.files import write_whole
from ackgap.report.junit import junit_xml
from ackgap.report.page import page_html
from ackgap.report.sarif import sarif_json
from ackgap.report.store import Run, read_run
from ackgap.report.summary import summary_markdown

__all__ = [
    "HTML_FILE",
    "JUNIT_FILE",
    "REPORT_FILES",
    "SARIF_FILE",
    "SUMMARY_FILE",
    "write_reports",
    "write_reports_of",
]

HTML_FILE = "report.html"
JUNIT_FILE = "junit.xml"
SARIF_FILE = "report.sarif"
SUMMARY_FILE = "summary.md"

_REPORTS: tuple[tuple[str, Callable[[Run], Iterable[str]]], ...] = (
    (SUMMARY_FILE, lambda run: [summary_markdown(run)]),
    (JUNIT_FILE, lambda run: [junit_xml(run)]),
    (SARIF_FILE, lambda run: [sarif_json(run)]),
    (HTML_FILE, page_html),
)
REPORT_FILES = tuple(name for name, _ in _REPORTS)
"""Everything that is made from a run's results, and can be made again."""


def write_reports(directory: Path) -> Run:
    """Write `report.html`, `junit.xml`, `report.sarif` and `summary.md` beside the results, and return the run.

    Nothing but the files of the run goes in, so that a report made again equals the first one.

    Raises:
        ResultsInvalid: The directory holds no readable run, or cannot be written.
    """
    run = read_run(directory)
    write_reports_of(run)
    return run


def write_reports_of(run: Run) -> None:
    """Write the reports of a run into its directory, each whole or not at all.

    Raises:
        ResultsInvalid: Names the first that cannot be written; those that can have been.
    """
    failed: ResultsInvalid | None = None
    for name, make in _REPORTS:
        try:
            write_whole(run.directory / name, make(run))
        except OSError as error:
            failed = failed or ResultsInvalid(
                f"A report cannot be written: {error.strerror or error}.",
                where=str(run.directory / name),
                next_step="Make room or make the directory writable, then `ackgap report` makes the reports anew.",
            )
    if failed is not None:
        raise failed
