"""`ackgap init`."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ackgap.errors import AckgapError, UsageInvalid
from ackgap.files import write_whole
from ackgap.report.plain import plain
from ackgap.report.terminal import make_console
from ackgap.scenario.load import SCENARIO_FILE, load_scenario
from ackgap.starting.compose import compose
from ackgap.starting.draft import Draft, Remarks
from ackgap.starting.project import read_project
from ackgap.starting.writing import first_test, scenario_text

__all__ = ["init"]

_TEST = Path("tests") / "test_crashes.py"


def init(options: argparse.Namespace) -> int:
    """Look at a project, write a scenario and a test for it, and say what is certain of it."""
    directory = Path(options.directory)
    project = read_project(directory)
    scenario, test = directory / SCENARIO_FILE, directory / _TEST
    writes = not (options.dry_run or options.stdout)
    if writes and scenario.exists() and not options.force:
        raise UsageInvalid(
            f"{SCENARIO_FILE} is there already, and is left alone.",
            where=str(scenario),
            next_step="See what would be written with --stdout, or replace it with --force.",
        )
    draft, remarks = compose(project, options.worker)
    text = scenario_text(draft)
    console = make_console(sys.stderr) if options.stdout else make_console()
    _say_remarks(console, remarks)
    if options.stdout:
        sys.stdout.write(text)
        return 0
    if not writes:
        _say_list(console, "Would write", [str(scenario), str(test)])
        return 0
    keeps_test = test.exists() and not options.force
    if not keeps_test:
        _write(test, first_test(f"../{SCENARIO_FILE}", collected=project.collected))
    _write(scenario, text)
    written = [str(scenario), f"{test} is there already, and is left alone" if keeps_test else str(test)]
    _say_list(console, "Written", written)
    _check(console, scenario)
    _say_list(console, "Next", _next(draft, remarks, directory))
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, [text])
    except OSError as error:
        raise UsageInvalid(
            f"The file cannot be written: {error.strerror or error}.",
            where=str(path),
            next_step="Give a directory that you may write to, or use --stdout.",
        ) from None


def _check(console: Console, scenario: Path) -> None:
    """Load what was written, as a run does, and say what this machine lacks for it."""
    try:
        load_scenario(scenario)
    except AckgapError as error:
        console.print()
        console.print(Text(plain(f"As it is, it cannot be run: {error}"), style="bold"))


def _next(draft: Draft, remarks: Remarks, directory: Path) -> Iterator[str]:
    if remarks.edits:
        yield "make the edits above"
    place = shlex.quote(os.path.normpath(directory))
    yield f"ackgap run {place}"
    yield f"pytest {place}" if place != "." else "pytest"
    if draft.services:
        yield "ackgap doctor, which says whether this machine has " + ", ".join(item.name for item in draft.services)


def _say_remarks(console: Console, remarks: Remarks) -> None:
    for heading, pairs in (
        ("Found", remarks.found),
        ("Guessed", remarks.guessed),
        ("Not known", remarks.unknown),
    ):
        if pairs:
            _heading(console, heading)
            table = Table.grid(padding=(0, 2))
            for topic, text in dict.fromkeys(pairs):
                table.add_row(Text(f"  {plain(topic)}", style="dim"), Text(plain(text)))
            console.print(table)
    _say_list(console, "To edit before a run", list(dict.fromkeys(remarks.edits)))


def _say_list(console: Console, heading: str, lines: Sequence[str] | Iterator[str]) -> None:
    lines = list(lines)
    if lines:
        _heading(console, heading)
        for line in lines:
            console.print(Text(f"  {plain(line)}"), soft_wrap=True)  # what is to be copied is not broken


def _heading(console: Console, text: str) -> None:
    console.print(Text(text, style="bold"))
