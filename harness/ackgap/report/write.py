"""Every report of a run, from its files alone."""

from __future__ import annotations

from pathlib import Path

from ackgap.errors import ResultsInvalid
from ackgap.report.junit import junit_xml
from ackgap.report.page import page_html
from ackgap.report.store import Run, read_run
from ackgap.report.summary import summary_markdown

__all__ = ["HTML_FILE", "JUNIT_FILE", "SUMMARY_FILE", "write_reports"]

HTML_FILE = "report.html"
JUNIT_FILE = "junit.xml"
SUMMARY_FILE = "summary.md"


def write_reports(directory: Path) -> Run:
    """Write `report.html`, `junit.xml` and `summary.md` beside the results, and return the run.

    Nothing but the files of the run goes in, so that a report made again equals the first one.

    Raises:
        ResultsInvalid: The directory holds no readable run, or cannot be written.
    """
    run = read_run(directory)
    try:
        (directory / SUMMARY_FILE).write_text(summary_markdown(run), encoding="utf-8")
        (directory / JUNIT_FILE).write_text(junit_xml(run), encoding="utf-8")
        temporary = directory / f".{HTML_FILE}.part"
        with temporary.open("w", encoding="utf-8") as stream:
            stream.writelines(page_html(run))
        temporary.replace(directory / HTML_FILE)
    except OSError as error:
        raise ResultsInvalid(
            f"Reports cannot be written: {error.strerror or error}.",
            where=str(directory),
            next_step="Make the directory writable, or copy the results to one that is.",
        ) from error
    return run
