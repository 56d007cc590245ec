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
from ackgap.report.headline import expected_sentence, headline, scope_sentence
from ackgap.report.overview import Column, FindingGroup, Overview
from ackgap.report.plain import plain, replay_command, shortened
from ackgap.report.store import RowInfo, Run

__all__ = ["STYLES", "glyph_text", "make_console", "print_run", "render_matrix"]

STYLES = {Colour.RED: "bold red", Colour.AMBER: "yellow", Colour.GREEN: "green", Colour.GREY: "bright_black"}
_GAP_STYLE = "yellow"
_QUIET = "bright_black"
_PLAIN_WIDTH = 100
_PHASE_WIDTH = 11
_CELL_WIDTH = 4
_LABEL_WIDTH = 34
_LEAST_LABEL = 22


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
    for sentence in (scope_sentence(run), expected_sentence(run)):
        if sentence:
            console.print(Text(sentence, style=_QUIET))
    if run.cells:
        console.print(Group(Text(""), render_matrix(run, width=width), Text(""), _chips(overview)))
    for group in overview.groups(Colour.RED, Colour.GREY, by_cause=True):
        _print_finding(console, run, group)
    amber = [_amber_line(group) for group in overview.groups(Colour.AMBER)]
    if amber:
        console.print(Group(Text(""), *amber))
    if run.info.notes:
        notes = [_hanging("· ", plain(note), _QUIET) for note in run.info.notes]
        console.print(Group(Text(""), Text("Notes", style=_QUIET), *notes))


def render_matrix(run: Run, *, width: int = 80) -> RenderableType:
    """Return the matrix: points on a rail in the order of the run, the gap bracketed, variants as columns."""
    overview = Overview(run)
    label_width = min(_LABEL_WIDTH, max((len(_boundary(row)) for row in overview.rows), default=0))
    room = (width - 4 - label_width - 1 - _PHASE_WIDTH) // _CELL_WIDTH
    if room < 4:
        label_width = max(_LEAST_LABEL, label_width - (4 - room) * _CELL_WIDTH)
        room = max(1, (width - 4 - label_width - 1 - _PHASE_WIDTH) // _CELL_WIDTH)
    axes = overview.shown_axes(room)
    columns = overview.columns(axes)
    lines: list[RenderableType] = list(_legend(overview, axes, columns))
    if len(columns) > 1:
        head = "".join(f"{number:>{_CELL_WIDTH}}" for number in range(1, len(columns) + 1))
        lines.append(Text(f"{'killed at':<{4 + label_width + 1 + _PHASE_WIDTH}}{head}", style=_QUIET, no_wrap=True))
    inside = False
    mixed = False
    for row in overview.rows:
        gap = row.label in overview.gap
        if gap != inside:
            lines.append(_gap_edge(opens=gap, width=min(width, 4 + label_width + 1 + _PHASE_WIDTH)))
            inside = gap
        line, some_mixed = _row(overview, row, columns, label_width, gap=gap)
        mixed = mixed or some_mixed
        lines.append(line)
    if inside:
        lines.append(_gap_edge(opens=False, width=4 + label_width + 1 + _PHASE_WIDTH))
    if mixed:
        lines.append(
            Text("* the column stands for several variants that differ here; the worst is shown", style=_QUIET)
        )
    return Group(*lines)


def _row(
    overview: Overview, row: RowInfo, columns: tuple[Column, ...], label_width: int, *, gap: bool
) -> tuple[Text, bool]:
    stop = {BoundaryKind.CALL: "●", BoundaryKind.CHECKPOINT: "■", None: " "}[row.boundary_kind]
    rail = " " if row.phase is None else "┃" if gap else "│"
    line = Text(no_wrap=True, overflow="crop")
    line.append(f"{rail} {stop} ", style=_GAP_STYLE if gap else _QUIET)
    line.append(f"{shortened(_boundary(row), label_width):<{label_width}} ")
    line.append(f"{row.phase or '':<{_PHASE_WIDTH}}", style=_GAP_STYLE if gap else _QUIET)
    mixed = False
    for column in columns:
        merged = overview.at(row, column)
        if merged is None:
            line.append(f"{'·':>{_CELL_WIDTH - 1}} ", style=_QUIET)
            continue
        mixed = mixed or merged.mixed
        line.append(f"{GLYPHS[merged.kind]:>{_CELL_WIDTH - 1}}", style=STYLES[merged.kind.colour])
        line.append("*" if merged.mixed else " ", style=_QUIET)
    return line, mixed


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


def _print_finding(console: Console, run: Run, group: FindingGroup) -> None:
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
