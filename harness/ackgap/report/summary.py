"""A Markdown summary, as CI systems show it beside a job."""

from __future__ import annotations

import re

from ackgap.model.verdict import GLYPHS, Colour
from ackgap.report.headline import expected_sentence, headline, scope_sentence
from ackgap.report.overview import Column, FindingGroup, Overview
from ackgap.report.plain import plain, replay_command
from ackgap.report.store import RowInfo, Run

__all__ = ["summary_markdown"]

_MOST_COLUMNS = 12
_MOST_GROUPS = 20
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#&!$@])")


def summary_markdown(run: Run) -> str:
    """Return headline, counts, matrix and red findings as GitHub-flavoured Markdown."""
    overview = Overview(run)
    title = run.info.title or run.info.scenario
    lines = [f"## ackgap: {_text(title)}", "", f"**{_text(headline(run))}**", "", _text(scope_sentence(run))]
    expected = expected_sentence(run)
    if expected:
        lines += ["", _text(expected)]
    if run.cells:
        counts = " · ".join(f"{GLYPHS[kind]} {kind.words} **{count}**" for kind, count in overview.counts.items())
        lines += ["", counts, "", *_matrix(overview)]
    groups = overview.groups(Colour.RED, Colour.GREY, by_cause=True)
    if groups:
        lines += ["", "### Findings", ""]
        for group in groups[:_MOST_GROUPS]:
            lines += _finding(run, group)
        if len(groups) > _MOST_GROUPS:
            lines.append(f"- and {len(groups) - _MOST_GROUPS} more kinds of finding in `report.html`")
    if run.info.notes:
        lines += ["", "### Notes", "", *(f"- {_text(note)}" for note in run.info.notes)]
    return "\n".join(lines) + "\n"


def _matrix(overview: Overview) -> list[str]:
    axes = overview.shown_axes(_MOST_COLUMNS)
    columns = overview.columns(axes)
    folded = [axis for axis in overview.varied if axis not in axes]
    lines = []
    for place, axis in enumerate(axes):
        cells = " | ".join(_text(column.values[place][1]) for column in columns)
        lines.append(f"| {_text(axis)} | {cells} |")
        if place == 0:
            lines.append(_rule(columns))
    if not axes:
        lines += ["| killed at | verdict |", _rule(columns)]
    for row in overview.rows:
        mark = "┃ " if row.label in overview.gap else ""
        lines.append(f"| {mark}{_label(row)} | {' | '.join(_cell(overview, row, column) for column in columns)} |")
    legend = "┃ marks the acknowledgment gap; an empty place has no such point." if overview.gap else ""
    if folded:
        legend += f" Each column folds {', '.join(_text(axis) for axis in folded)}; \\* where they differ, worst shown."
    return [*lines, "", legend.strip()] if legend else lines


def _rule(columns: tuple[Column, ...]) -> str:
    return f"|:--|{':-:|' * len(columns)}"


def _cell(overview: Overview, row: RowInfo, column: Column) -> str:
    merged = overview.at(row, column)
    if merged is None:
        return " "
    glyph = GLYPHS[merged.kind].replace("$", "\\$")
    if merged.kind.colour is Colour.RED:
        glyph = f"**{glyph}**"
    return glyph + "\\*" if merged.mixed else glyph


def _label(row: RowInfo) -> str:
    return "undisturbed" if row.phase is None else _code(row.label)


def _finding(run: Run, group: FindingGroup) -> list[str]:
    number = len(group.results)
    operation = f" {_code(group.operation)}" if group.operation else ""
    cells = f"{number} cell{'' if number == 1 else 's'}"
    lines = [f"- {GLYPHS[group.kind]} **{group.kind.words}**{operation}, {cells}: {_text(group.finding.summary)}"]
    attribution = group.finding.attribution
    if attribution is not None:
        said = [f"{side}: {_text(getattr(attribution, side))}" for side in ("worker", "engine", "target", "fix")]
        lines += [f"  - {line}" for line in said if not line.endswith(": ")]
    lines += [f"  - again: {_code(replay_command(run.info.replay_prefix, group.example.cell))}"]
    return lines


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", plain(text))


def _code(text: str) -> str:
    """Return a code span; a bar would end a table's cell and a backtick the span."""
    kept = plain(text).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", kept)), default=0) + 1)
    padding = " " if kept.startswith("`") or kept.endswith("`") else ""
    return f"{fence}{padding}{kept}{padding}{fence}"
