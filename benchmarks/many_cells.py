"""What 10,000 cells cost the harness itself, beside 1,000: memory while results come, and the reports in the end.

The cells are those of a light worker, run once and then written again and again under other names: ten variants of a
thousand rows. Each number is from a process of its own, so that none has what another has left.

python benchmarks/many_cells.py [--write]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import psutil
from measure import keep, machine

from ackgap.matrix_run import run_matrix
from ackgap.model.matrix import Variant
from ackgap.model.schedule import Schedule
from ackgap.report.store import RunWriter, read_run
from ackgap.report.write import write_reports_of

LIGHT = Path(__file__).resolve().parent / "subjects" / "light"
ROWS = 1000


def measure(results: Path, count: int) -> dict[str, float]:
    """Write so many cells and their reports; return seconds and megabytes."""
    source = read_run(results)
    cells = [source.with_history(cell) for cell in source.cells if cell.schedule.faults]
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch)
        schedules: dict[str, Schedule] = {}
        with RunWriter(out) as writer:
            for number in range(count):
                row, column = number % ROWS, number // ROWS
                cell = cells[row % len(cells)]
                text = str(cell.schedule).replace("#1:", f"#{row // len(cells) + 1}:")
                schedule = schedules.setdefault(text, Schedule.parse(text))
                writer.append(replace(cell, schedule=schedule, variant=Variant.parse(f"column={column}")))
            writer.write_run(source.info.with_rows(schedules.values()))
        written_mb = _resident_mb()
        run = read_run(out)
        began_s = time.perf_counter()
        write_reports_of(run)
        return {
            "written_mb": written_mb,
            "reported_mb": _resident_mb(),
            "reports_s": time.perf_counter() - began_s,
            "html_mb": (out / "report.html").stat().st_size / 2**20,
        }


def _resident_mb() -> float:
    return float(psutil.Process().memory_info().rss) / 2**20


def main(arguments: list[str]) -> int:
    """Measure and print; `--measure DIR COUNT` is what the processes of this one are told."""
    if arguments[:1] == ["--measure"]:
        print(json.dumps(measure(Path(arguments[1]), int(arguments[2]))))
        return 0
    lines = [f"machine: {machine()}", ""]
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch) / "light"
        run_matrix(LIGHT, root=LIGHT, directory=results, only=["count=2"], points=["tickets.*#1:*"])
        found = {}
        for count in (1_000, 10_000):
            command = [sys.executable, __file__, "--measure", str(results), str(count)]
            found[count] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    lines.append(f"{'':<44}{'1,000':>10}{'10,000':>10}{'ratio':>8}")
    names = {
        "written_mb": "memory when all results have come, MB",
        "reported_mb": "memory after the reports, MB",
        "reports_s": "writing the reports, s",
        "html_mb": "size of report.html, MB",
    }
    for name, words in names.items():
        few, many = found[1_000][name], found[10_000][name]
        lines.append(f"{words:<44}{few:>10.1f}{many:>10.1f}{many / few:>8.2f}")
    print(*lines, sep="\n")
    keep(__file__, lines, arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
