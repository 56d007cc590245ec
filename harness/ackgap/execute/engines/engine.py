"""What the supervisor asks of an engine, whatever its kind."""

from __future__ import annotations

from typing import Protocol

from ackgap.model.engine import EngineState, EngineWord

__all__ = ["Engine", "worst"]

_ORDER = (
    EngineState.FAILED,
    EngineState.UNOWNED,
    EngineState.UNKNOWN,
    EngineState.RUNNING,
    EngineState.WAITING,
    EngineState.FINISHED,
)


class Engine(Protocol):
    """An engine's own records of the work, read from outside of the worker.

    Attributes:
        name: As its users write it.
        shortens: What of its waiting is shortened, and from what to what, a sentence each; empty where nothing is.
    """

    name: str
    shortens: tuple[str, ...]

    async def told(self) -> EngineWord:
        """Return how far the work is. Asking changes nothing, and never fails."""
        ...

    async def hurry(self) -> None:
        """Spare the next life what the engine would wait for only because it does not know that the last one is dead.

        Called after a kill. What the engine then does is what it would have done later.
        """
        ...

    async def close(self) -> None:
        """The cell is over."""
        ...


def worst(words: list[EngineWord]) -> EngineWord:
    """Return what to say of several pieces of work: the worst, since the work is through only if all of them are."""
    if not words:
        return EngineWord(EngineState.ABSENT, "it knows of no work")
    return min(words, key=lambda word: _ORDER.index(word.state))
