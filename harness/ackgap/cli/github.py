"""A job of GitHub Actions is told what was found, by annotations and a summary, and obeys nothing else that is printed.

The runner of a job obeys every line of its output that looks like a workflow command. Reports show what workers and
services have said, so while they are printed the runner is told not to listen. Light: every start reads it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from ackgap.report.annotations import Annotation
    from ackgap.report.diff.comparison import Comparison
    from ackgap.report.store import Run

__all__ = ["tell_of_comparison", "tell_of_run", "unheard"]

_TEXT = frozenset(
    {"run:run", "search:search", "replay:replay", "show:show", "trace:trace", "results:report", "results:merge"}
    | {"diff:diff"}
)
"""Commands that print text for people, as long as no option asks for a document."""
_deaf: list[str] = []
"""The word at which the runner listens again, while it does not."""


@contextlib.contextmanager
def unheard(options: argparse.Namespace) -> Iterator[None]:
    """Keep the runner from obeying what a command prints; anywhere else than in such a job it does nothing."""
    if not _in_job() or not _prints_text(options):
        yield
        return
    with contextlib.suppress(OSError, ValueError):  # nobody reads it; the command itself says so
        _stop(sys.stdout)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
            _listen(sys.stdout)


def tell_of_run(when: str, run: Run) -> None:
    """Print annotations of a run and add its summary to that of the job.

    Args:
        when: `auto`, `always` or `never`; `auto` is in a job of GitHub Actions, and not for a part of a run, since the
            whole tells of it.
        run: What was found.
    """
    if not _is_wanted(when) or (when == "auto" and run.info.shard):
        return
    from ackgap.report.annotations import annotations_of
    from ackgap.report.summary import summary_markdown

    _tell(annotations_of(run), sys.stdout)
    _summarise(summary_markdown(run))


def tell_of_comparison(when: str, comparison: Comparison, *, document: bool) -> None:
    """Print annotations of what is newly bad, and add the comparison to the summary of the job.

    Args:
        when: `auto`, `always` or `never`.
        comparison: Of two runs.
        document: Standard output is a document, in which annotations have no place.
    """
    if not _is_wanted(when):
        return
    from dataclasses import replace

    from ackgap.report.annotations import annotations_of
    from ackgap.report.diff.cells import Change
    from ackgap.report.diff.markdown import comparison_markdown

    loud = (Change.NEWLY_RED, Change.NEWLY_INCONCLUSIVE, Change.NEWLY_AMBER)
    cells = (cell.after for change in loud for cell in comparison.of(change) if not cell.better)
    newly = replace(comparison.new, cells=tuple(cell for cell in cells if cell is not None))
    _tell(annotations_of(newly, about="ackgap, new"), sys.stderr if document else sys.stdout)
    _summarise(comparison_markdown(comparison))


def _in_job() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _is_wanted(when: str) -> bool:
    return when == "always" or (when == "auto" and _in_job())


def _prints_text(options: argparse.Namespace) -> bool:
    document = getattr(options, "json", False) or getattr(options, "format", "text") != "text"
    return options.command_function in _TEXT and not document


def _stop(stream: TextIO) -> None:
    word = secrets.token_hex(16)
    _deaf.append(word)
    print(f"::stop-commands::{word}", file=stream, flush=True)


def _listen(stream: TextIO) -> None:
    print(f"\n::{_deaf.pop()}::", file=stream, flush=True)


def _tell(annotations: Iterable[Annotation], stream: TextIO) -> None:
    from ackgap.report.annotations import capped

    lines = [annotation.command for annotation in capped(annotations)]
    if not lines:
        return
    deaf = bool(_deaf) and stream is sys.stdout
    if deaf:
        _listen(stream)
    print("\n".join(lines), file=stream, flush=True)
    if deaf:
        _stop(stream)


def _summarise(text: str) -> None:
    """Add to the summary of the job; a job goes on without one."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        return
    from ackgap.report.annotations import fitting_summary

    try:
        with open(file, "ab") as stream:  # noqa: PTH123 - no import of pathlib for it
            fitting = fitting_summary(text, taken_bytes=stream.tell())
            stream.write(fitting.encode("utf-8", "backslashreplace"))
    except OSError as error:
        print(f"ackgap: the summary of the job cannot be written: {error.strerror or error}", file=sys.stderr)
        print(f"  where: GITHUB_STEP_SUMMARY, {file}", file=sys.stderr)
