"""Events as JSON objects, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import get_args

from ackgap.model.boundary import BoundaryKind, Phase
from ackgap.model.event import Decision, Event, Injector, Json, Settling

__all__ = ["EVENT_TYPES", "event_from_json", "event_to_json"]

EVENT_TYPES: dict[str, type[Event]] = {cls.kind: cls for cls in get_args(Event)}
"""Every type of event by what it is called."""

_REBUILD = {
    "phase": Phase,
    "boundary_kind": BoundaryKind,
    "source": Injector,
    "injector": Injector,
    "settling": Settling,
    "command": tuple,
    "parked_siblings": tuple,
    "beside": tuple,
}


def event_to_json(event: Event) -> dict[str, Json]:
    """Return the event as a JSON object whose `kind` names its type."""
    document: dict[str, Json] = {"kind": event.kind}
    for item in fields(event):
        value = getattr(event, item.name)
        document[item.name] = list(value) if isinstance(value, tuple) else value
    return document


def event_from_json(document: Mapping[str, Json]) -> Event:
    """Read what `event_to_json` wrote.

    Raises:
        ValueError: The object is not an event of this version.
    """
    try:
        values = dict(document)
        cls = EVENT_TYPES[values.pop("kind")]
        for name, rebuild in _REBUILD.items():
            if values.get(name) is not None:
                values[name] = rebuild(values[name])
        if values.get("decision") is not None:
            values["decision"] = Decision(values["decision"])
        return cls(**values)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"not an event: {error}") from error
