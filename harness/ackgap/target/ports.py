"""What a target needs from whoever runs it: someone to write down events, and someone to ask for leave to go on.

Apart from the service, so that a target can be run under a supervisor, alone, or in a test, without knowing which.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from ackgap.model.boundary import Phase
from ackgap.model.event import Event
from ackgap.model.schedule import Fault

__all__ = ["Gate", "OpenGate", "Recorder", "Severed"]

E = TypeVar("E", bound=Event)


class Severed(Exception):
    """The life that sent a request is over: drop the connection without an answer."""


class Recorder(Protocol):
    """Whoever keeps the history."""

    def record(self, kind: type[E], /, **values: Any) -> E:
        """Append an event; `seq` and `at_s` are the recorder's business."""
        ...


class Gate(Protocol):
    """Whoever decides when a request may go on."""

    def incarnation_of(self, peer_port: int, local_port: int, peer_host: str = "127.0.0.1") -> int | None:
        """Return which life holds the other end of a connection that has just been accepted.

        0 means that it cannot be told and the connection is served; None means that no process of the worker
        holds it, and the connection is refused.
        """
        ...

    def occurrence_of(self, incarnation: int, operation: str, method: str, path: str, peer_port: int = 0) -> int:
        """Return the how-manieth call of that operation in that life an attempt belongs to, from 1.

        Args:
            incarnation: The life.
            operation: `<target>.<operation>`.
            method: Of the request as it was sent.
            path: Likewise.
            peer_port: Of the connection that it came over, on the worker's side; 0 where it is not known.
        """
        ...

    async def reached(
        self, *, incarnation: int, name: str, occurrence: int, phase: Phase, attempt: int
    ) -> Fault | None:
        """Announce that a request stands at `received` or `applied`; return when it may go on.

        Returns:
            What the target is to do to the call instead of going on as usual; None for nothing.

        Raises:
            Severed: The life is over.
        """
        ...


class OpenGate:
    """A gate that lets everything pass: targets served alone, and tests."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def incarnation_of(self, peer_port: int, local_port: int, peer_host: str = "127.0.0.1") -> int | None:  # noqa: ARG002
        """Every connection belongs to the first life."""
        return 1

    def occurrence_of(self, incarnation: int, operation: str, method: str, path: str, peer_port: int = 0) -> int:  # noqa: ARG002
        """Count attempts."""
        self._counts[operation] = self._counts.get(operation, 0) + 1
        return self._counts[operation]

    async def reached(
        self,
        *,
        incarnation: int,  # noqa: ARG002
        name: str,  # noqa: ARG002
        occurrence: int,  # noqa: ARG002
        phase: Phase,  # noqa: ARG002
        attempt: int,  # noqa: ARG002
    ) -> Fault | None:
        """Go on."""
        return None
