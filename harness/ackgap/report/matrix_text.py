"""The matrix in a terminal: points on a rail in the order of the run, variants as numbered columns.

It fits the width that it is given. What gives way first is the names of points, cut in their middle; then the columns
stand in several blocks, one below the other; then those that say least are folded into others. Verdicts are never cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from ackgap.model.boundary import BoundaryKind
from ackgap.model.verdict import GLYPHS, Colour
from ackgap.report.hanging import Hanging
from ackgap.report.info import RowInfo
from ackgap.report.lines import Line, lines_of
from ackgap.report.overview import Column, Overview
from ackgap.report.plain import plain, shortened
from ackgap.report.store import Run

__all__ = ["STYLES", "render_matrix"]

STYLES = {Colour.RED: "bold red", Colour.AMBER: "yellow", Colour.GREEN: "green", Colour.GREY: "bright_black"}
_GAP_STYLE = "yellow"
_QUIET = "bright_black"
_RAIL = 4
"""Characters before a point's name: rail, stop, and the spaces around."""
_PHASE_WIDTH = 12
"""Of a phase, with the space before it."""
_CELL_WIDTH = 4
_LABEL_WIDTH = 34
_LEAST_LABEL = 14
_FEW_COLUMNS = 4
"""Names of points are cut below their usual width until so many columns have room."""
_MOST_BELOW = 24
"""How many rows below others are listed, before one line stands for those below each."""
_MOST_LINES = 48
"""How many lines a matrix in several blocks may have before columns are folded instead."""
_MOST_COLUMNS = 60
"""A legend that is longer is read by nobody."""
_MARKS = {
    "*": "the cell stands for several that differ; the worst is shown",
    "<": "with two durable writes in the other order, another verdict",
    "~": "raced and repeated; the worst that came out is shown",
    "=": "not run: the same state as another cell",
}


@dataclass(frozen=True, slots=True)
class _Layout:
    """How wide the parts of a line are."""

    label: int
    columns: int
    """How many stand beside each other."""

    @property
    def head(self) -> int:
        """Everything before the first verdict."""
        return _RAIL + self.label + _PHASE_WIDTH


def render_matrix(run: Run, *, width: int = 80) -> RenderableType:
    """Return the matrix, no wider than so many characters (50 at least): the gap bracketed, a legend above."""
    overview = Overview(run)
    rows = lines_of(overview, most=_MOST_BELOW)
    wanted = max((_label_width(line) for line in rows), default=0)
    layout = _layout(wanted, width)
    blocks = max(1, _MOST_LINES // (len(rows) + 3))
    axes = overview.shown_axes(min(layout.columns * blocks, _MOST_COLUMNS))
    columns = overview.columns(axes)
    beside = min(layout.columns, len(columns))
    spare = width - layout.head - beside * _CELL_WIDTH
    layout = _Layout(label=min(wanted, layout.label + max(0, spare)), columns=layout.columns)
    lines: list[RenderableType] = list(_legend(overview, axes, columns, width))
    used: set[str] = set()
    for first in range(0, len(columns), layout.columns):
        if first:
            lines.append(Text(""))
        lines += _block(overview, rows, columns, range(first, min(first + layout.columns, len(columns))), layout, used)
    meanings = {"·": "no such point there" if len(columns) > 1 else "not run", **_MARKS}
    lines += _key(overview)
    lines += [Hanging(f"{mark} ", meaning, _QUIET) for mark, meaning in meanings.items() if mark in used]
    return Group(*lines)


def _key(overview: Overview) -> Iterator[RenderableType]:
    """Yield what the signs on the rail stand for, as far as they are there."""
    kinds = {row.boundary_kind for row in overview.rows}
    told = {
        "● a request to a service": BoundaryKind.CALL in kinds,
        "■ a durable write": BoundaryKind.CHECKPOINT in kinds,
        "┃ done, and not written down yet": bool(overview.gap),
    }
    words = "   ".join(text for text, there in told.items() if there)
    if words:
        yield Hanging("", words, _QUIET)


def _layout(wanted: int, width: int) -> _Layout:
    label = min(_LABEL_WIDTH, wanted)
    room = (width - _RAIL - label - _PHASE_WIDTH) // _CELL_WIDTH
    if room < _FEW_COLUMNS:
        label = min(label, max(_LEAST_LABEL, label - (_FEW_COLUMNS - room) * _CELL_WIDTH))
        room = (width - _RAIL - label - _PHASE_WIDTH) // _CELL_WIDTH
    return _Layout(label=label, columns=max(1, room))


def _block(
    overview: Overview,
    rows: Sequence[Line],
    columns: Sequence[Column],
    shown: range,
    layout: _Layout,
    used: set[str],
) -> Iterator[Text]:
    """Yield the lines of some of the columns, and take note of the signs that stand in them."""
    if rows:
        numbers = "".join(f"{number + 1:>{_CELL_WIDTH - 1}} " for number in shown) if len(columns) > 1 else ""
        yield Text(f"{_struck(overview):<{layout.head}}{numbers}".rstrip(), style=_QUIET, no_wrap=True)
    inside = False
    for line in rows:
        gap = line.row.label in overview.gap if line.branch is None else inside
        if gap != inside:
            yield _gap_edge(opens=gap, width=layout.head)
            inside = gap
        yield _row(overview, line, [columns[number] for number in shown], layout, gap=gap, used=used)
    if inside:
        yield _gap_edge(opens=False, width=layout.head)


def _row(
    overview: Overview, line: Line, columns: Sequence[Column], layout: _Layout, *, gap: bool, used: set[str]
) -> Text:
    row, style = line.row, _GAP_STYLE if gap else _QUIET
    text = Text(no_wrap=True, overflow="ignore")
    rail = " " if row.phase is None else "┃" if gap else "│"
    if line.branch is None:
        stop = {BoundaryKind.CALL: "●", BoundaryKind.CHECKPOINT: "■", None: " "}[row.boundary_kind]
        text.append(f"{rail} {stop} ", style=style)
        text.append(_filled(_boundary(row), layout.label))
        text.append(f" {row.phase or '':<{_PHASE_WIDTH - 1}}", style=style)
    else:
        # Deep branches are set in no further than leaves room to say what they are.
        lead = f"{rail} {'  ' * min(line.depth, layout.head // 8)}└ "
        text.append(lead, style=style)
        text.append(_filled(plain(line.words), layout.head - len(lead)))
    for column in columns:
        merged = overview.at(line.rows, column)
        if merged is None:
            used.add("·")
            text.append(f"{'·':>{_CELL_WIDTH - 1}} ", style=_QUIET)
            continue
        used.add(merged.mark)
        text.append(f"{GLYPHS[merged.kind]:>{_CELL_WIDTH - 1}}", style=STYLES[merged.kind.colour])
        text.append(merged.mark or " ", style=_QUIET)
    text.rstrip()
    return text


def _filled(text: str, width: int) -> str:
    """Return a text of exactly so many columns of a terminal: cut in its middle, or followed by spaces."""
    cut = shortened(text, width)
    return cut + " " * (width - cell_len(cut))


def _struck(overview: Overview) -> str:
    return "fault at" if overview.views.several else "killed at"


def _label_width(line: Line) -> int:
    if line.branch is None:
        return cell_len(_boundary(line.row))
    return 2 * line.depth + cell_len(plain(line.words)) - _PHASE_WIDTH + 1  # they run on into the column of phases


def _boundary(row: RowInfo) -> str:
    if row.phase is None:
        return plain(row.label)
    return plain(f"{row.name}#{row.occurrence}" if row.plain else row.label)


def _gap_edge(*, opens: bool, width: int) -> Text:
    text = "┏━ acknowledgment gap " if opens else "┗"
    return Text(f"{text:━<{width}}", style=_GAP_STYLE, no_wrap=True, overflow="ignore")


def _legend(
    overview: Overview, axes: tuple[str, ...], columns: Sequence[Column], width: int
) -> Iterator[RenderableType]:
    if len(columns) > 1:
        yield from _numbered(axes, columns, width)
    folded = [axis for axis in overview.varied if axis not in axes]
    if folded:
        titles = {axis.name: axis.title or axis.name for axis in overview.run.info.axes}
        names = ", ".join(plain(titles.get(axis, axis)) for axis in folded)
        yield Hanging("", f"Folded into each column: {names}.", _QUIET)
    if len(columns) > 1 or folded:
        yield Text("")


def _numbered(axes: tuple[str, ...], columns: Sequence[Column], width: int) -> Iterator[Text]:
    """Yield what each number stands for: as a table if that fits, else in words, a column after the other."""
    digits = max(3, len(str(len(columns))) + 1)
    values = [[plain(value) for _, value in column.values] for column in columns]
    widths = [max(map(cell_len, column)) for column in zip([plain(axis) for axis in axes], *values, strict=True)]
    if digits + 2 * len(axes) + sum(widths) <= width:
        yield Text(" " * (digits + 2) + _aligned([plain(axis) for axis in axes], widths), style=_QUIET)
        for number, line in enumerate(values, start=1):
            text = Text(f"{number:>{digits}}  ", style=_QUIET)
            text.append(_aligned(line, widths), style="default")
            yield text
        return
    room = width - digits - 2
    for number, line in enumerate(values, start=1):
        pieces = [f"{plain(axis)} {value}" for axis, value in zip(axes, line, strict=True)]
        for place, piece in enumerate(_wrapped(pieces, room)):
            text = Text(f"{number:>{digits}}  " if not place else " " * (digits + 2), style=_QUIET)
            text.append(piece, style="default")
            yield text


def _aligned(texts: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(_filled(text, width) for text, width in zip(texts, widths, strict=True)).rstrip()


def _wrapped(pieces: Sequence[str], width: int) -> Iterator[str]:
    """Yield pieces with commas between them, in lines that are no wider than that."""
    line = ""
    for place, piece in enumerate(pieces):
        last = place == len(pieces) - 1
        cut = shortened(piece, width - 1) + ("" if last else ",")
        if line and cell_len(line) + 1 + cell_len(cut) > width:
            yield line
            line = cut
        else:
            line = f"{line} {cut}".strip()
    if line:
        yield line
