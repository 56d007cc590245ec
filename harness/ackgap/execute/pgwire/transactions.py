"""A connection's transaction as it is said to go: what it has written to so far, and whether it is a block.

It runs ahead of the server where a client does not wait for answers, and is put right by the next answer that leaves
nothing more to be answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ackgap.execute.pgwire.statements import Does, Statement

__all__ = ["Transaction", "Written"]


@dataclass(slots=True, eq=False)
class Written:
    """What one statement has written to, as far as is known.

    Attributes:
        names: Of tables, and of what it has defined.
        only_data: Everything is rows.
        nothing: The server has said that it was none.
    """

    names: tuple[str, ...]
    only_data: bool
    nothing: bool = False

    def answered(self, tag: bytes) -> None:
        """Take note of what the server says it has done: `INSERT 0 1`."""
        self.nothing = self.only_data and tag.rpartition(b" ")[2] == b"0"


@dataclass(slots=True)
class Transaction:
    """What has been said of a transaction by now.

    Attributes:
        block: It goes on until somebody ends it.
        failed: The server does nothing more in it.
        written: By its statements, in order; a text among them is the name of a savepoint.
    """

    block: bool = False
    failed: bool = False
    written: list[Written | str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """What it has written to."""
        found = (one for one in self.written if isinstance(one, Written) and not one.nothing)
        return tuple(dict.fromkeys(name for one in found for name in one.names))

    def adds(self, names: tuple[str, ...], *, only_data: bool) -> Written | None:
        """A statement is about to write to something."""
        if not names or self.failed:
            return None
        written = Written(names, only_data)
        self.written.append(written)
        return written

    def is_told(self, statement: Statement) -> None:
        """A statement is about to be run that does something to the transaction itself."""
        match statement.does:
            case Does.BEGIN:
                self.block = True
            case Does.COMMIT | Does.ROLLBACK | Does.PREPARE:
                self.ends()
                self.block = statement.chains
            case Does.SAVEPOINT:
                self.written.append(statement.name)
            case Does.ROLLBACK_TO if statement.name in self.written:
                last = len(self.written) - 1 - self.written[::-1].index(statement.name)
                del self.written[last + 1 :]
                self.failed = False
            case _:
                pass

    def ends(self) -> None:
        """It is over, whichever way."""
        self.block = self.failed = False
        self.written.clear()

    def is_so(self, status: bytes) -> None:
        """Put it right: the server says what it is, and has nothing more to do."""
        self.block = status != b"I"
        self.failed = status == b"E"
        if not self.block:
            self.written.clear()
