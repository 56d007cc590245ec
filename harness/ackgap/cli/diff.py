"""`ackgap diff`: what is different between two runs."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ackgap.cli.github import tell_of_comparison
from ackgap.errors import UsageInvalid
from ackgap.fingerprint import differences
from ackgap.report.console import make_console
from ackgap.report.diff.comparison import Comparison, compare
from ackgap.report.diff.document import comparison_document
from ackgap.report.diff.gate import MORE, Gate
from ackgap.report.diff.markdown import comparison_markdown
from ackgap.report.diff.shown import print_comparison
from ackgap.report.store import Run, read_run

__all__ = ["diff"]


def diff(options: argparse.Namespace) -> int:
    """Compare two runs, print what is different, and return the exit status."""
    gate = _gate(options.fail_on)
    old, new = (read_run(Path(name)) for name in (options.old, options.new))
    comparison = compare(old, new, parts=_parts(old, new))
    _print(comparison, options.format)
    tell_of_comparison(options.github, comparison, document=options.format != "text")
    return gate.status(comparison)


def _gate(text: str) -> Gate:
    """Return what fails the comparison.

    Raises:
        UsageInvalid: A word is none that is known.
    """
    try:
        return Gate.parse(text)
    except UsageInvalid as error:
        raise UsageInvalid(
            error.what, where=error.where, next_step=f"{error.next_step}, or {', '.join(MORE)}"
        ) from None


def _parts(old: Run, new: Run) -> tuple[str, ...]:
    prints = (old.info.fingerprint, new.info.fingerprint)
    if not all(prints):
        return ()  # results of an earlier version do not say
    return differences(*prints)


def _print(comparison: Comparison, form: str) -> None:
    if form == "json":
        print(json.dumps(comparison_document(comparison), indent=1, allow_nan=False))
    elif form == "markdown":
        sys.stdout.write(comparison_markdown(comparison))
    else:
        print_comparison(make_console(ends=True), comparison)
