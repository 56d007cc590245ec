"""VirtualClock: the targets' idea of the time, which a schedule can move forward."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

__all__ = ["VirtualClock", "iso_time"]


class VirtualClock:
    """Real time plus an offset in seconds.

    Args:
        offset_s: How far it is ahead of real time at first.
        real: Where real time comes from, in seconds since the epoch; tests give their own.
    """

    def __init__(self, offset_s: float = 0.0, *, real: Callable[[], float] = time.time) -> None:
        self._offset_s = offset_s
        self._real = real

    @property
    def offset_s(self) -> float:
        """Seconds by which it is ahead of real time."""
        return self._offset_s

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return self._real() + self._offset_s

    def move(self, seconds: float) -> None:
        """Let time pass.

        Raises:
            ValueError: `seconds` is negative: no service's clock goes back between two requests of a run.
        """
        if seconds < 0:
            raise ValueError("the clock of the targets moves forward only")
        self._offset_s += seconds


def iso_time(seconds: float) -> str:
    """Return a moment as services write it: UTC, whole seconds, `Z`."""
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
