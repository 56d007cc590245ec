"""What an engine says of the work: whether it is through, given up, waiting, or nobody's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["EngineState", "EngineWord"]


class EngineState(StrEnum):
    """How far the work is, by the engine's own records."""

    FINISHED = "finished"
    """Done, with a result."""
    FAILED = "failed"
    """Ended without one; the engine will not try again by itself."""
    UNOWNED = "unowned"
    """Neither done nor ended, and nothing that runs will take it up."""
    WAITING = "waiting"
    """For a time to come, or for somebody outside."""
    RUNNING = "running"
    """Under way, or about to be."""
    ABSENT = "absent"
    """The engine knows of no such work."""
    UNKNOWN = "unknown"
    """It could not be asked."""


@dataclass(frozen=True, slots=True)
class EngineWord:
    """Its answer.

    Attributes:
        state: How far the work is.
        text: In words, with the engine's own terms, as the end of a sentence that begins with its name.
    """

    state: EngineState
    text: str
