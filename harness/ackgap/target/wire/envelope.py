"""Envelope: a request to an operation that came inside of another protocol's message, and the way back for its answer.

The exchange treats what is inside as it treats any other request: the same phases, the same engine, the same ledger.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ackgap.model.event import Decision
from ackgap.target.profiles.profile import Match
from ackgap.target.wire.answer import Answer
from ackgap.target.wire.request import Request

__all__ = ["Enveloped", "Refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Why a message means no operation.

    Attributes:
        rule: The reason in words, for the ledger.
        answer: What is said to the sender, as it goes over the connection.
    """

    decision: Decision
    rule: str
    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Enveloped:
    """What was in the envelope.

    Attributes:
        request: The request that the operation would have had without an envelope.
        match: The operation, None where the message is refused.
        name: Of the operation without its target, for the ledger.
        line: Method and path of the envelope itself; by these its sender was seen to send it.
        wrap: Turns the operation's answer into one that goes over the connection.
        refused: Why it means no operation.
    """

    request: Request
    match: Match | None
    name: str
    line: tuple[str, str]
    wrap: Callable[[Answer], Answer]
    refused: Refused | None = None
