"""What a session asks of whoever stands between client and server, and what it remembers of what was asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from ackgap.execute.pgwire.transactions import Written

__all__ = ["Boundary", "Failed", "Forward", "Landed", "Op", "Park", "Step"]


@dataclass(slots=True, eq=False)
class Boundary:
    """A durable write, or a statement that somebody wants to park at.

    Attributes:
        name: `pg.journal.commit`.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Forward:
    """Give these bytes to the other side."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Park:
    """Go on only when told so: what makes this durable comes next."""

    boundary: Boundary


@dataclass(frozen=True, slots=True)
class Landed:
    """It is durable, and its answer comes next."""

    boundary: Boundary


@dataclass(frozen=True, slots=True)
class Failed:
    """It will not be durable."""

    boundary: Boundary


Step = Forward | Park | Landed | Failed


@dataclass(slots=True, eq=False)
class Op:
    """Something that the server answers.

    Attributes:
        kind: Of the message: Query, Execute, Sync, FunctionCall; CopyDone for itself has no answer.
        boundary: That its answer decides.
        later: Name of the durable write that it becomes once all has been copied.
        says: What the server says once it has ended a transaction as asked; empty where that is not asked.
        names: What the transactions that it ends have written to.
        prepares: Name of a prepared transaction, and what that has written to.
        writes: What its statements write to.
        answered: How many of these have been answered.
        copies: It has the client copy something to the server.
        landed: A transaction that it was to end has ended so.
    """

    kind: bytes
    boundary: Boundary | None = None
    later: str = ""
    says: bytes = b""
    names: list[str] = field(default_factory=list)
    prepares: tuple[str, tuple[str, ...]] | None = None
    writes: list[Written | None] = field(default_factory=list)
    answered: int = 0
    copies: bool = False
    landed: bool = False
