"""Which parts of a schedule matter: each is left out or changed, and the verdict compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from ackgap.model.boundary import CrashPoint
from ackgap.model.manner import Manner
from ackgap.model.matrix import CellResult
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import VerdictKind
from ackgap.search.changes import Change, faults_left_out, options_left_out, other_values

__all__ = ["Part", "parts_of"]

_MOST = 3
"""Changes of one part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a schedule, and what came of changing it.

    Attributes:
        place: Which fault, from 1.
        what: `fault`, `kind`, `phase`, `occurrence`, `boundary`, or the name of an option.
        value: What the schedule has there.
        kind: The verdict of the schedule.
        tried: Pairs of another value and the verdict with it; empty where no effort was left.
    """

    place: int
    what: str
    value: str
    kind: VerdictKind
    tried: tuple[tuple[str, VerdictKind], ...] = ()

    @property
    def matters(self) -> bool | None:
        """Whether another value gave another verdict; None where no other value proved anything."""
        proven = [kind for _, kind in self.tried if kind is not VerdictKind.INCONCLUSIVE]
        return any(kind is not self.kind for kind in proven) if proven else None


def parts_of(
    smallest: CellResult,
    points: Mapping[int, Sequence[CrashPoint]],
    manners: Sequence[Manner],
    look: Callable[[Schedule], CellResult | None],
) -> tuple[Part, ...]:
    """Change each part of a schedule and return what came of it.

    The first change of every part comes before the second of any, so that little effort tells a little of each.

    Args:
        smallest: The result of the schedule.
        points: Those of the first life, and those of later ones.
        manners: What else might have been done, the plainest first.
        look: Runs a schedule; returns None where there is no effort left.
    """
    schedule, kind = smallest.schedule, smallest.verdict.kind
    changes: dict[tuple[int, str, str], list[Change]] = {}
    for change in chain(faults_left_out(schedule), options_left_out(schedule), other_values(schedule, points, manners)):
        changes.setdefault((change.place, change.what, change.value), []).append(change)
    tried: dict[tuple[int, str, str], list[tuple[str, VerdictKind]]] = {part: [] for part in changes}
    for turn in range(_MOST):
        for part, here in changes.items():
            result = look(here[turn].schedule) if turn < len(here) else None
            if result is not None:
                tried[part].append((here[turn].other, result.verdict.kind))
    return tuple(
        Part(place=place, what=what, value=value, kind=kind, tried=tuple(seen))
        for (place, what, value), seen in sorted(tried.items(), key=lambda item: item[0][0])
    )
