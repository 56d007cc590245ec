"""Every crash point once: one schedule for each phase of each boundary that the probe came to."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence

from ackgap.model.boundary import CrashPoint
from ackgap.model.manner import PLAIN_KILL, Manner
from ackgap.model.schedule import Fault, Schedule

__all__ = ["every_point_once", "matches_any"]


def every_point_once(
    points: Iterable[str], globs: Sequence[str] = (), manners: Sequence[Manner] = (PLAIN_KILL,)
) -> tuple[Schedule, ...]:
    """Return a schedule for each point and each thing that can be done there, in the first life.

    Args:
        points: In the order of the run.
        globs: Only points that one of them matches; none means all.
        manners: What is done.
    """
    chosen = [CrashPoint.parse(point) for point in points if matches_any(point, globs)]
    return tuple(
        Schedule(faults=(Fault(point=point, manner=manner),))
        for manner in manners
        for point in chosen
        if manner.strikes_at(point)
    )


def matches_any(point: str, globs: Sequence[str]) -> bool:
    """Whether one of the globs matches a point; no glob matches every point."""
    return not globs or any(fnmatch.fnmatchcase(point, _literal_brackets(glob)) for glob in globs)


def _literal_brackets(glob: str) -> str:
    """Names of boundaries may contain brackets, so a glob's brackets stand for themselves."""
    return glob.replace("[", "[[]")
