"""How long a person waits for the first verdict, and for the first red one, of the flagship as `make demo` runs it.

From the start of the command to the moment at which the cell's line is in the results; the progress on screen shows it
then as well. Nothing is known from earlier runs, and no cell is put ahead of others because of its verdict.

python benchmarks/first_cell.py [--write]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import Interval, keep, machine

from ackgap.model.verdict import Colour, VerdictKind

ROUNDS = 1
SCENARIO = Path(__file__).resolve().parents[1] / "scenarios" / "langgraph-ticket"


def once(*, warm: bool) -> tuple[float, float, float]:
    """Run it and return seconds until the first cell, until the first red one, and until the end."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        command = [
            sys.executable,
            "-m",
            "ackgap",
            "run",
            str(SCENARIO),
            "--slice",
            "demo",
            "--out",
            str(out),
            "--quiet",
        ]
        began_s = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--fail-on", "never", *(["--warm"] if warm else [])], stdout=subprocess.DEVNULL
        )
        first_s = red_s = 0.0
        while process.poll() is None and not red_s:
            time.sleep(0.01)
            for cell in _cells(out / "cells.jsonl"):
                if cell["schedule"] != "1/none":
                    now_s = time.perf_counter() - began_s
                    first_s = first_s or now_s
                    if VerdictKind(cell["verdict"]).colour is Colour.RED:
                        red_s = red_s or now_s
        if process.wait():
            raise SystemExit(f"ackgap ended with {process.returncode}")
        return first_s, red_s, time.perf_counter() - began_s


def _cells(file: Path) -> list[dict[str, str]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError:
        return []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def main(arguments: list[str]) -> int:
    """Measure and print."""
    lines = [f"machine: {machine()}", f"{ROUNDS} of each; plain and warm alternate.", ""]
    found: dict[bool, list[tuple[float, float, float]]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for warm in (False, True):
            found[warm].append(once(warm=warm))
    for warm, name in ((False, "plain"), (True, "--warm")):
        lines.append(f"scenarios/langgraph-ticket, slice demo, {name}")
        for place, what in enumerate(("first verdict of a crash", "first red verdict", "all 46 cells and the reports")):
            lines.append(f"  {what:<28} {Interval.of([times[place] for times in found[warm]]).text('8.1f')} s")
    print(*lines, sep="\n")
    keep(__file__, lines, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
