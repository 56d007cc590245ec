"""A run in a terminal: the matrix on its rail, the findings, and the story of one cell."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from typing import IO

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ackgap.model.boundary import BoundaryKind
from ackgap.model.verdict import GLYPHS, Colour, VerdictKind
from ackgap.report.derived import Certainties, bounds_sentence, facts_of, order_words
from ackgap.report.headline import expected_sentence, headline, scope_sentence
from ackgap.report.info import RowInfo
from ackgap.report.lines import Line, lines_of
from ackgap.report.overview import Column, FindingGroup, Overview
from ackgap.report.plain import plain, replay_command, shortened
from ackgap.report.rates import rate_lines
from ackgap.report.store import Run

__all__ = ["STYLES", "glyph_text", "make_console", "print_run", "render_matrix"]

STYLES = {Colour.RED: "bold red", Colour.AMBER: "yellow", Colour.GREEN: "green", Colour.GREY: "bright_black"}
_GAP_STYLE = "yellow"
_QUIET = "bright_black"
_PLAIN_WIDTH = 100
_PHASE_WIDTH = 11
_CELL_WIDTH = 4
_LABEL_WIDTH = 34
_LEAST_LABEL = 22
_MOST_BELOW = 24
"""How many rows below others are listed, before one line stands for those below each."""
_MARKS = {
    "*": "the cell stands for several that differ; the worst is shown",
    "<": "with two durable writes in the other order, another verdict",
    "~": "raced and repeated; the worst that came out is shown",
    "=": "not run: the same state as another cell",
}


def make_console(file: IO[str] | None = None) -> Console:
    """Return a console that colours only terminals and honours `NO_COLOR`; elsewhere lines are of a fixed width."""
    stream = file if file is not None else sys.stdout
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="replace")  # a terminal without the glyphs gets question marks, not a traceback
    console = Console(file=file, highlight=False, emoji=False, markup=False)
    if not console.is_terminal:
        return Console(
            file=file, highlight=False, emoji=False, markup=False, width=_PLAIN_WIDTH, color_system=None, no_color=True
        )
    return console


def print_run(console: Console, run: Run, *, width: int = 80) -> None:
    """Print everything a terminal shows of a run: headline, matrix, counts, findings with their replays.

    Args:
        console: Where to.
        run: What was found.
        width: Of the matrix, in characters; sentences take the console's width.
    """
    overview = Overview(run)
    console.print()
    console.print(Text(headline(run), style="bold"))
    bounds = bounds_sentence(run.info.bounds) if run.info.bounds is not None else ""
    for sentence in (scope_sentence(run), bounds, expected_sentence(run)):
        if sentence:
            console.print(Text(sentence, style=_QUIET))
    if run.cells:
        console.print(Group(Text(""), render_matrix(run, width=width), Text(""), _chips(overview)))
    raced = [_hanging("~ ", plain(line), _QUIET) for line in rate_lines(run)]
    if raced:
        console.print(Group(Text(""), Text("Raced, not settled", style=_QUIET), *raced))
    certainties = Certainties.of_run(run)
    for group in overview.groups(Colour.RED, Colour.GREY, by_cause=True):
        _print_finding(console, run, group, certainties)
    amber = [_amber_line(group) for group in overview.groups(Colour.AMBER)]
    if amber:
        console.print(Group(Text(""), *amber))
    if run.info.notes:
        notes = [_hanging("· ", plain(note), _QUIET) for note in run.info.notes]
        console.print(Group(Text(""), Text("Notes", style=_QUIET), *notes))


def render_matrix(run: Run, *, width: int = 80) -> RenderableType:
    """Return the matrix: points on a rail in the order of the run, the gap bracketed, variants as columns."""
    overview = Overview(run)
    rows = lines_of(overview, most=_MOST_BELOW)
    wanted = max((_label_width(line) for line in rows), default=0)
    label_width = min(_LABEL_WIDTH, wanted)
    room = (width - 4 - label_width - 1 - _PHASE_WIDTH) // _CELL_WIDTH
    if room < 4:
        label_width = max(_LEAST_LABEL, label_width - (4 - room) * _CELL_WIDTH)
        room = max(1, (width - 4 - label_width - 1 - _PHASE_WIDTH) // _CELL_WIDTH)
    axes = overview.shown_axes(room)
    columns = overview.columns(axes)
    spare = width - 4 - label_width - 1 - _PHASE_WIDTH - len(columns) * _CELL_WIDTH
    label_width = min(wanted, label_width + max(0, spare))
    lines: list[RenderableType] = list(_legend(overview, axes, columns))
    if len(columns) > 1:
        head = "".join(f"{number:>{_CELL_WIDTH}}" for number in range(1, len(columns) + 1))
        lines.append(
            Text(f"{_struck(overview):<{4 + label_width + 1 + _PHASE_WIDTH}}{head}", style=_QUIET, no_wrap=True)
        )
    inside = False
    used: set[str] = set()
    for line in rows:
        gap = line.row.label in overview.gap if line.branch is None else inside
        if gap != inside:
            lines.append(_gap_edge(opens=gap, width=min(width, 4 + label_width + 1 + _PHASE_WIDTH)))
            inside = gap
        text, marks = _row(overview, line, columns, label_width, gap=gap)
        used |= marks
        lines.append(text)
    if inside:
        lines.append(_gap_edge(opens=False, width=4 + label_width + 1 + _PHASE_WIDTH))
    lines += [Text(f"{mark} {meaning}", style=_QUIET) for mark, meaning in _MARKS.items() if mark in used]
    return Group(*lines)


def _row(
    overview: Overview, line: Line, columns: tuple[Column, ...], label_width: int, *, gap: bool
) -> tuple[Text, set[str]]:
    """Return a line of the matrix, and the signs that stand behind its verdicts."""
    row, style = line.row, _GAP_STYLE if gap else _QUIET
    text = Text(no_wrap=True, overflow="crop")
    rail = " " if row.phase is None else "┃" if gap else "│"
    if line.branch is None:
        stop = {BoundaryKind.CALL: "●", BoundaryKind.CHECKPOINT: "■", None: " "}[row.boundary_kind]
        text.append(f"{rail} {stop} ", style=style)
        text.append(f"{shortened(_boundary(row), label_width):<{label_width}} ")
        text.append(f"{row.phase or '':<{_PHASE_WIDTH}}", style=style)
    else:
        lead = f"{rail} {'  ' * line.depth}└ "
        room = 4 + label_width + 1 + _PHASE_WIDTH - len(lead)
        text.append(lead, style=style)
        text.append(f"{shortened(plain(line.words), room):<{room}}")
    marks = set()
    for column in columns:
        merged = overview.at(line.rows, column)
        if merged is None:
            text.append(f"{'·':>{_CELL_WIDTH - 1}} ", style=_QUIET)
            continue
        marks.add(merged.mark)
        text.append(f"{GLYPHS[merged.kind]:>{_CELL_WIDTH - 1}}", style=STYLES[merged.kind.colour])
        text.append(merged.mark or " ", style=_QUIET)
    return text, marks


def _struck(overview: Overview) -> str:
    return "fault at" if overview.views.several else "killed at"


def _label_width(line: Line) -> int:
    if line.branch is None:
        return len(_boundary(line.row))
    return 2 * line.depth + len(line.words) - _PHASE_WIDTH  # they run on into the column of phases


def _boundary(row: RowInfo) -> str:
    if row.phase is None:
        return row.label
    return plain(f"{row.name}#{row.occurrence}" if row.plain else row.label)


def _gap_edge(*, opens: bool, width: int) -> Text:
    text = "┏━ acknowledgment gap " if opens else "┗"
    return Text(f"{text:━<{width}}", style=_GAP_STYLE, no_wrap=True, overflow="crop")


def _legend(overview: Overview, axes: tuple[str, ...], columns: tuple[Column, ...]) -> Iterator[Text]:
    titles = {axis.name: axis.title or axis.name for axis in overview.run.info.axes}
    if len(columns) > 1:
        widths = {
            axis: max(len(axis), *(len(value) for column in columns for name, value in column.values if name == axis))
            for axis in axes
        }
        yield Text("     " + "  ".join(f"{axis:<{widths[axis]}}" for axis in axes), style=_QUIET)
        for number, column in enumerate(columns, start=1):
            line = Text(f"{number:>3}  ", style=_QUIET)
            line.append("  ".join(f"{value:<{widths[axis]}}" for axis, value in column.values), style="default")
            yield line
    folded = [axis for axis in overview.varied if axis not in axes]
    if folded:
        names = ", ".join(plain(titles.get(axis, axis)) for axis in folded)
        yield Text(f"Folded into each column: {names}.", style=_QUIET)
    if len(columns) > 1 or folded:
        yield Text("")


def _chips(overview: Overview) -> Text:
    line = Text()
    for kind, count in overview.counts.items():
        if line:
            line.append("   ")
        line.append(f"{GLYPHS[kind]} ", style=STYLES[kind.colour])
        line.append(f"{kind.words} {count}")
    return line


def _print_finding(console: Console, run: Run, group: FindingGroup, certainties: Certainties) -> None:
    title = Text(f"{GLYPHS[group.kind]} {group.kind.words}", style=STYLES[group.kind.colour])
    if group.operation:
        title.append(f"  {plain(group.operation)}", style="default")
    number = len(group.results)
    title.append(f"  {number} cell{'' if number == 1 else 's'}", style=_QUIET)
    body = [_hanging("   ", plain(group.finding.summary))]
    attribution = group.finding.attribution
    if attribution is not None:
        said = {side: getattr(attribution, side) for side in ("worker", "engine", "target", "fix")}
        body += [_hanging(f"   {side:<7}", plain(text)) for side, text in said.items() if text]
    body += [
        _hanging("   ", plain(fact)) for fact in (*order_words(group.example), *facts_of(group.example, certainties))
    ]
    console.print(Group(Text(""), title, *body))
    again = Text("   again  ", style=_QUIET)
    again.append(replay_command(run.info.replay_prefix, group.example.cell), style="cyan")
    # Never wrapped by us: a line end in the middle of a command would break it when it is copied.
    console.print(again, soft_wrap=True)
    if number > 1:
        console.print(Text(f"          and {number - 1} more like it", style=_QUIET))


def _amber_line(group: FindingGroup) -> Text:
    line = Text()
    line.append(f"{GLYPHS[group.kind]} {group.kind.words}", style=STYLES[group.kind.colour])
    number = len(group.results)
    line.append(
        f"  {plain(group.operation)}  {number} cell{'' if number == 1 else 's'}: {plain(group.finding.summary)}"
    )
    return line


def _hanging(mark: str, text: str, style: str = "default") -> RenderableType:
    grid = Table.grid(padding=0)
    grid.add_column(width=len(mark), no_wrap=True)
    grid.add_column()
    grid.add_row(Text(mark, style=_QUIET), Text(text, style=style))
    return grid


def glyph_text(kind: VerdictKind) -> Text:
    """Return a verdict as a coloured glyph and its words, for progress displays."""
    return Text(f"{GLYPHS[kind]} {kind.words}", style=STYLES[kind.colour])
