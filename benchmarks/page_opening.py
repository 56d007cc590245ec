"""How long the HTML report takes to open, with as many cells as the sample has, with 1,000 and with 10,000.

The cells are those of the committed sample, written again and again under other names: ten variants of a thousand
points. The page is opened from its file in a headless Chromium, each time in a context of its own. Measured are what a
reader waits for: until the matrix is there and can be used, until the whole file has been read, until a cell in the
middle and the last cell are open, until a search has been answered, and until the far end of the matrix has been drawn.

python benchmarks/page_opening.py [--write]
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest import mock
from urllib.parse import quote

from measure import keep, machine

from ackgap.model.event import Json
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.report import packing, page
from ackgap.report.info import AxisInfo
from ackgap.report.store import Run, read_run

SAMPLE = Path(__file__).resolve().parents[1] / "reports" / "sample"
COLUMNS = 10
TIMES = 3
_FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
_NAMES = {
    "shown": "until the matrix is shown and answers, s",
    "read": "until the whole file has been read, s",
    "address": "until the last cell is open, by its address, s",
    "cell": "then, until another cell is open, s",
    "search": "until a search is answered, s",
    "end": "until the last line is drawn, s",
}


def many(run: Run, count: int) -> Run:
    """Return a run of so many cells, in ten variants, whose cells are those of another run under other names."""
    by_point: dict[str, list[CellResult]] = {}
    for cell in run.cells:
        if cell.schedule.faults:
            by_point.setdefault(cell.schedule.label, []).append(run.with_history(cell))
    points = [*by_point]
    made = []
    for row in range(-(-count // COLUMNS)):
        point = points[row % len(points)]
        label = f"{point.rpartition('#')[0]}#{row // len(points) + 1}:{point.rpartition(':')[2]}"
        schedule = Schedule.parse(label)
        for column in range(min(COLUMNS, count - row * COLUMNS)):
            cell = by_point[point][(row + column) % len(by_point[point])]
            variant = Variant.parse(f"half={'first' if column * 2 < COLUMNS else 'second'},column={column}")
            made.append(replace(cell, schedule=schedule, variant=variant))
    info = replace(run.info, axes=(AxisInfo(name="half"), AxisInfo(name="column")), bounds=None)
    return Run.of(run.directory, info.with_rows(cell.schedule for cell in made), made)


def write_page(run: Run, file: Path) -> None:
    """Write the page of such a run; a history that many cells share is made into text once."""
    texts: dict[int, tuple[object, str]] = {}
    events = packing._events

    def remembered(history: Iterable[Mapping[str, Json]]) -> str:
        if id(history) not in texts:
            texts[id(history)] = (history, events(history))  # kept, so that no other one gets its id
        return texts[id(history)][1]

    with (
        mock.patch.object(packing, "_events", remembered),
        mock.patch.object(page, "_history", lambda run, result: result.history or run.history_json(result.cell)),
        file.open("w", encoding="utf-8") as stream,
    ):
        stream.writelines(page.page_html(run))


def visit(browser: Any, file: Path, last: str) -> dict[str, float]:
    """Open a page and use it; return the seconds that each thing took."""
    took: dict[str, float] = {}
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    context.set_default_timeout(120_000)
    shown = context.new_page()

    def measured(name: str, do: Callable[[], object]) -> None:
        began_s = perf_counter()
        do()
        took[name] = perf_counter() - began_s

    def opened() -> None:
        shown.goto(file.as_uri(), wait_until="commit")
        shown.locator("button.cell").first.focus()
        shown.keyboard.press("ArrowRight")
        shown.locator("button.cell:focus").wait_for()

    def addressed() -> None:
        shown.goto(f"{file.as_uri()}#cell={quote(last)}", wait_until="commit")
        shown.locator("svg.lives").wait_for()

    def found() -> None:
        shown.locator("#search").fill("duplicate")
        shown.locator("#count", has_text="of").wait_for()

    def ended() -> None:
        shown.locator("button.cell").first.focus()
        shown.keyboard.press("Control+End")
        shown.locator("tr.end button.cell:focus").wait_for()

    began_s = perf_counter()
    measured("shown", opened)
    shown.wait_for_load_state("load")
    took["read"] = perf_counter() - began_s
    measured("end", ended)
    measured("search", found)
    shown.goto("about:blank")
    measured("address", addressed)
    where = shown.locator("#sheet .where")
    before = where.inner_text()
    measured("cell", lambda: (shown.keyboard.press("ArrowLeft"), where.filter(has_not_text=before).wait_for()))
    context.close()
    return took


def measure(browser: Any, run: Run, directory: Path, times: int = TIMES) -> tuple[dict[str, float], int]:
    """Write a run's page and open it several times; return the median of each time, and the size in bytes."""
    file = directory / "report.html"
    write_page(run, file)
    seen = [visit(browser, file, run.cells[-1].cell) for _ in range(times)]
    return {name: statistics.median(each[name] for each in seen) for name in _NAMES}, file.stat().st_size


def _browsers() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*_FLAGS])
        yield browser
        browser.close()


def main(arguments: list[str]) -> int:
    """Measure and print."""
    lines = [f"machine: {machine()}", ""]
    sample = read_run(SAMPLE)
    runs = {len(sample.cells): sample, 1_000: many(sample, 1_000), 10_000: many(sample, 10_000)}
    with tempfile.TemporaryDirectory() as scratch:
        for browser in _browsers():
            found = {count: measure(browser, run, Path(scratch)) for count, run in runs.items()}
    lines.append(f"{'':<50}" + "".join(f"{f'{count:,} cells':>14}" for count in found))
    for name, words in _NAMES.items():
        lines.append(f"{words:<50}" + "".join(f"{times[name]:>14.2f}" for times, _ in found.values()))
    lines.append(f"{'size of report.html, MB':<50}" + "".join(f"{size / 2**20:>14.1f}" for _, size in found.values()))
    print(*lines, sep="\n")
    keep(__file__, lines, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
