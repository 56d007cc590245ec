"""Watch: the recorder of targets that are served alone. It keeps the newest events, and the totals of all of them."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ackgap.model.event import AttemptAnswered, AttemptDropped, AttemptReceived, Decision, EffectApplied, Event, Json
from ackgap.model.event_codec import event_to_json
from ackgap.model.identity import identity_text
from ackgap.target.wire.redaction import Redactor

__all__ = ["Action", "Row", "Watch"]

E = TypeVar("E", bound=Event)

_EVENT_LIMIT = 10_000
_ROW_LIMIT = 1_000
_OBJECT_LIMIT = 20


@dataclass(slots=True, kw_only=True)
class Row:
    """One attempt, as far as it has come.

    Attributes:
        clock_s: The targets' virtual time at which it was there, in seconds since the epoch.
        decision: None until it is answered or dropped.
        dropped: Its connection ended without an answer.
        copies: The how-manieth effect of its identity it became; 0 where it became none.
        cost: In the currency of its target.
    """

    received: AttemptReceived
    clock_s: float
    currency: str = ""
    decision: Decision | None = None
    dropped: bool = False
    status: int = 0
    rule: str = ""
    object_id: str = ""
    cost: float = 0.0
    copies: int = 0

    @property
    def done(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.dropped or self.decision is not None


@dataclass(slots=True, kw_only=True)
class Action:
    """One logical action: every effect of one identity.

    Attributes:
        text: Its identity in words.
        count: How many effects it has; more than one is a repeat.
        object_ids: Of those effects, the first ones.
    """

    operation: str
    text: str
    count: int = 0
    object_ids: list[str] = field(default_factory=list)


class Watch:
    """Writes down events, for a view and for the control port.

    Args:
        clock: The targets' virtual time in seconds since the epoch.
        currencies: By target, of its costs.
        redactor: Takes secrets out of every event.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        currencies: Mapping[str, str] | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self._clock = clock
        self._redactor = redactor or Redactor()
        self._currencies = dict(currencies or {})
        self._began_s = time.monotonic()
        self._listeners: list[Callable[[Event, Row | None], None]] = []
        self._seq = 0
        self._forget()

    def _forget(self) -> None:
        self._events: deque[Event] = deque(maxlen=_EVENT_LIMIT)
        self._rows: deque[Row] = deque(maxlen=_ROW_LIMIT)
        self._open: dict[int, Row] = {}
        self._actions: dict[tuple[str, ...], Action] = {}
        self._costs: Counter[str] = Counter()
        self.attempt_count = 0
        self.effect_count = 0

    @property
    def events(self) -> tuple[Event, ...]:
        """The newest events, oldest first."""
        return tuple(self._events)

    @property
    def rows(self) -> Sequence[Row]:
        """The newest attempts, oldest first."""
        return self._rows

    @property
    def actions(self) -> tuple[Action, ...]:
        """Every logical action that had an effect, in the order of their first ones."""
        return tuple(self._actions.values())

    @property
    def repeated(self) -> tuple[Action, ...]:
        """The actions that had more than one effect."""
        return tuple(action for action in self._actions.values() if action.count > 1)

    @property
    def costs(self) -> dict[str, float]:
        """What the attempts cost, by currency."""
        return dict(self._costs)

    def listen(self, listener: Callable[[Event, Row | None], None]) -> None:
        """Have every further event told, with the attempt that it belongs to. A listener must not raise."""
        self._listeners.append(listener)

    def reset(self) -> None:
        """Forget everything; `seq` goes on, so that a reader of the ledger notices."""
        self._forget()

    def record(self, kind: type[E], /, **values: Any) -> E:
        """Append an event and return it."""
        self._seq += 1
        values = self._redactor.fields(values)
        event = kind(seq=self._seq, at_s=round(time.monotonic() - self._began_s, 6), **values)
        self._events.append(event)
        row = self._note(event)
        for listener in self._listeners:
            listener(event, row)
        return event

    def document(self, since: int = 0) -> dict[str, Json]:
        """Return events after a `seq`, and the totals, as JSON."""
        oldest = self._events[0].seq if self._events else self._seq + 1
        return {
            "seq": self._seq,
            "oldest_seq": oldest,
            "events": [event_to_json(event) for event in self._events if event.seq > since],
            "totals": self.totals(),
        }

    def totals(self) -> dict[str, Json]:
        """Return the totals as JSON."""
        return {
            "attempts": self.attempt_count,
            "effects": self.effect_count,
            "costs": self.costs,
            "actions": [
                {
                    "operation": action.operation,
                    "identity": action.text,
                    "effects": action.count,
                    "objects": list(action.object_ids),
                    "repeated": action.count > 1,
                }
                for action in self._actions.values()
            ],
        }

    def _note(self, event: Event) -> Row | None:
        if isinstance(event, AttemptReceived):
            self.attempt_count += 1
            row = Row(received=event, clock_s=self._clock(), currency=self._currencies.get(event.target, ""))
            self._rows.append(row)
            self._open[event.attempt] = row
            return row
        if isinstance(event, EffectApplied):
            self.effect_count += 1
            opened = self._open.get(event.attempt)
            if opened is not None:
                opened.object_id = event.object_id
                opened.copies = self._count(event, opened.received)
            return opened
        if isinstance(event, AttemptAnswered | AttemptDropped):
            closed = self._open.pop(event.attempt, None)
            if closed is not None:
                self._close(closed, event)
            return closed
        return None

    def _close(self, row: Row, event: AttemptAnswered | AttemptDropped) -> None:
        row.decision, row.rule, row.cost = event.decision, event.rule, event.cost
        if isinstance(event, AttemptAnswered):
            row.status = event.status
            row.object_id = event.object_id or row.object_id
        else:
            row.dropped = True
        if event.cost:
            self._costs[row.currency] += event.cost  # type: ignore[assignment]

    def _count(self, effect: EffectApplied, received: AttemptReceived) -> int:
        """Count an effect by its identity; where its service says none, by the request it came from."""
        known = {path: value for path, value in effect.identity.items() if value is not None}
        if effect.identity:
            key = (effect.operation, *(f"{path} {value!r}" for path, value in sorted(known.items())))
            text = identity_text(known)
        else:
            key = (effect.operation, received.path, received.payload_digest)
            text = f"{received.method} {received.path}"
        action = self._actions.setdefault(key, Action(operation=effect.operation, text=text))
        action.count += 1
        if effect.object_id and len(action.object_ids) < _OBJECT_LIMIT:
            action.object_ids.append(effect.object_id)
        return action.count
