"""ParkedTarget: what a target knows and has begun at one moment, so that another cell can go on from there.

Plain data that can be pickled: the cell that goes on may come later, as often as it likes.
"""

from __future__ import annotations

from dataclasses import dataclass

from ackgap.target.engine import Handled
from ackgap.target.state import State

__all__ = ["NotToBeCopied", "ParkedTarget"]


class NotToBeCopied(Exception):
    """Something is under way that a copy would not have, so that a cell cannot go on from it. Says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParkedTarget:
    """One target at one moment.

    Attributes:
        state: What it knows.
        in_flight: Attempts that it is working on, with what it has decided about them.
        sessions: Of MCP: those that are open, and how many there have been.
    """

    state: State
    in_flight: tuple[tuple[int, Handled | None], ...]
    sessions: tuple[frozenset[str], int]
