"""Answers: what a server has still to answer, and what its answers decide."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ackgap.execute.pgwire.frames import PASSING, Frames
from ackgap.execute.pgwire.steps import Boundary, Failed, Forward, Landed, Op, Step
from ackgap.execute.pgwire.transactions import Transaction

__all__ = ["Answers"]

_READ = b"CEGIZs"
_KEPT_BYTES = 1 << 20


class Answers:
    """The server's side of one connection.

    The answer to what makes something durable is withheld until it is decided, or too large.

    Args:
        transaction: Put right by what the server says.
        prepared: What prepared transactions have written to, by their names.

    Attributes:
        ops: What has been asked and not answered, in order.
        skips: After an error the server hears nothing until Sync.
        copies_in: The client is copying something to the server, which does not hear Sync meanwhile.
    """

    def __init__(self, transaction: Transaction, prepared: dict[str, tuple[str, ...]]) -> None:
        self._transaction = transaction
        self._prepared = prepared
        self._from_server = Frames(_READ)
        self._withheld: list[bytes] = []
        self._withheld_bytes = 0
        self._error = False
        self.ops: deque[Op] = deque()
        self.skips = self.copies_in = False

    @property
    def undecided(self) -> bool:
        """Whether the server has been asked for something whose outcome it alone decides by now."""
        return any(op.boundary is not None for op in self.ops) or (bool(self.ops) and not self._transaction.block)

    @property
    def boundaries(self) -> list[Boundary]:
        """Those that have been announced and not decided."""
        return [op.boundary for op in self.ops if op.boundary is not None]

    def heard(self, data: bytes) -> Iterator[Step]:
        """Take what the server has sent, and yield what is to be done."""
        for kind, piece in self._from_server.feed(data):
            decided: list[Step] = []
            match kind:
                case 0x43:  # CommandComplete
                    decided = self._complete(piece[5:].rstrip(b"\0"))
                case 0x49 | 0x73:  # EmptyQueryResponse, PortalSuspended
                    decided = self._complete(b"")
                case 0x45:  # ErrorResponse
                    decided = self._refused()
                case 0x5A:  # ReadyForQuery
                    decided = self._ready(piece[5:6])
                case 0x47:  # CopyInResponse
                    self._copy_begins()
            waits = kind in b"CIsEZ" and kind != PASSING and (bool(decided) or bool(self.boundaries))
            if not waits and not self._withheld:
                yield Forward(piece)
                continue
            self._withheld.append(piece)
            self._withheld_bytes += len(piece)
            yield from decided
            if decided or not self.boundaries or self._withheld_bytes > _KEPT_BYTES:
                withheld, self._withheld, self._withheld_bytes = b"".join(self._withheld), [], 0
                yield Forward(withheld)

    def ended(self) -> Iterator[Step]:
        """The server says nothing more: yield what is left to be done."""
        for boundary in self.boundaries:
            yield Failed(boundary)
        self.ops.clear()
        if self._withheld:
            yield Forward(b"".join(self._withheld))

    def _complete(self, tag: bytes) -> list[Step]:
        op = self.ops[0] if self.ops else None
        if op is None or op.kind not in (b"E", b"Q"):
            return []
        if op.says and tag == op.says:
            op.landed = True
        if op.answered < len(op.writes) and (written := op.writes[op.answered]) is not None:
            written.answered(tag)
        op.answered += 1
        if op.kind == b"Q":
            return []
        self.ops.popleft()
        if self.ops and self.ops[0].kind == b"c":
            self.ops.popleft()
        return self._decide(op, landed=op.landed or not op.says)

    def _refused(self) -> list[Step]:
        self._error = True
        if self.ops and self.ops[0].kind in (b"Q", b"F"):
            return []
        self._transaction.failed = self._transaction.block
        decided: list[Step] = []
        while self.ops and self.ops[0].kind != b"S":
            decided += self._decide(self.ops.popleft(), landed=False)
        self.skips = not self.ops
        return decided

    def _ready(self, status: bytes) -> list[Step]:
        error, self._error = self._error, False
        decided: list[Step] = []
        if self.ops:
            op = self.ops.popleft()
            decided = self._decide(op, landed=op.landed or not (error or (op.says and op.kind == b"Q")))
        if not self.ops:
            self._transaction.is_so(status)
        return decided

    def _copy_begins(self) -> None:
        if not self.ops or self.ops[0].kind != b"E":
            return
        op = self.ops.popleft()
        while self.ops and self.ops[0].kind == b"S":  # the server does not hear them while it is copied to
            self.ops.popleft()
        self.copies_in = not (self.ops and self.ops[0].kind == b"c")
        self.ops.appendleft(op)

    def _decide(self, op: Op, *, landed: bool) -> list[Step]:
        if op.boundary is None:
            return []
        if landed and op.prepares is not None:
            self._prepared[op.prepares[0]] = op.prepares[1]
        return [Landed(op.boundary) if landed else Failed(op.boundary)]
