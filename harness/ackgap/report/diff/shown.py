"""Two compared runs on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from ackgap.model.verdict import GLYPHS, VerdictKind
from ackgap.report.diff.comparison import Comparison
from ackgap.report.diff.words import Entry, Section, counts_of, headline_of, made_of, sections_of
from ackgap.report.hanging import Hanging
from ackgap.report.plain import plain
from ackgap.report.terminal import STYLES

__all__ = ["print_comparison"]

_QUIET = "bright_black"
_MOST = 20
_INDENT = 9
"""Columns that stand before the name of a cell: both verdicts and an arrow."""


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print what is different between two runs: what is newly red first, each with the command that shows it again."""
    console.print()
    console.print(Text(plain(headline_of(comparison)), style="bold"))
    console.print(Text(plain(counts_of(comparison)), style=_QUIET))
    for sentence in made_of(comparison):
        console.print(Hanging("· ", plain(sentence), _QUIET))
    for section in sections_of(comparison):
        _print_section(console, section)
    console.print()


def _print_section(console: Console, section: Section) -> None:
    console.print()
    console.print(Text(f"{section.title}: {section.count}", style="bold"))
    for entry in section.entries[:_MOST]:
        _print_entry(console, entry)
    for line in section.lines[:_MOST]:
        console.print(Hanging("  ", plain(line)))
    if section.count > _MOST:
        console.print(Text(f"  and {section.count - _MOST} more; --format json has all of them", style=_QUIET))


def _print_entry(console: Console, entry: Entry) -> None:
    line = Text("  ")
    if entry.before is entry.after:
        line.append("     ")
    else:
        _append_glyph(line, entry.before)
        line.append(" → ", style=_QUIET)
    _append_glyph(line, entry.after)
    line.append(" " * max(1, _INDENT - len(line)))
    line.append(plain(entry.cell))
    console.print(line, soft_wrap=True)
    for about, words in entry.lines:
        console.print(Hanging(" " * _INDENT + (f"{about:<7}" if about else ""), plain(words)))
    if entry.again:
        again = Text(" " * _INDENT)
        again.append(entry.again, style="cyan")
        # Never wrapped: a line end in the middle of a command would break it when it is copied.
        console.print(again, soft_wrap=True)


def _append_glyph(line: Text, kind: VerdictKind | None) -> None:
    if kind is None:
        line.append(" ·", style=_QUIET)
    else:
        line.append(f"{GLYPHS[kind]:>2}", style=STYLES[kind.colour])
