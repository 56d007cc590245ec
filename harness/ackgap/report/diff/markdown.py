"""Two compared runs as Markdown, for a pull request or the summary of a job."""

from __future__ import annotations

from collections.abc import Iterator

from ackgap.model.verdict import GLYPHS, Colour, VerdictKind
from ackgap.report.diff.comparison import Comparison
from ackgap.report.diff.words import Entry, Section, counts_of, headline_of, made_of, sections_of
from ackgap.report.markdown import code, escaped

__all__ = ["comparison_markdown"]

_MOST = 30


def comparison_markdown(comparison: Comparison) -> str:
    """Return what is different between two runs as GitHub-flavoured Markdown."""
    info = comparison.new.info
    lines = [f"## ackgap diff: {escaped(info.title or info.scenario)}", ""]
    lines += [f"**{escaped(headline_of(comparison))}**", "", escaped(counts_of(comparison))]
    made = [f"- {escaped(sentence)}" for sentence in made_of(comparison)]
    lines += ["", *made] if made else []
    for section in sections_of(comparison):
        lines += ["", f"### {escaped(section.title)}: {section.count}", "", *_section(section)]
    return "\n".join(lines) + "\n"


def _section(section: Section) -> Iterator[str]:
    for entry in section.entries[:_MOST]:
        yield from _entry(entry)
    for line in section.lines[:_MOST]:
        yield f"- {escaped(line)}"
    if section.count > _MOST:
        yield f"- and {section.count - _MOST} more"


def _entry(entry: Entry) -> Iterator[str]:
    arrow = "" if entry.before is entry.after else f"{_glyph(entry.before)} → "
    yield f"- {arrow}{_glyph(entry.after)} {code(entry.cell)}"
    for about, words in entry.lines:
        yield f"  - {about}: {escaped(words)}" if about else f"  - {escaped(words)}"
    if entry.again:
        yield f"  - again: {code(entry.again)}"


def _glyph(kind: VerdictKind | None) -> str:
    if kind is None:
        return "·"
    glyph = GLYPHS[kind].replace("+", "\\+").replace("$", "\\$")
    return f"**{glyph}**" if kind.colour is Colour.RED else glyph
