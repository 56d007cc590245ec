"""Make the sample report in reports/sample and the pictures of it in docs/pictures.

python docs/make_pictures.py               run the demo slice first (a minute or so)
python docs/make_pictures.py --from DIR    take the results that are in DIR

Needs Chromium and the playwright package. What names this machine is taken out of the sample.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ackgap.errors import AckgapError, EnvironmentLacks, HarnessFailed
from ackgap.model.boundary import Phase
from ackgap.model.matrix import CellResult
from ackgap.model.verdict import Colour, VerdictKind
from ackgap.report.store import CELLS_FILE, HISTORIES_FILE, RUN_FILE, read_run
from ackgap.report.write import HTML_FILE, write_reports
from ackgap.session import SOURCE_FILE

REPOSITORY = Path(__file__).resolve().parents[1]
SAMPLE = REPOSITORY / "reports" / "sample"
PICTURES = REPOSITORY / "docs" / "pictures"
SCENARIO = "scenarios/langgraph-ticket"
WIDTH = 1400
TALLEST = 1600
LARGEST_BYTES = 300_000
_HOME = re.compile(r"(?<![\w.])/(?:root|home/[^/\s\"']+|Users/[^/\s\"']+)(?=/)")


def run_demo(directory: Path) -> None:
    """Run the demo slice; its verdicts do not matter here, whether it ran to its end does."""
    command = [sys.executable, "-m", "ackgap", "run", SCENARIO, "--slice", "demo", "--out", str(directory)]
    done = subprocess.run([*command, "--fail-on", "never"], cwd=REPOSITORY, check=False)
    if done.returncode:
        raise HarnessFailed(f"the demo slice ended with exit status {done.returncode}", where=SCENARIO)


def make_sample(source: Path, sample: Path) -> None:
    """Copy the results of a run to where the sample is kept, as if it had been run there, and write its reports.

    Args:
        source: What `ackgap run` wrote.
        sample: Emptied first.
    """
    run = read_run(source)
    shutil.rmtree(sample, ignore_errors=True)
    sample.mkdir(parents=True)
    where = _shown(sample)
    for name in (CELLS_FILE, HISTORIES_FILE):
        with (source / name).open(encoding="utf-8") as lines, (sample / name).open("w", encoding="utf-8") as kept:
            kept.writelines(without_machine(line) for line in lines)
    document = json.loads(without_machine((source / RUN_FILE).read_text(encoding="utf-8")))
    document["replay_prefix"] = f"ackgap replay {where}"
    document["command"] = f"ackgap run {SCENARIO} --slice demo --out {where}" if _is_demo(source) else run.info.command
    (sample / RUN_FILE).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    (sample / SOURCE_FILE).write_text(json.dumps(_moved(source, sample), indent=1) + "\n", encoding="utf-8")
    write_reports(sample)


def without_machine(text: str) -> str:
    """Return the text without the paths of this checkout, this interpreter and this user."""
    places = [(str(REPOSITORY), "."), (sys.prefix, "venv"), (f"{tempfile.gettempdir()}/", "tmp/")]
    if not sys.base_prefix.startswith("/usr"):  # which is the same on every machine
        places.append((sys.base_prefix, "python"))
    for path, instead in places:
        text = text.replace(path, instead)
    return _HOME.sub("~", text)


def _shown(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix() if path.is_relative_to(REPOSITORY) else path.name


def _is_demo(source: Path) -> bool:
    return "langgraph-ticket" in (source / SOURCE_FILE).read_text(encoding="utf-8")


def _moved(source: Path, sample: Path) -> dict[str, Any]:
    """Return `source.json` with its path as seen from the sample."""
    document: dict[str, Any] = json.loads((source / SOURCE_FILE).read_text(encoding="utf-8"))
    table = document if "path" in document else document["flags"]
    key = "path" if "path" in document else "directory"
    table[key] = os.path.relpath((source / table[key]).resolve(), sample)
    return document


def telling_cell(cells: Iterable[CellResult]) -> CellResult:
    """Return the cell to show: an action done twice, killed after the call returned, with a key that did not help."""

    def rank(cell: CellResult) -> tuple[bool, ...]:
        faults = cell.schedule.faults
        attribution = next(
            (finding.attribution for finding in cell.findings if finding.kind is cell.verdict.kind), None
        )
        return (
            not faults,
            cell.verdict.kind is not VerdictKind.DUPLICATE,
            cell.verdict.kind.colour is not Colour.RED,
            not (faults and faults[0].point.phase is Phase.RETURNED),
            not (attribution and attribution.key_sent and attribution.key_stable is False),
        )

    return min(cells, key=rank)


def take_pictures(sample: Path, pictures: Path) -> list[Path]:
    """Take the four pictures of a report and return their files.

    Raises:
        EnvironmentLacks: There is no Chromium, or no playwright.
        HarnessFailed: A picture is too large to keep in a repository.
    """
    cell = telling_cell(read_run(sample).cells)
    address = (sample / HTML_FILE).resolve().as_uri()
    pictures.mkdir(parents=True, exist_ok=True)
    taken = []
    with _browser() as browser:
        for theme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": WIDTH, "height": TALLEST}, color_scheme=theme, reduced_motion="reduce"
            )
            page = context.new_page()
            page.goto(address)
            page.wait_for_selector("button.cell")
            taken += [_shot(page, pictures / f"matrix-{theme}.png", "#card")]
            page.goto(f"{address}#cell={quote(cell.cell, safe='=,:@/.')}")
            page.reload()
            page.wait_for_selector("svg.lives")
            taken += [_shot(page, pictures / f"cell-{theme}.png", "svg.lives")]
            context.close()
    for file in taken:
        if file.stat().st_size > LARGEST_BYTES:
            raise HarnessFailed(f"the picture has {file.stat().st_size} bytes", where=str(file))
    return taken


def _shot(page: Any, file: Path, last: str) -> Path:
    """Take the page from its top to the end of an element, without what is there only to be clicked."""
    for button in ("#hint", ".eyebrow .tools"):
        page.locator(button).evaluate("element => { element.style.visibility = 'hidden'; }")
    page.set_viewport_size({"width": WIDTH, "height": TALLEST})
    box = page.locator(last).bounding_box()
    height = min(TALLEST, round(box["y"] + box["height"] + 28))
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.screenshot(path=file, clip={"x": 0, "y": 0, "width": WIDTH, "height": height})
    return file


@contextmanager
def _browser() -> Iterator[Any]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        raise EnvironmentLacks(
            "pictures need a Chromium on PATH and the playwright package",
            next_step="apt-get install chromium && pip install playwright",
        )
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars"]
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield browser
        browser.close()


def main() -> int:
    """Make sample and pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", type=Path, metavar="DIR", help="results to take, instead of running")
    parser.add_argument("--sample", type=Path, default=SAMPLE, metavar="DIR", help="default: reports/sample")
    parser.add_argument("--pictures", type=Path, default=PICTURES, metavar="DIR", help="default: docs/pictures")
    options = parser.parse_args()
    sample = options.sample.resolve()
    try:
        if options.source is not None:
            make_sample(options.source.resolve(), sample)
        else:
            with tempfile.TemporaryDirectory() as scratch:
                run_demo(Path(scratch) / "sample")
                make_sample(Path(scratch) / "sample", sample)
        for file in take_pictures(sample, options.pictures):
            print(f"{_shown(file.resolve())}  {file.stat().st_size // 1000} kB")
    except AckgapError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
