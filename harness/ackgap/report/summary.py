"""A Markdown summary, as CI systems show it beside a job."""

from __future__ import annotations

from ackgap.model.verdict import GLYPHS, Colour
from ackgap.report.derived import Certainties, bounds_sentence, facts_of, order_words
from ackgap.report.gaps import gap_lines
from ackgap.report.headline import expected_sentence, headline, scope_sentence
from ackgap.report.lines import Line, lines_of
from ackgap.report.markdown import code, escaped
from ackgap.report.overview import Column, FindingGroup, Overview
from ackgap.report.plain import replay_command
from ackgap.report.rates import rate_lines
from ackgap.report.store import Run

__all__ = ["summary_markdown"]

_MOST_COLUMNS = 12
_MOST_GROUPS = 20
_MOST_BELOW = 40
_SIGNS = {
    "⇄": "the order of two durable writes decides",
    "≈": "raced and repeated, worst shown",
    "=": "not run, the same state as another cell",
}


def summary_markdown(run: Run) -> str:
    """Return headline, counts, matrix and red findings as GitHub-flavoured Markdown."""
    overview = Overview(run)
    title = run.info.title or run.info.scenario
    lines = [f"## ackgap: {escaped(title)}", "", f"**{escaped(headline(run))}**", "", escaped(scope_sentence(run))]
    bounds = bounds_sentence(run.info.bounds) if run.info.bounds is not None else ""
    for sentence in (bounds, expected_sentence(run)):
        lines += ["", escaped(sentence)] if sentence else []
    if run.cells:
        counts = " · ".join(f"{GLYPHS[kind]} {kind.words} **{count}**" for kind, count in overview.counts.items())
        lines += ["", counts, "", *_matrix(overview)]
    raced = list(rate_lines(run))
    if raced:
        lines += ["", "### Raced, not settled", "", *(f"- {escaped(line)}" for line in raced)]
    groups = overview.groups(Colour.RED, Colour.GREY, by_cause=True)
    if groups:
        lines += ["", "### Findings", ""]
        certainties = Certainties.of_run(run)
        for group in groups[:_MOST_GROUPS]:
            lines += _finding(run, group, certainties)
        if len(groups) > _MOST_GROUPS:
            lines.append(f"- and {len(groups) - _MOST_GROUPS} more kinds of finding in `report.html`")
    gaps = list(gap_lines(run))
    if gaps:
        lines += ["", "### Known gaps", "", *(f"- {escaped(line)}" for line in gaps)]
    if run.info.notes:
        lines += ["", "### Notes", "", *(f"- {escaped(note)}" for note in run.info.notes)]
    return "\n".join(lines) + "\n"


def _matrix(overview: Overview) -> list[str]:
    axes = overview.shown_axes(_MOST_COLUMNS)
    columns = overview.columns(axes)
    folded = [axis for axis in overview.varied if axis not in axes]
    lines = []
    for place, axis in enumerate(axes):
        cells = " | ".join(escaped(column.values[place][1]) for column in columns)
        lines.append(f"| {escaped(axis)} | {cells} |")
        if place == 0:
            lines.append(_rule(columns))
    if not axes:
        lines += [f"| {'fault at' if overview.views.several else 'killed at'} | verdict |", _rule(columns)]
    used: set[str] = set()
    for line in lines_of(overview, most=_MOST_BELOW):
        mark = "┃ " if line.row.label in overview.gap else ""
        filled = [_cell(overview, line, column, used) for column in columns]
        lines.append(f"| {mark}{_label(line)} | {' | '.join(filled)} |")
    legend = "┃ marks the acknowledgment gap; an empty place has no such point." if overview.gap else ""
    legend += "".join(f" {sign} {meaning}." for sign, meaning in _SIGNS.items() if sign in used)
    if folded:
        legend += (
            f" Each column folds {', '.join(escaped(axis) for axis in folded)}; \\* where they differ, worst shown."
        )
    return [*lines, "", legend.strip()] if legend else lines


def _rule(columns: tuple[Column, ...]) -> str:
    return f"|:--|{':-:|' * len(columns)}"


def _cell(overview: Overview, line: Line, column: Column, used: set[str]) -> str:
    merged = overview.at(line.rows, column)
    if merged is None:
        return " "
    sign = {"<": "⇄", "~": "≈", "=": "="}.get(merged.mark, "")
    used.add(sign)
    glyph = GLYPHS[merged.kind].replace("$", "\\$")
    if merged.kind.colour is Colour.RED:
        glyph = f"**{glyph}**"
    return glyph + "\\*" if merged.mixed else glyph + sign


def _label(line: Line) -> str:
    if line.branch is not None:
        return f"{'&nbsp; ' * line.depth}└ {escaped(line.words)}"
    return "undisturbed" if line.row.phase is None else code(line.row.label)


def _finding(run: Run, group: FindingGroup, certainties: Certainties) -> list[str]:
    number = len(group.results)
    operation = f" {code(group.operation)}" if group.operation else ""
    cells = f"{number} cell{'' if number == 1 else 's'}"
    lines = [f"- {GLYPHS[group.kind]} **{group.kind.words}**{operation}, {cells}: {escaped(group.finding.summary)}"]
    attribution = group.finding.attribution
    if attribution is not None:
        said = [f"{side}: {escaped(getattr(attribution, side))}" for side in ("worker", "engine", "target", "fix")]
        lines += [f"  - {line}" for line in said if not line.endswith(": ")]
    lines += [f"  - {escaped(fact)}" for fact in (*order_words(group.example), *facts_of(group.example, certainties))]
    lines += [f"  - again: {code(replay_command(run.info.replay_prefix, group.example.cell))}"]
    return lines
