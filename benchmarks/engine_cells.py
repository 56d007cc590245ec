"""Seconds a cell of the engines that wait for servers or time-outs, with fast recovery and as the engines have it.

The shipped scenario of each, one variant, killed at every point of its ticket, warm, one cell after the other in as
many slots as there are cores. The first line of each engine is what ackgap does unless it is told otherwise: time-outs
that only wait for a worker which is known to be dead are shortened. The second is `--engine-defaults`.
A cell's seconds are those that it took its slot, the judging included; the verdicts of both have to be the same.

python benchmarks/engine_cells.py [--write]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from measure import Interval, keep, machine

from ackgap.report.store import Run, read_run

SCENARIOS = Path(__file__).resolve().parents[1] / "scenarios" / "engines"


@dataclass(frozen=True)
class Subject:
    """An engine's scenario, and the variant of it."""

    folder: str
    only: tuple[str, ...]


SUBJECTS = (
    Subject("temporal", ("mode=heartbeat", "key=none")),
    Subject("temporal", ("mode=local", "key=none")),
    Subject("dbos", ("mode=step", "key=none")),
)


def run(subject: Subject, *more: str) -> Run:
    """Run its cells, and return the run."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out"
        chosen = [text for only in subject.only for text in ("--only", only)]
        ways = ["--point", "tickets.create#1*", "--warm", "--quiet", "--fail-on", "never", *more]
        command = [sys.executable, "-m", "ackgap", "run", str(SCENARIOS / subject.folder), *chosen, *ways]
        subprocess.run([*command, "--out", str(out)], check=True, stdout=subprocess.DEVNULL)
        return read_run(out)


def main(arguments: list[str]) -> int:
    """Run and print."""
    lines = [machine(), "", f"{'':<34}{'cells':>6}   seconds a cell: median [least to most]"]
    differ = False
    for subject in SUBJECTS:
        fast, slow = run(subject), run(subject, "--engine-defaults")
        for words, found in (("fast recovery", fast), ("--engine-defaults", slow)):
            took = [cell.duration_s for cell in found.cells if cell.schedule.faults]
            title = f"{subject.folder}, {subject.only[0]}, {words}"
            lines.append(f"{title:<44}{len(took):>4}{Interval.of(took).text('8.2f')}")
        verdicts = [{cell.cell: cell.verdict.kind for cell in found.cells} for found in (fast, slow)]
        different = [cell for cell, kind in verdicts[0].items() if verdicts[1].get(cell) is not kind]
        lines.append(f"  the same verdicts: {'no, ' + ', '.join(different) if different else 'yes'}")
        differ = differ or bool(different)
    print(*lines, sep="\n")
    keep(__file__, lines, arguments)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
