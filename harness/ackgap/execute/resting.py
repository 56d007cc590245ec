"""Resting: whether processes have anything to do, as the scheduler sees it.

A worker that is about to make its next call may be computing, or waiting for its turn on a busy machine. It writes
nothing meanwhile and has no request on its way, and yet it is not through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

import psutil

__all__ = ["at_rest"]

_SAMPLES = 20
_MOST_AT_WORK = 5
"""Of the samples: servers that rest still look around now and then."""


async def at_rest(pids: Callable[[], Iterable[int]], *, for_s: float) -> bool:
    """Watch processes, and return whether they rested nearly all of the time: no thread ran, or would have.

    Args:
        pids: Names the processes.
        for_s: How long to watch, in real seconds.
    """
    at_work = 0
    for _ in range(_SAMPLES):
        at_work += any(_wants_to_run(pid) for pid in pids())
        if at_work > _MOST_AT_WORK:
            return False
        await asyncio.sleep(for_s / _SAMPLES)
    return True


def _wants_to_run(pid: int) -> bool:
    threads = Path(f"/proc/{pid}/task")
    try:
        if threads.is_dir():
            return any(_state(thread) == "R" for thread in threads.iterdir())
        return bool(psutil.Process(pid).status() == psutil.STATUS_RUNNING)
    except (OSError, psutil.Error):
        return False  # it has just ended


def _state(thread: Path) -> str:
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
