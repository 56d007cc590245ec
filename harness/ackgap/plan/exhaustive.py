"""Every crash point once: one schedule for each phase of each boundary that the probe came to."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence

from ackgap.model.boundary import CrashPoint
from ackgap.model.schedule import Schedule

__all__ = ["every_point_once", "matches_any"]


def every_point_once(points: Iterable[str], globs: Sequence[str] = ()) -> tuple[Schedule, ...]:
    """Return a schedule that kills the first life at each point that one of the globs matches; no glob means all."""
    return tuple(Schedule.kill(CrashPoint.parse(point)) for point in points if matches_any(point, globs))


def matches_any(point: str, globs: Sequence[str]) -> bool:
    """Whether one of the globs matches a point; no glob matches every point."""
    return not globs or any(fnmatch.fnmatchcase(point, _literal_brackets(glob)) for glob in globs)


def _literal_brackets(glob: str) -> str:
    """Names of boundaries may contain brackets, so a glob's brackets stand for themselves."""
    return glob.replace("[", "[[]")
