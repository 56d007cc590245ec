"""HistoryRecorder: the one place where the events of a cell get their order."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ackgap.model.event import Event
from ackgap.model.history import History
from ackgap.target.wire.redaction import Redactor

__all__ = ["HistoryRecorder"]

E = TypeVar("E", bound=Event)


class HistoryRecorder:
    """Appends events; `seq` is their order, `at_s` the real seconds since the cell began.

    Args:
        watch: Called with each event as it is appended, for live views. It must not raise.
        own_words: Text that only this cell has; `{cell}` is written in its place, so that cells can be compared.
        redactor: Takes secrets out of everything that is appended.
        earlier: What has happened already, where the cell begins with a copy.
    """

    def __init__(
        self,
        watch: Callable[[Event], None] | None = None,
        *,
        own_words: str = "",
        redactor: Redactor | None = None,
        earlier: Sequence[Event] = (),
    ) -> None:
        self._began_s = time.monotonic() - (earlier[-1].at_s if earlier else 0.0)
        self._events: list[Event] = list(earlier)
        self._watch = watch
        self._own_words = own_words
        self._redactor = redactor or Redactor()

    def record(self, kind: type[E], /, **values: Any) -> E:
        """Append an event and return it."""
        if self._own_words:
            values = {name: self._shared(value) for name, value in values.items()}
        values = self._redactor.fields(values)
        at_s = round(time.monotonic() - self._began_s, 6)
        event = kind(seq=len(self._events) + 1, at_s=at_s, **values)
        self._events.append(event)
        if self._watch is not None:
            self._watch(event)
        return event

    @property
    def count(self) -> int:
        """How many events there are so far."""
        return len(self._events)

    def history(self) -> History:
        """Return what has been appended so far."""
        return History(events=tuple(self._events))

    def _shared(self, value: Any) -> Any:
        if type(value) is str:  # members of enumerations are text as well
            return value.replace(self._own_words, "{cell}")
        if isinstance(value, Mapping):
            return {self._shared(name): self._shared(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self._shared(item) for item in value)
        return value
