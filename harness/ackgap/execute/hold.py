"""Proof of a mode by holding one durable write: does the worker go on meanwhile, or does it wait?

This is how `sync` and `async` durability are told apart from outside: nothing in the worker is asked for its mode.
"""

from __future__ import annotations

import asyncio
import fnmatch

from ackgap.execute.resting import Patience
from ackgap.scenario.scenario import HoldProof

__all__ = ["HoldObservation"]

WAIT_LIMIT_S = 1.5
"""Real seconds of rest without a step after which a worker counts as waiting."""


class HoldObservation:
    """Watches one run for what a `HoldProof` asks.

    Attributes:
        outcome: `waits`, `goes_on`, or empty while the point that is to be held has not been reached.
        concluded: Set once the outcome is known.
    """

    def __init__(self, proof: HoldProof) -> None:
        self._proof = proof
        self._went_on = asyncio.Event()
        self._holding = False
        self.outcome = ""
        self.concluded = asyncio.Event()

    def arrived(self, point: str) -> None:
        """A thread or request has come to a point; called before anything is held there."""
        # The write may begin late, on a busy machine after what its worker went on to. A pattern says nothing then:
        # it may fit what comes long before the write.
        if point == self._proof.until or (self._holding and fnmatch.fnmatchcase(point, self._proof.until)):
            self._went_on.set()

    async def hold(self, point: str, patience: Patience) -> None:
        """Hold the thread at the point if it is the one to be held.

        Args:
            point: Where it stands.
            patience: With its worker.
        """
        if self._holding or not fnmatch.fnmatchcase(point, self._proof.hold):
            return
        self._holding = True
        went_on = await patience.awaits(self._went_on.wait(), rest_s=WAIT_LIMIT_S)
        self.outcome = "goes_on" if went_on else "waits"
        self.concluded.set()
