"""What the benchmarks share: pairs that alternate, their interval, and the machine in a line."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ackgap import __version__

Timed = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Interval:
    """The middle of some numbers, the smallest and the largest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Interval:
        """Return the interval of numbers, of which there is at least one."""
        return cls(statistics.median(numbers), min(numbers), max(numbers))

    def text(self, form: str = "8.3f") -> str:
        """Return it as a table shows it."""
        return f"{self.median:{form}}  [{self.low:{form}} to {self.high:{form}}]"


def pairs(first: Timed, second: Timed, *, count: int, at_least: int, budget_s: float) -> list[tuple[float, float]]:
    """Measure two things in turn; which comes first alternates, so that neither profits from the other's warmth.

    Args:
        first: Does it once and returns seconds.
        second: The same for the other.
        count: How many pairs.
        at_least: How many even if the budget is used up.
        budget_s: When to stop.
    """
    ends_s = time.monotonic() + budget_s
    found: list[tuple[float, float]] = []
    while len(found) < count and (len(found) < at_least or time.monotonic() < ends_s):
        if len(found) % 2:
            late, early = second(), first()
            found.append((early, late))
        else:
            found.append((first(), second()))
    return found


def timed(work: Callable[[], object]) -> float:
    """Do something and return how many seconds it took."""
    began_s = time.perf_counter()
    work()
    return time.perf_counter() - began_s


def machine() -> str:
    """Return what the numbers depend on."""
    return (
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()} {platform.release().split('-')[0]}, "
        f"{platform.python_implementation()} {platform.python_version()}, ackgap {__version__}, "
        f"load average {os.getloadavg()[0]:.1f} at the start"
    )


def keep(script: str, lines: Sequence[str], arguments: Sequence[str]) -> None:
    """Keep what was printed beside the script, where `--write` is among its arguments."""
    if "--write" in arguments:
        Path(script).with_suffix(".txt").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
