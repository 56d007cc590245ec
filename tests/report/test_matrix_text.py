"""The matrix in a terminal of any width: everything has its place, and no verdict is cut."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from ackgap.model.boundary import BoundaryKind, CrashPoint
from ackgap.model.expectation import Expectation, OperationFacts
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import UNDISTURBED, Schedule
from ackgap.model.verdict import GLYPHS, Finding, Verdict, VerdictKind
from ackgap.report.info import AxisInfo, RowInfo, RunInfo
from ackgap.report.store import Run, read_run
from ackgap.report.terminal import make_console, print_run, render_matrix

WIDTHS = (60, 80, 120, 200)
SAMPLE = Path(__file__).parents[2] / "reports" / "sample"
_VERDICT = re.compile("|".join(re.escape(glyph) for glyph in (*GLYPHS.values(), "·")))


def matrix(run: Run, width: int) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width, highlight=False).print(render_matrix(run, width=width), soft_wrap=True)
    return stream.getvalue().splitlines()


def invented(*, variants: int, points: list[str], axes: int = 1, value: str = "value") -> Run:
    """A run of which every third cell is a duplicate, the others ok, and one a cell of several kinds."""
    names = [f"axis-{number}" for number in range(axes)]
    columns = [
        Variant(values=tuple((name, f"{value}{number if place == 0 else ''}") for place, name in enumerate(names)))
        for number in range(variants)
    ]
    schedules = [UNDISTURBED, *(Schedule.kill(CrashPoint.parse(point)) for point in points)]
    kinds = (VerdictKind.OK, VerdictKind.DUPLICATE, VerdictKind.WASTED)
    cells = [
        CellResult(
            scenario="s",
            variant=variant,
            schedule=schedule,
            verdict=Verdict.of([Finding(kind=kind, code=kind.value, summary="so it was")]),
            incarnations=2,
        )
        for row, schedule in enumerate(schedules)
        for column, variant in enumerate(columns)
        for kind in [kinds[(row + column) % 3]]
    ]
    facts = OperationFacts(name="tickets.create", noun=("ticket", "tickets"), effectful=True)
    expectations = {str(variant): Expectation(operations={"tickets.create": facts}) for variant in columns}
    info = RunInfo(
        scenario="s",
        axes=tuple(AxisInfo(name=name) for name in names),
        variants=tuple(columns),
        row_order=tuple(RowInfo.of(schedule) for schedule in schedules[1:]),
        expectations=expectations,
    )
    return Run.of(Path("nowhere"), info, cells)


def blocks(lines: list[str]) -> Iterator[tuple[list[int], list[str]]]:
    """Yield the numbers at the head of each block of columns, and its rows."""
    head: list[int] | None = None
    rows: list[str] = []
    for line in [*lines, ""]:
        if line.startswith("killed at"):
            head, rows = [int(word) for word in line.split()[2:]], []
        elif head is not None and line.startswith(("│", "┃ ●", "┃ ■", "    ")):
            rows.append(line)
        elif head is not None and not line.startswith(("┏", "┗")):  # what the signs stand for, or another block
            yield head, rows
            head = None


LONG = [f"langgraph.put_writes.{'very_long_name_of_a_step_' * 3}{number}#1:committing" for number in range(4)]
WIDE = [f"作業の名前がとても長い場合の記録{number}#1:committed" for number in range(4)]
USUAL = ["tickets.create#1:received", "tickets.create#1:applied", "tickets.create#1:returned"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("variants", [1, 2, 7, 23, 58, 140])
@pytest.mark.parametrize("points", [USUAL, LONG, WIDE], ids=["usual", "long", "wide"])
def test_every_row_has_a_whole_verdict_in_every_column(width: int, variants: int, points: list[str]) -> None:
    lines = matrix(invented(variants=variants, points=points), width)
    assert all(cell_len(line) <= width for line in lines), max(map(cell_len, lines))
    found = list(blocks(lines))
    assert [number for head, _ in found for number in head] == list(range(1, 1 + sum(len(head) for head, _ in found)))
    for head, rows in found:
        assert len(rows) == len(points) + 1
        for row in rows:
            # The verdicts stand at the right, four characters each; the last one may lack its sign.
            cells = _cells(row, max(1, len(head)))  # one column has no number
            assert all(_VERDICT.fullmatch(cell.strip().rstrip("*")) for cell in cells), (row, cells)


def _cells(row: str, count: int) -> list[str]:
    padded = row if row.endswith("*") else f"{row} "
    return [padded[len(padded) - 4 * (number + 1) : len(padded) - 4 * number] for number in range(count)]


@pytest.mark.parametrize("width", WIDTHS)
def test_verdicts_of_a_row_are_those_of_its_cells_in_the_order_of_the_legend(width: int) -> None:
    run = invented(variants=23, points=USUAL)
    found = list(blocks(matrix(run, width)))
    assert len(found) > 1 or width == 200
    kinds = (VerdictKind.OK, VerdictKind.DUPLICATE, VerdictKind.WASTED)
    for head, rows in found:
        for place, row in enumerate(rows):
            seen = [cell.strip() for cell in reversed(_cells(row, len(head)))]
            assert seen == [GLYPHS[kinds[(place + number - 1) % 3]] for number in head]


@pytest.mark.parametrize("width", WIDTHS)
def test_long_values_and_many_axes_are_told_in_words_that_fit(width: int) -> None:
    lines = matrix(invented(variants=5, points=USUAL, axes=6, value="a-rather-long-value-of-it-"), width)
    assert all(cell_len(line) <= width for line in lines)
    text = "".join(line.strip() for line in lines)
    assert all(f"a-rather-long-value-of-it-{number}" in text for number in range(5))


def test_names_of_points_are_cut_in_their_middle_and_stay_apart(builders: object) -> None:
    lines = matrix(invented(variants=6, points=LONG), 60)
    labels = [line[4:].split("committing")[0].strip() for line in lines if "committing" in line]
    assert len(set(labels)) == len(LONG)
    assert all(label.startswith("lang") and "…" in label for label in labels)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_committed_sample_fits(width: int) -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False, force_terminal=True, color_system=None)
    print_run(console, read_run(SAMPLE))
    lines = stream.getvalue().splitlines()
    assert all(cell_len(line) <= width for line in lines if not line.startswith("   again"))
    ends = [line for line in lines if line.rstrip().endswith(("✓", "×2", "$"))]
    assert len(ends) >= 8


@pytest.mark.parametrize("width", [60, 200])
def test_a_terminal_that_is_narrower_than_usual_gets_a_matrix_of_its_width(partner_review: Path, width: int) -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False, force_terminal=True, color_system=None)
    print_run(console, read_run(partner_review))
    lines = stream.getvalue().splitlines()
    assert all(cell_len(line) <= width for line in lines if not line.startswith("   again"))
    rows = [line for line in lines if line[:3] in {"┃ ●", "┃ ■", "│ ●", "│ ■"}]
    assert all(_VERDICT.search(row[-4:]) for row in rows)


def test_nothing_of_a_matrix_ends_in_spaces(partner_review: Path) -> None:
    stream = io.StringIO()
    print_run(make_console(stream), read_run(partner_review))
    assert [line for line in stream.getvalue().splitlines() if line != line.rstrip()] == []


def test_a_stop_says_whether_it_is_a_call_or_a_checkpoint() -> None:
    lines = matrix(invented(variants=2, points=[*USUAL, LONG[0]]), 80)
    kinds = {RowInfo.of(Schedule.kill(CrashPoint.parse(point))).boundary_kind for point in [*USUAL, LONG[0]]}
    assert kinds == {BoundaryKind.CALL, BoundaryKind.CHECKPOINT}
    assert sum("●" in line[1:4] for line in lines) == 3
    assert sum("■" in line[1:4] for line in lines) == 1
    assert any(line.startswith("● a request to a service   ■ a durable write") for line in lines)
