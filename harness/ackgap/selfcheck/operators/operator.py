"""Operator: a named way to break an agent, with where it was published."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from ackgap.selfcheck.agent_source import Change
from ackgap.selfcheck.meaning import Meaning

__all__ = ["Concern", "Operator"]


class Concern(StrEnum):
    """What an operator tampers with."""

    KEY = "key"
    COMMIT = "commit"
    ANSWER = "answer"
    LOOKUP = "lookup"
    CONTENT = "content"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """A named way to break an agent.

    Attributes:
        name: As it is called in tables.
        concern: What it tampers with.
        about: What it does.
        published: Where this mistake, or this operator, was described.
        changes: Returns every change of an agent that it makes.
    """

    name: str
    concern: Concern
    about: str
    published: str
    changes: Callable[[Meaning], Iterator[Change]]
