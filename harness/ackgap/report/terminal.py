"""A run in a terminal: the matrix on its rail, the findings, and the commands that show more."""

from __future__ import annotations

from pathlib import Path

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.text import Text

from ackgap.model.verdict import GLYPHS, MEANINGS, Colour, Finding
from ackgap.report.console import make_console
from ackgap.report.derived import Certainties, bounds_sentence, facts_of, order_words
from ackgap.report.hanging import Hanging
from ackgap.report.headline import expected_sentence, headline, scope_sentence
from ackgap.report.matrix_text import STYLES, render_matrix
from ackgap.report.overview import FindingGroup, Overview
from ackgap.report.plain import plain, replay_command
from ackgap.report.rates import rate_lines
from ackgap.report.store import Run

__all__ = [
    "STYLES",
    "attribution_lines",
    "make_console",
    "print_run",
    "print_ways_on",
    "render_matrix",
]

_QUIET = "bright_black"
_PLAIN_MATRIX = 80
"""Characters of a matrix where the output is not a terminal."""
_LEAST_MATRIX = 50


def print_run(console: Console, run: Run, *, width: int | None = None) -> None:
    """Print everything a terminal shows of a run: headline, matrix, counts, findings with their replays.

    Args:
        console: Where to.
        run: What was found.
        width: Of the matrix, in characters; that of a terminal, and 80 elsewhere, where it is None.
    """
    if width is None:
        width = max(_LEAST_MATRIX, console.width) if console.is_terminal else _PLAIN_MATRIX
    overview = Overview(run)
    console.print()
    console.print(Hanging("", headline(run), "bold"))
    bounds = bounds_sentence(run.info.bounds) if run.info.bounds is not None else ""
    for sentence in (scope_sentence(run), bounds, expected_sentence(run)):
        if sentence:
            console.print(Hanging("", plain(sentence), _QUIET))
    if run.cells:
        console.print(Text(""))
        # Not wrapped and not cut by the console, whatever it takes its width to be: a verdict must not get lost.
        console.print(render_matrix(run, width=width), soft_wrap=True)
        console.print(Group(Text(""), *_counts(overview)))
    raced = [Hanging("~ ", plain(line), _QUIET) for line in rate_lines(run)]
    if raced:
        console.print(Group(Text(""), Text("Raced, not settled", style=_QUIET), *raced))
    certainties = Certainties.of_run(run)
    for group in overview.groups(Colour.RED, Colour.GREY, by_cause=True):
        _print_finding(console, run, group, certainties)
    amber = [_amber_line(group) for group in overview.groups(Colour.AMBER)]
    if amber:
        console.print(Group(Text(""), *amber))
    if run.info.notes:
        notes = [Hanging("· ", plain(note), _QUIET) for note in run.info.notes]
        console.print(Group(Text(""), Text("Notes", style=_QUIET), *notes))


def print_ways_on(console: Console, run: Run, page: Path) -> None:
    """Print what to do with a run that has been printed: commands that show more of it, and its report.

    Args:
        console: Where to.
        run: With at least one cell, or nothing is to be shown of it.
        page: The report.
    """
    console.print()
    shown = {}
    if run.cells:
        prefix = run.info.replay_prefix.replace(" replay ", " show ", 1)
        trace = run.info.replay_prefix.replace(" replay ", " trace ", 1)
        shown = {
            f"{prefix} CELL": "one cell: what happened, why, what differs; a part of its name will do",
            f"{trace} CELL": "the same step by step",
        }
    shown[str(page)] = "the matrix with both lives of every cell, for a browser"
    widest = max(map(cell_len, shown))
    for what, why in shown.items():
        line = Text(no_wrap=True, overflow="ignore")
        line.append(plain(what), style="cyan")
        if console.width >= widest + 2 + max(map(len, shown.values())):
            line.append(f"{' ' * (widest - cell_len(what))}  {why}", style=_QUIET)
        console.print(line, soft_wrap=True)


def _counts(overview: Overview) -> list[RenderableType]:
    """Return how many cells have each verdict, and what it means."""
    marks = {kind: f"{GLYPHS[kind]} {kind.words} {count}" for kind, count in overview.counts.items()}
    widest = max(map(len, marks.values()), default=0)
    return [
        Hanging(f"{mark:<{widest}}   ", MEANINGS[kind], _QUIET, mark_style=STYLES[kind.colour])
        for kind, mark in marks.items()
    ]


def _print_finding(console: Console, run: Run, group: FindingGroup, certainties: Certainties) -> None:
    title = Text(f"{GLYPHS[group.kind]} {group.kind.words}", style=STYLES[group.kind.colour])
    if group.operation:
        title.append(f"  {plain(group.operation)}", style="default")
    number = len(group.results)
    title.append(f"  {number} cell{'' if number == 1 else 's'}", style=_QUIET)
    body: list[RenderableType] = [Hanging("   ", plain(group.finding.summary))]
    body += attribution_lines(group.finding)
    body += [
        Hanging("   ", plain(fact)) for fact in (*order_words(group.example), *facts_of(group.example, certainties))
    ]
    console.print(Group(Text(""), title, *body))
    again = Text("   again  ", style=_QUIET)
    again.append(replay_command(run.info.replay_prefix, group.example.cell), style="cyan")
    # Never wrapped by us: a line end in the middle of a command would break it when it is copied.
    console.print(again, soft_wrap=True)
    if number > 1:
        console.print(Text(f"          and {number - 1} more like it", style=_QUIET))


def attribution_lines(finding: Finding) -> list[RenderableType]:
    """Return who could have prevented a finding, and how, a side a line."""
    if finding.attribution is None:
        return []
    return [Hanging(f"   {side:<7}", plain(text)) for side, text in finding.attribution.sides]


def _amber_line(group: FindingGroup) -> RenderableType:
    number = len(group.results)
    words = f"{plain(group.operation)}  {number} cell{'' if number == 1 else 's'}: {plain(group.finding.summary)}"
    mark = f"{GLYPHS[group.kind]} {group.kind.words}  "
    return Hanging(mark, words, mark_style=STYLES[group.kind.colour])
