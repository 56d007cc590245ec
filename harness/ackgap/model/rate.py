"""Rate: what several runs of the same schedule came to, where the schedule races the worker."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ackgap.model.verdict import SEVERITY, VerdictKind

__all__ = ["Rate"]

_Z = 1.959963984540054
"""Of a normal distribution: two-sided 95 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How often each verdict came out.

    Attributes:
        counts: Runs by verdict, from worst to best.
    """

    counts: Mapping[str, int]

    @classmethod
    def of(cls, verdicts: Iterable[VerdictKind]) -> Rate:
        """Count verdicts."""
        counted = Counter(verdicts)
        return cls(counts={str(kind): counted[kind] for kind in SEVERITY if counted[kind]})

    @property
    def runs(self) -> int:
        """How many runs there were."""
        return sum(self.counts.values())

    @property
    def conclusive(self) -> int:
        """How many of them proved something; shares are shares of these."""
        return self.runs - self.counts.get(str(VerdictKind.INCONCLUSIVE), 0)

    def interval(self, kind: VerdictKind) -> tuple[float, float]:
        """Return the Wilson interval (95 %) of the share of a verdict, as two numbers from 0 to 1.

        Runs that prove nothing are left out, unless their own share is asked for.
        """
        runs, seen = self.out_of(kind), self.counts.get(str(kind), 0)
        if not runs:
            return (0.0, 1.0)
        share, square = seen / runs, _Z * _Z
        centre = (share + square / (2 * runs)) / (1 + square / runs)
        half = _Z / (1 + square / runs) * math.sqrt(share * (1 - share) / runs + square / (4 * runs * runs))
        return (max(0.0, centre - half), min(1.0, centre + half))

    def in_words(self, kind: VerdictKind) -> str:
        """Return `3 of 20 (15 %, 95 % interval 5 to 36 %)`."""
        low, high = self.interval(kind)
        seen = self.counts.get(str(kind), 0)
        runs = self.out_of(kind)
        return f"{seen} of {runs} ({seen / max(1, runs):.0%}, 95 % interval {low:.0%} to {high:.0%})".replace(
            "%", " %"
        ).replace("95  %", "95 %")

    def out_of(self, kind: VerdictKind) -> int:
        """Return how many runs the share of a verdict is a share of."""
        return self.runs if kind is VerdictKind.INCONCLUSIVE else self.conclusive
