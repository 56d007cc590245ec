"""Marks: by what a file that was read is known not to have been written since."""

from __future__ import annotations

import os
import platform
import re
import time

__all__ = ["Mark", "mark_of"]

Mark = tuple[int, int, int, int]

_TICK_NS = 20_000_000
"""A file that was written within so many nanoseconds may be written again without another time of change."""


def _times_are_fine() -> bool:
    """Whether a file that is written after somebody has looked at it gets another time of change, however soon.

    Linux does that since 6.13 (multigrain timestamps); before, the time is that of the last tick of its clock.
    """
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    return platform.system() == "Linux" and release is not None and tuple(map(int, release.groups())) >= (6, 13)


_TIMES_ARE_FINE = _times_are_fine()


def mark_of(status: os.stat_result) -> Mark:
    """Return a mark that is the same as an earlier one only if the file was not written in between.

    Args:
        status: Taken just now, and before the file is read.
    """
    now_ns = time.time_ns()
    sure = _TIMES_ARE_FINE or now_ns - status.st_mtime_ns > _TICK_NS
    return status.st_ino, status.st_size, status.st_mtime_ns, 0 if sure else now_ns
