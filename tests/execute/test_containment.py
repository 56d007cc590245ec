"""Tests of stopping everything that a worker started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ackgap.execute.containment import descendants, signal_all, stop_all

RESTLESS = """
import itertools, os, threading
def opens_files(name):
    for number in itertools.count():
        open(f"{name}-{number % 50}.txt", "w").close()
        os.rename(f"{name}-{number % 50}.txt", f"{name}-{number % 7}.done")
for name in "abc":
    threading.Thread(target=opens_files, args=(name,)).start()
if os.fork() == 0:
    opens_files("child")
"""


@pytest.fixture
def restless(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with threads and a child, which all create files without end."""
    process = subprocess.Popen([sys.executable, "-c", RESTLESS], cwd=tmp_path)
    while not list(tmp_path.glob("child-*")) or len(list(tmp_path.glob("*.done"))) < 20:
        time.sleep(0.01)
    yield process
    signal_all([process.pid, *descendants(process.pid)], signal.SIGKILL)
    process.wait()


def names_and_times(folder: Path) -> list[tuple[str, int]]:
    return sorted((entry.name, entry.stat().st_mtime_ns) for entry in os.scandir(folder))


def test_nothing_is_written_any_more_once_everything_has_been_stopped(
    restless: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    stop_all(lambda: [restless.pid, *descendants(restless.pid)])

    before = names_and_times(tmp_path)
    time.sleep(0.05)
    assert names_and_times(tmp_path) == before


def test_what_is_gone_counts_as_stopped() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()

    stop_all(lambda: [process.pid])
