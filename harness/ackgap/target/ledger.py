"""Ledger: the append-only record of what one target counted in one cell, kept outside the worker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ackgap.model.event import (
    AttemptAnswered,
    AttemptDropped,
    AttemptReceived,
    ClientGaveUp,
    Decision,
    DiscardedAtDeath,
    EffectApplied,
    Event,
    Json,
    Note,
)
from ackgap.target.engine import Handled
from ackgap.target.ports import Recorder
from ackgap.target.wire.headers import telling_headers
from ackgap.target.wire.payload import safe, shortened
from ackgap.target.wire.request import Request

__all__ = ["Ledger", "Numbering"]

E = TypeVar("E", bound=Event)


class Numbering:
    """Hands out the numbers of attempts and effects, from 1, over all targets of a cell.

    Args:
        earlier: What has happened in the cell already.
    """

    def __init__(self, earlier: Sequence[Event] = ()) -> None:
        self._attempts = sum(isinstance(event, AttemptReceived) for event in earlier)
        self._effects = sum(isinstance(event, EffectApplied) for event in earlier)

    def next_attempt(self) -> int:
        """Return the number of a new attempt."""
        self._attempts += 1
        return self._attempts

    def next_effect(self) -> int:
        """Return the number of a new effect."""
        self._effects += 1
        return self._effects


class Ledger:
    """What one target counted in one cell. Once closed it takes nothing more.

    Everything that came from a worker is redacted and cut on its way in.
    """

    def __init__(self, target: str, recorder: Recorder, numbers: Numbering) -> None:
        self._target = target
        self._recorder = recorder
        self._numbers = numbers
        self._closed = False
        self._attempts: list[AttemptReceived] = []
        self._effects: list[EffectApplied] = []

    @property
    def attempts(self) -> tuple[AttemptReceived, ...]:
        """Every attempt so far."""
        return tuple(self._attempts)

    @property
    def effects(self) -> tuple[EffectApplied, ...]:
        """Every effect so far."""
        return tuple(self._effects)

    def take_up(self, earlier: Sequence[Event]) -> None:
        """Go on from what had happened in a cell that this one is to be like."""
        self._attempts = [event for event in earlier if isinstance(event, AttemptReceived) and self._is_mine(event)]
        self._effects = [event for event in earlier if isinstance(event, EffectApplied) and self._is_mine(event)]

    def _is_mine(self, event: AttemptReceived | EffectApplied) -> bool:
        return event.target == self._target

    def close(self) -> None:
        """Take nothing more: the cell is over."""
        self._closed = True

    def received(
        self,
        request: Request,
        *,
        incarnation: int,
        operation: str,
        occurrence: int,
        effectful: bool,
        paid: bool,
        key: str | None,
    ) -> int:
        """Write down an attempt and return its number; 0 once the ledger is closed."""
        if self._closed:
            return 0
        event = self._record(
            AttemptReceived,
            attempt=self._numbers.next_attempt(),
            incarnation=incarnation,
            target=self._target,
            operation=operation,
            occurrence=occurrence,
            method=request.method,
            path=shortened(request.path),
            effectful=effectful,
            paid=paid,
            key=key if key is None else shortened(key),
            payload=safe(request.payload),
            payload_digest=request.digest,
            query=safe(dict(request.query)) or None,
            headers=telling_headers(request.headers, key=key),
        )
        if event is None:
            return 0
        self._attempts.append(event)
        return event.attempt

    def applied(
        self,
        handled: Handled,
        request: Request,
        *,
        attempt: int,
        incarnation: int,
        operation: str,
        key: str | None,
        clock_s: float,
    ) -> None:
        """Write down an effect."""
        if self._closed:
            return
        event = self._record(
            EffectApplied,
            effect=self._numbers.next_effect(),
            attempt=attempt,
            incarnation=incarnation,
            target=self._target,
            operation=operation,
            object_id=handled.effect_object_id or "",
            identity=handled.identity,
            content=safe(request.payload),
            collection=handled.made[0] if handled.made else "",
            key=key if key is None else shortened(key),
            clock_s=clock_s,
        )
        if event is not None:
            self._effects.append(event)

    def answered(self, attempt: int, handled: Handled, *, status: int | None = None) -> None:
        """Write down that an answer was written to the connection; `status` is that of another one in its place."""
        self._record(
            AttemptAnswered,
            attempt=attempt,
            status=handled.answer.status if status is None else status,
            decision=handled.decision,
            rule=handled.rule,
            object_id=handled.answer.object_id,
            cost=handled.cost,
        )

    def refused(self, attempt: int, status: int, decision: Decision, rule: str) -> None:
        """Write down an answer to something that is no request to an operation."""
        self._record(AttemptAnswered, attempt=attempt, status=status, decision=decision, rule=rule)

    def dropped(self, attempt: int, handled: Handled | None, reason: str = "") -> None:
        """Write down that a connection was dropped without an answer, with what had been decided by then."""
        if handled is None:
            self._record(AttemptDropped, attempt=attempt, reason=reason)
        else:
            self._record(
                AttemptDropped,
                attempt=attempt,
                decision=handled.decision,
                rule=handled.rule,
                cost=handled.cost,
                reason=reason,
            )

    def gave_up(self, attempt: int, incarnation: int) -> None:
        """Write down that a client closed its connection while its request was parked."""
        self._record(ClientGaveUp, attempt=attempt, incarnation=incarnation)

    def discarded(self, incarnation: int, byte_count: int, complete_request: bool) -> None:
        """Write down bytes of a dead life that nobody will read as a request."""
        self._record(
            DiscardedAtDeath,
            incarnation=incarnation,
            target=self._target,
            byte_count=byte_count,
            complete_request=complete_request,
        )

    def note(self, code: str, text: str, incarnation: int = 0) -> None:
        """Write down a remark."""
        self._record(Note, code=code, text=str(safe(text)), incarnation=incarnation)

    def _record(self, kind: type[E], **values: Json | Any) -> E | None:
        return None if self._closed else self._recorder.record(kind, **values)
