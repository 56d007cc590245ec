"""A finding about this machine, for `ackgap doctor`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Checkup"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkup:
    """One thing that is there or not.

    Attributes:
        group: Under which heading it is shown.
        name: What it is.
        there: Whether it is there, and does.
        found: What was found: a version, a place, a number; or what is wrong.
        used_for: What it is for.
        remedy: How to get it, one line; empty where it is there.
        core: Whether nothing works without it.
    """

    group: str
    name: str
    there: bool
    found: str
    used_for: str = ""
    remedy: str = ""
    core: bool = False
