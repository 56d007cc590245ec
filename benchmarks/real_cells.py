"""10,000 cells with real kills: whether anything grows meanwhile, and whether anything is left afterwards.

A light worker is killed at each of its points, in so many variants that there are as many cells as are wanted; they
differ in a variable that nobody reads. What is looked at, after the first thousand and at the end: memory and
descriptors of the harness itself, which is the command, its slots and their warm parents. Afterwards: processes that
the run has begun, whose end is the end of their ports, and files in the temporary directory, which is the run's own.

python benchmarks/real_cells.py [--write] [CELLS]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from measure import keep, machine

LIGHT = Path(__file__).resolve().parent / "subjects" / "light"
CELLS = 10_000
FIRST = 1_000
POINTS = 16
"""What a worker with two calls passes."""
_END_S = 3.0
"""What ends with the command may end a little later."""
_OLD_S = 20.0
"""A process this old is no worker: those live for a tenth of a second."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The harness at a moment.

    Attributes:
        cells: Results so far.
        memory_mb: Of the command, the slots and the warm parents, what they share counted once.
        command_mb: Of the command alone.
        descriptors: Of all of them.
        processes: How many they are.
    """

    cells: int
    memory_mb: float
    command_mb: float
    descriptors: int
    processes: int


def look(command: psutil.Process, cells: int) -> Seen:
    """Return what the harness has now."""
    now_s = time.time()
    memory = descriptors = processes = 0
    for process in (command, *command.children(recursive=True)):
        try:
            if process != command and now_s - process.create_time() < _OLD_S:
                continue
            memory += process.memory_full_info().pss
            descriptors += process.num_fds()
            processes += 1
        except psutil.Error:
            continue
    own = command.memory_full_info().rss
    return Seen(
        cells=cells,
        memory_mb=memory / 2**20,
        command_mb=own / 2**20,
        descriptors=descriptors,
        processes=processes,
    )


def lines_in(path: Path, known: int, offset: int) -> tuple[int, int]:
    """Count the lines of a file that grows, from where it was counted last."""
    if not path.exists():
        return known, offset
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read()
    return known + data.count(b"\n"), offset + len(data)


def left_behind(scratch: Path) -> list[str]:
    """Return processes that have the run's temporary directory in their environment, and what is in that directory."""
    time.sleep(_END_S)
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TMPDIR") == str(scratch):
                found.append(f"process {' '.join(process.cmdline())[:60]}")
        except psutil.Error:
            continue
    return found + sorted(f"file {path.relative_to(scratch)}" for path in scratch.iterdir())


def run(wanted: int) -> tuple[list[Seen], float, list[str]]:
    """Run so many cells; return what was seen, cells a second, and what was left behind, in words."""
    values = "".join(f"{number} = {{ env = {{ COPY = '{number}' }} }}\n" for number in range(wanted // POINTS + 1))
    chosen = ["--only", "count=2", "--warm", "--quiet", "--fail-on", "never"]
    with tempfile.TemporaryDirectory() as place:
        out, scratch, project = Path(place) / "out", Path(place) / "t", Path(place) / "light"
        scratch.mkdir()
        shutil.copytree(LIGHT, project)
        with (project / "scenario.toml").open("a", encoding="utf-8") as scenario:
            scenario.write(f"\n[axes.copy.values]\n{values}")
        began_s = time.monotonic()
        running = subprocess.Popen(
            [sys.executable, "-m", "ackgap", "run", str(project), *chosen, "--out", str(out)],
            env={**os.environ, "TMPDIR": str(scratch)},
            stdout=subprocess.DEVNULL,
        )
        command = psutil.Process(running.pid)
        seen: list[Seen] = []
        cells = offset = 0
        while running.poll() is None and len(seen) < 2:
            time.sleep(0.2)
            cells, offset = lines_in(out / "cells.jsonl", cells, offset)
            if cells >= (wanted if seen else FIRST):
                seen.append(look(command, cells))
        a_second = cells / (time.monotonic() - began_s)
        if running.wait() or len(seen) < 2:
            raise SystemExit(f"the run ended with status {running.returncode} after {cells} cells")
        return seen, a_second, left_behind(scratch)


def main(arguments: list[str]) -> int:
    """Run and print."""
    lines = [machine(), ""]
    wanted = next((int(text) for text in arguments if text.isdigit()), CELLS)
    (first, last), a_second, left = run(wanted)
    lines.append(f"{'':<44}{first.cells:>10,}{last.cells:>10,}{'ratio':>8}")
    for title, one, other in (
        ("memory of the harness, MB", first.memory_mb, last.memory_mb),
        ("of the command alone, MB", first.command_mb, last.command_mb),
        ("open descriptors", first.descriptors, last.descriptors),
        ("processes", first.processes, last.processes),
    ):
        lines.append(f"{title:<44}{one:>10.0f}{other:>10.0f}{other / one:>8.2f}")
    lines += [
        "",
        f"cells a second, undisturbed runs included: {a_second:.1f}",
        f"left afterwards: {', '.join(left) or 'nothing'}",
    ]
    print(*lines, sep="\n")
    keep(__file__, lines, arguments)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
