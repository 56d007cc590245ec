"""Boundary and CrashPoint: the named places at which a worker may die."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "CALL_PHASES",
    "CHECKPOINT_PHASES",
    "STREAM_PHASES",
    "Boundary",
    "BoundaryKind",
    "CrashPoint",
    "Phase",
    "landed_by_point",
]


class BoundaryKind(StrEnum):
    """What changes at a boundary: the outside world, or the worker's durable state."""

    CALL = "call"
    CHECKPOINT = "checkpoint"


class Phase(StrEnum):
    """Where inside a boundary the worker stands.

    A call passes `sending` (nothing has left the worker), `received` (the target has the whole request and has done
    nothing), `applied` (the effect is real, no answer yet) and `returned` (the last byte of the body has reached the
    caller). A checkpoint passes `committing` and `committed`.

    An answer that is streamed in parts passes three more between `applied` and `returned`: `stream_begun` (the first
    part is written), `stream_half` (half of them are) and `stream_whole` (all but the last, which ends the stream).
    """

    SENDING = "sending"
    RECEIVED = "received"
    APPLIED = "applied"
    STREAM_BEGUN = "stream_begun"
    STREAM_HALF = "stream_half"
    STREAM_WHOLE = "stream_whole"
    RETURNED = "returned"
    COMMITTING = "committing"
    COMMITTED = "committed"


STREAM_PHASES = (Phase.STREAM_BEGUN, Phase.STREAM_HALF, Phase.STREAM_WHOLE)
CALL_PHASES = (Phase.SENDING, Phase.RECEIVED, Phase.APPLIED, *STREAM_PHASES, Phase.RETURNED)
CHECKPOINT_PHASES = (Phase.COMMITTING, Phase.COMMITTED)

_POINT = re.compile(r"(?P<name>[^\s@,;]+)#(?P<occurrence>[1-9][0-9]{0,8}):(?P<phase>[a-z_]+)", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """One call or checkpoint of one incarnation.

    Attributes:
        name: `<target>.<operation>` for a call, the store's or engine's own words for a checkpoint; no white space
            and none of `@ , ;`.
        occurrence: The how-manieth of that name in its incarnation, from 1.
        kind: Call or checkpoint.
    """

    name: str
    occurrence: int
    kind: BoundaryKind

    def __str__(self) -> str:
        return f"{self.name}#{self.occurrence}"

    def at(self, phase: Phase) -> CrashPoint:
        """Return the crash point at one phase of this boundary."""
        return CrashPoint(name=self.name, occurrence=self.occurrence, phase=phase)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashPoint:
    """A boundary and phase at which a fault is injected; its text form is `tickets.create#1:applied`."""

    name: str
    occurrence: int
    phase: Phase

    def __str__(self) -> str:
        return f"{self.name}#{self.occurrence}:{self.phase}"

    @property
    def boundary(self) -> Boundary:
        """The boundary this point lies in; its kind follows from the phase."""
        kind = BoundaryKind.CALL if self.phase in CALL_PHASES else BoundaryKind.CHECKPOINT
        return Boundary(name=self.name, occurrence=self.occurrence, kind=kind)

    @classmethod
    def parse(cls, text: str) -> CrashPoint:
        """Read the text form.

        Raises:
            ValueError: The text is not `<name>#<occurrence>:<phase>`.
        """
        match = _POINT.fullmatch(text)
        phases = ", ".join(Phase)
        if match is None:
            raise ValueError(f"{text!r} is not a crash point; write <boundary>#<n>:<phase>, phase one of {phases}")
        try:
            phase = Phase(match["phase"])
        except ValueError:
            raise ValueError(f"{match['phase']!r} is not a phase; write one of {phases}") from None
        return cls(name=match["name"], occurrence=int(match["occurrence"]), phase=phase)


def landed_by_point(order: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return which durable writes, `<name>#<n>`, have landed once a life is struck at each of its points.

    A fault waits for what has begun, and a write that stands before its beginning has not.

    Args:
        order: The points of the life, in its order.
    """
    points = [CrashPoint.parse(text) for text in order]
    landing = {point.boundary for point in points if point.phase is Phase.COMMITTED}
    begun: frozenset[str] = frozenset()
    landed = {}
    for point in points:
        mine = {str(point.boundary)} if point.boundary in landing else set()
        landed[str(point)] = begun | mine if point.phase is Phase.COMMITTED else begun
        begun |= mine
    return landed
