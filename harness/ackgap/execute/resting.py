"""Resting: whether processes have anything to do, as the scheduler sees it.

A worker that is about to make its next call may be computing, or waiting for its turn on a busy machine. It writes
nothing meanwhile and has no request on its way, and yet it is not through. So time that is spent on waiting for a
worker to do something counts only while the worker could do it and does not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from pathlib import Path

import psutil

from ackgap.execute.containment import is_held

__all__ = ["Patience", "at_rest"]

_SAMPLES = 20
_MOST_AT_WORK = 5
"""Of the samples: servers that rest still look around now and then."""

_LOOK_EVERY_S = 0.02
_BUSY_FOR_EVER = 20
"""Times the patience, in real seconds, after which a worker that never rests counts as one that waits in a loop."""


class Patience:
    """Waits for what processes are to do, for as long as they are busy or kept from their work, and a while longer.

    Args:
        pids: Names the processes. While there are none, all time counts.
    """

    def __init__(self, pids: Callable[[], Iterable[int]] = tuple) -> None:
        self._pids = pids

    def busy(self) -> bool:
        """Whether one of the processes runs, wants to, or waits for a disk right now."""
        return any(_wants_to_run(pid) for pid in self._pids())

    async def awaits(self, event: Coroutine[object, object, object], *, rest_s: float) -> bool:
        """Wait for something; return whether it came about before the processes had rested for so long.

        Args:
            event: Ends when it has come about; cancelled else.
            rest_s: Real seconds, summed up, in which none of them ran, wanted to run, or waited for a disk.
        """
        coming = asyncio.ensure_future(event)
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + rest_s * _BUSY_FOR_EVER
        rested_s = 0.0
        try:
            while rested_s < rest_s and loop.time() < ends_s:
                # Each look counts for one pause at most: how late we are ourselves is nothing that they did.
                pause_s = min(_LOOK_EVERY_S, rest_s - rested_s)
                await asyncio.wait({coming}, timeout=pause_s)
                if coming.done():
                    break
                if not self.busy():
                    rested_s += pause_s
            return coming.done()
        finally:
            coming.cancel()


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
            return any(_state(thread) in ("R", "D") for thread in threads.iterdir() if not is_held(int(thread.name)))
        return psutil.Process(pid).status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)
    except (OSError, psutil.Error):
        return False  # it has just ended


def _state(thread: Path) -> str:
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
