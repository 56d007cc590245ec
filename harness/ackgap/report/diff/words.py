"""What is said of two compared runs, in words: sentences and sections that the terminal and Markdown lay out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ackgap.model.matrix import CellResult
from ackgap.model.verdict import SEVERITY, Colour, Finding, VerdictKind
from ackgap.report.diff.cells import CellCompared, Change
from ackgap.report.diff.comparison import Comparison
from ackgap.report.plain import replay_command
from ackgap.scenario.words import a_few

__all__ = ["Entry", "Section", "counts_of", "headline_of", "made_of", "sections_of"]

_NAMED = 6
"""How many points or variants are named before the rest is counted."""
_TITLES = {
    Change.NEWLY_RED: "Newly red",
    Change.NEWLY_INCONCLUSIVE: "Newly inconclusive",
    Change.NEWLY_AMBER: "Newly amber",
    Change.CHANGED: "Changed",
    Change.NEWLY_GREEN: "Newly green",
    Change.KNOWN_GAP: "As a known gap declares it",
    Change.BY_CHANCE: "Raced, and no different beyond chance (the 95 % intervals overlap)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One cell of a section.

    Attributes:
        before: Its verdict in the old run, None where that lacks it.
        after: Its verdict in the new run.
        cell: Its name.
        lines: What there is to say, as what it is about and the words.
        again: The command that runs it again, empty where there is nothing bad to see.
    """

    before: VerdictKind | None
    after: VerdictKind
    cell: str
    lines: tuple[tuple[str, str], ...] = ()
    again: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Cells to which the same happened; or lines, where cells are told by their rows."""

    title: str
    entries: tuple[Entry, ...] = ()
    lines: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many entries or lines there are."""
        return len(self.entries) + len(self.lines)


def headline_of(comparison: Comparison) -> str:
    """Return the sentence that says what is different."""
    red = comparison.of(Change.NEWLY_RED)
    grey = comparison.of(Change.NEWLY_INCONCLUSIVE)
    green = comparison.of(Change.NEWLY_GREEN)
    if red:
        worst = min(red, key=lambda cell: SEVERITY.index(_after(cell).verdict.kind))
        return f"{_cells(len(red))} {_is(red)} newly red: {_after(worst).verdict.headline.rstrip('.')}."
    if grey:
        return f"Nothing is newly red, but {_cells(len(grey))} {_is(grey)} newly inconclusive."
    if green:
        return f"Nothing is newly red; {_cells(len(green))} {_is(green)} newly green."
    if not comparison.is_nothing:
        return "Nothing is newly red."
    return "Nothing changed beyond chance." if comparison.of(Change.BY_CHANCE) else "Nothing changed."


def counts_of(comparison: Comparison) -> str:
    """Return how many cells there are of each kind, in one sentence."""
    parts = [f"{_cells(len(comparison.common))} in both runs, {len(comparison.of(Change.SAME))} as before"]
    chance = len(comparison.of(Change.BY_CHANCE))
    parts += [f"{chance} no different beyond chance"] if chance else []
    parts += [f"{len(comparison.moved)} at a point that has another number now"] if comparison.moved else []
    parts += [f"{len(comparison.appeared)} only in the new run"] if comparison.appeared else []
    parts += [f"{len(comparison.vanished)} only in the old run"] if comparison.vanished else []
    return "; ".join(parts) + "."


def made_of(comparison: Comparison) -> Iterator[str]:
    """Yield what the two runs are made of, where that differs, a sentence each."""
    old, new = comparison.old.info, comparison.new.info
    if old.scenario != new.scenario:
        yield f"The scenario is another one: {old.scenario}, now {new.scenario}."
    for change in comparison.versions:
        yield f"{change.name}: {change.before or 'none'}, now {change.after or 'none'}."
    if comparison.parts:
        yield f"What was run differs: {', '.join(comparison.parts)}."
    axes = [{axis.name for axis in info.axes} for info in (old, new)]
    for names, said in ((axes[1] - axes[0], "New axes"), (axes[0] - axes[1], "Axes that are gone")):
        if names:
            yield f"{said}: {a_few(sorted(names), _NAMED)}."
    points = comparison.points
    if points.appeared:
        yield f"New points, undisturbed: {a_few(points.appeared, _NAMED)}."
    if points.vanished:
        yield f"Points that are gone, undisturbed: {a_few(points.vanished, _NAMED)}."
    if points.renumbered:
        yield f"Points with another number: {a_few([f'{a} is {b} now' for a, b in points.renumbered.items()], _NAMED)}."
    if points.shifted:
        named = a_few([f"{a} is probably {b} now" for a, b in points.shifted.items()], _NAMED)
        yield f"Numbers moved on, so cells of one name may stand for another point: {named}."
    if points.reordered:
        yield f"Passed in another order: {a_few(points.reordered, _NAMED)}."
    for run, name in ((comparison.old, "old"), (comparison.new, "new")):
        if run.info.interrupted:
            yield f"The {name} run ended before its time: {len(run.cells)} of {run.info.planned_cells} cells."


def sections_of(comparison: Comparison) -> Iterator[Section]:
    """Yield what happened to cells, what is worst first; a section has at least one."""
    for change, title in _TITLES.items():
        cells = comparison.of(change)
        if cells:
            yield Section(title=title, entries=tuple(_entries(comparison, cells)))
    loud = {cell.cell for change in _TITLES for cell in comparison.of(change)}
    appeared = tuple(cell for cell in comparison.appeared if cell.cell not in loud)
    for cells, title, lacking in (
        (appeared, "Only in the new run, neither red nor inconclusive", "old"),
        (comparison.vanished, "Only in the old run", "new"),
    ):
        if cells:
            yield Section(title=title, lines=tuple(_rows(cells, lacking)))


def _entries(comparison: Comparison, cells: Iterable[CellCompared]) -> Iterator[Entry]:
    told: set[tuple[str, ...]] = set()
    for cell in cells:
        after = _after(cell)
        good = after.verdict.kind.colour is Colour.GREEN
        lines = list(_lines(cell))
        finding = after.verdict.worst
        if finding is not None and cell.change in {Change.NEWLY_RED, Change.NEWLY_INCONCLUSIVE, Change.NEWLY_AMBER}:
            # Who could have prevented it is said once for all cells of one cause.
            cause = (finding.code, finding.operation, *(text for _, text in _sides(finding)))
            lines.append(("", finding.summary))
            lines += [] if cause in told else _sides(finding)
            told.add(cause)
        yield Entry(
            before=None if cell.before is None else cell.before.verdict.kind,
            after=after.verdict.kind,
            cell=cell.cell,
            lines=tuple(lines),
            again="" if good else replay_command(comparison.new.info.replay_prefix, after.cell),
        )


def _lines(cell: CellCompared) -> Iterator[tuple[str, str]]:
    if cell.absence is not None:
        yield "", f"not in the old run: {cell.absence.words}"
    if cell.moved_from:
        yield "", f"was {cell.moved_from}"
    quiet = cell.change in {Change.NEWLY_RED, Change.NEWLY_INCONCLUSIVE, Change.NEWLY_GREEN}
    rated = cell.after is not None and cell.after.rate is not None
    if rated or not quiet:
        yield from (("", text) for text in cell.said)
    if any(finding.code == "raced" for finding in _after(cell).findings):
        yield "", "its writes raced each other, so that another run of this cell may end otherwise"


def _sides(finding: Finding) -> list[tuple[str, str]]:
    return [] if finding.attribution is None else list(finding.attribution.sides)


def _rows(cells: Iterable[CellCompared], lacking: str) -> Iterator[str]:
    """Yield a line for each row and reason, with the variants."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for cell in cells:
        result = cell.after or cell.before
        assert result is not None
        assert cell.absence is not None
        key = (result.schedule.label, result.verdict.kind.words, cell.absence.words)
        grouped.setdefault(key, []).append(str(result.variant))
    for (row, kind, reason), variants in grouped.items():
        yield f"{row} ({a_few(variants, _NAMED)}): {kind}; the {lacking} run lacks it: {reason}"


def _after(cell: CellCompared) -> CellResult:
    assert cell.after is not None, "a cell that is gone has no verdict now"
    return cell.after


def _cells(number: int) -> str:
    return f"{number} cell{'' if number == 1 else 's'}"


def _is(cells: Sequence[CellCompared]) -> str:
    return "is" if len(cells) == 1 else "are"
