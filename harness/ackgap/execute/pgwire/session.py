"""Session: what client and server of one connection say, as steps of whoever stands between them.

What makes something durable is let through only after a `Park`, and its answer only after a `Landed`:

- COMMIT, PREPARE TRANSACTION, and what decides about a prepared one;
- the end of an implicit transaction that writes: of a simple query, at Sync of the extended protocol, of a COPY.

An implicit transaction is kept back from its first writing statement until Sync, so that a client that is killed or
stopped before it has committed has not locked anything either. Statements that a client sends without waiting for
answers are understood as if they succeeded; what does not is `Failed`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ackgap.execute.pgwire.answers import Answers
from ackgap.execute.pgwire.frames import PASSING, Frames, message
from ackgap.execute.pgwire.statements import Does, Statement, Wanted, statements_of
from ackgap.execute.pgwire.steps import Boundary, Forward, Op, Park, Step
from ackgap.execute.pgwire.transactions import Transaction, Written
from ackgap.worker import pgsql

__all__ = ["Session"]

_CLIENT_KINDS = b"BCDEFHPQSXcdfp"
_CLIENT_READ = b"BCEFHPQSXcf"
_FLUSH = message(b"H")
_KEPT_BYTES = 1 << 20
_DECIDES = {
    Does.PREPARE: "prepare",
    Does.COMMIT_PREPARED: "commit_prepared",
    Does.ROLLBACK_PREPARED: "rollback_prepared",
}
_SAYS = {
    Does.COMMIT: b"COMMIT",
    Does.PREPARE: b"PREPARE TRANSACTION",
    Does.COMMIT_PREPARED: b"COMMIT PREPARED",
    Does.ROLLBACK_PREPARED: b"ROLLBACK PREPARED",
}


class Session:
    """One connection, once it has asked for a database.

    Args:
        wanted: Statements at which somebody wants to park.
        prepared: What prepared transactions have written to, by their names; shared by the connections of a cell.
    """

    def __init__(self, wanted: Wanted | None = None, prepared: dict[str, tuple[str, ...]] | None = None) -> None:
        self._wanted = wanted or Wanted()
        self._prepared = {} if prepared is None else prepared
        self._from_client = Frames(_CLIENT_READ, _CLIENT_KINDS)
        self.transaction = Transaction()
        self._answers = Answers(self.transaction, self._prepared)
        self._statements: dict[bytes, tuple[Statement, ...]] = {}
        self._portals: dict[bytes, tuple[Statement, ...]] = {}
        self._named: dict[str, Statement] = {}
        self._kept: list[bytes] = []
        self._kept_bytes = 0

    @property
    def undecided(self) -> bool:
        """Whether the server has been asked for something whose outcome it alone decides by now."""
        return self._answers.undecided

    def said_by_server(self, data: bytes) -> Iterator[Step]:
        """Take what the server has sent, and yield what is to be done."""
        return self._answers.heard(data)

    def ended(self) -> Iterator[Step]:
        """The server says nothing more: yield what is left to be done."""
        return self._answers.ended()

    # ------------------------------------------------------------- the client

    def said_by_client(self, data: bytes) -> Iterator[Step]:
        """Take what the client has sent, and yield what is to be done, each once the one before has been.

        Raises:
            Misspoken: It is not the protocol.
        """
        for kind, piece in self._from_client.feed(data):
            match kind:
                case 0x51:  # Query
                    yield from self._release()
                    yield from self._query(piece)
                case 0x45:  # Execute
                    yield from self._execute(piece)
                case 0x53:  # Sync
                    yield from self._sync(piece)
                case 0x63:  # CopyDone
                    yield from self._copy_done(piece)
                case 0x46:  # FunctionCall
                    yield from self._release()
                    self._answers.ops.append(Op(b"F"))
                    yield Forward(piece)
                case 0x48 | 0x58:  # Flush, Terminate
                    yield from self._release()
                    yield Forward(piece)
                case _:
                    if kind != PASSING:
                        self._notes(kind, piece)
                    yield from self._on(piece)

    def _on(self, piece: bytes) -> Iterator[Step]:
        """Forward a piece, or keep it with what is kept back."""
        if not self._kept:
            yield Forward(piece)
            return
        self._kept.append(piece)
        self._kept_bytes += len(piece)
        if self._kept_bytes > _KEPT_BYTES:
            yield from self._release()

    def _release(self) -> Iterator[Step]:
        if self._kept:
            kept, self._kept, self._kept_bytes = b"".join(self._kept), [], 0
            yield Forward(kept)

    def _notes(self, kind: int, piece: bytes) -> None:
        """Take note of what has been prepared, bound, closed."""
        body = piece[5:]
        if kind == 0x50:  # Parse
            name, _, rest = body.partition(b"\0")
            self._statements[name] = statements_of(rest.partition(b"\0")[0].decode("utf-8", "replace"))
        elif kind == 0x42:  # Bind
            portal, _, rest = body.partition(b"\0")
            self._portals[portal] = self._statements.get(rest.partition(b"\0")[0], ())
        elif kind == 0x43:  # Close
            (self._statements if body[:1] == b"S" else self._portals).pop(body[1:].rstrip(b"\0"), None)
        elif kind == 0x66:  # CopyFail
            self._answers.copies_in = False

    def _query(self, piece: bytes) -> Iterator[Step]:
        op = Op(b"Q")
        statements = [self._meant(part) for part in statements_of(_text(piece[5:]))]
        name, copies = "", False
        for statement in statements:
            name = self._ends(statement, op) or name
            copies = copies or statement.does is Does.COPY_IN
            op.writes.append(self._runs(statement))
        if not self.transaction.block:
            names = self.transaction.names
            name = pgsql.name_of(list(dict.fromkeys((*op.names, *names)))) if names else name
            self.transaction.ends()
        if not name and self.transaction.block and len(statements) == 1:
            name = self._parked_at(statements[0])
        self._answers.ops.append(op)
        if name and copies:
            op.later = name  # what is copied is durable once the client has said that it was all
        elif name:
            op.boundary = Boundary(name)
            yield Park(op.boundary)
        yield Forward(piece)

    def _execute(self, piece: bytes) -> Iterator[Step]:
        portal = piece[5:].partition(b"\0")[0]
        if self._answers.skips:
            yield from self._on(piece)
            return
        op = Op(b"E")
        name = ""
        for statement in map(self._meant, self._portals.get(portal, ())):
            name = self._ends(statement, op) or name
            name = name or (self._parked_at(statement) if self.transaction.block else "")
            op.writes.append(self._runs(statement))
            op.copies = op.copies or statement.does is Does.COPY_IN
        self._answers.ops.append(op)
        if name:
            op.boundary = Boundary(name)
            yield Park(op.boundary)
            yield from self._release()
            yield Forward(piece + _FLUSH)  # so that the server answers now, and not when more has been asked
        elif any(op.writes) and not self.transaction.block and not op.copies and not self._kept:
            self._kept, self._kept_bytes = [piece], len(piece)
        else:
            yield from self._on(piece)

    def _sync(self, piece: bytes) -> Iterator[Step]:
        if self._answers.copies_in:  # the server does not hear it
            yield from self._on(piece)
            return
        copying = any(op.copies for op in self._answers.ops) and not any(op.kind == b"c" for op in self._answers.ops)
        names = () if self.transaction.block or self._answers.skips or copying else self.transaction.names
        op = Op(b"S")
        if names:
            op.boundary = Boundary(pgsql.name_of(list(names)))
        if not self.transaction.block and not copying:
            self.transaction.ends()
        self._answers.ops.append(op)
        self._answers.skips = False
        if op.boundary is not None:
            yield Park(op.boundary)
        yield from self._release()
        yield Forward(piece)

    def _copy_done(self, piece: bytes) -> Iterator[Step]:
        self._answers.copies_in = False
        simple = next((op for op in self._answers.ops if op.later), None)
        if simple is not None:
            simple.boundary, simple.later = Boundary(simple.later), ""
            yield Park(simple.boundary)
        elif any(op.copies for op in self._answers.ops):
            self._answers.ops.append(Op(b"c"))
            if not self._kept and not self.transaction.block:
                self._kept, self._kept_bytes = [piece], len(piece)
                return
        yield from self._on(piece)

    def _meant(self, statement: Statement) -> Statement:
        """Return what a statement runs, which may be one that was prepared under a name of SQL's."""
        if statement.does is Does.NAME:
            self._named[statement.name] = replace(statement, does=Does.WORK)
            return replace(statement, writes=())
        if statement.does is Does.RUN_NAMED:
            return self._named.get(statement.name, statement)
        return statement

    def _ends(self, statement: Statement, op: Op) -> str:
        """Return the name of the durable write that a statement is as the end of a transaction; empty if it is none."""
        does = statement.does
        if does not in _SAYS or self.transaction.failed:
            return ""
        names = self._prepared.get(statement.name) or ("transaction",)
        if does in (Does.COMMIT, Does.PREPARE):
            names = self.transaction.names
        if not names:
            return ""
        op.says = _SAYS[does]
        op.names.extend(names)
        if does is Does.PREPARE:
            op.prepares = statement.name, tuple(names)
        name = pgsql.name_of(op.names)
        return name if does is Does.COMMIT else f"{name.removesuffix('commit')}{_DECIDES[does]}"

    def _runs(self, statement: Statement) -> Written | None:
        """Take note of what a statement does; return what it writes to."""
        self.transaction.is_told(statement)
        names, only_data = statement.writes, statement.only_data
        if not names and statement.does is Does.WORK and (wanted := self._wanted.name_of(statement)):
            names, only_data = (wanted,), False
        return self.transaction.adds(names, only_data=only_data)

    def _parked_at(self, statement: Statement) -> str:
        """Return the name of a statement inside of a transaction at which somebody wants to park."""
        wanted = self._wanted.name_of(statement) if statement.does in (Does.WORK, Does.COPY_IN) else ""
        return f"pg.{wanted}.statement" if wanted and not self.transaction.failed else ""


def _text(body: bytes) -> str:
    return body.rstrip(b"\0").decode("utf-8", "replace")
