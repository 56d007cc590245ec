"""Playback: which recorded answer a request is given, and what is said where there is none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ackgap.model.event import Json
from ackgap.target.upstream.recording import Recorded, Recording, Situation

__all__ = ["Player", "nearest"]

_SHOWN_DIFFERENCES = 3
_LONGEST_SHOWN = 60


@dataclass(slots=True, kw_only=True)
class Player:
    """Answers out of a recording, in one cell of one target.

    Args:
        recording: Where the answers come from.
        cell: Name of the cell; what was recorded in the cell of the same name is preferred, since answers of one cell
            agree about ids.
        match: `exact`, or `path`: a request that was not recorded is given the answer to the how-manieth request of
            its operation in that life.
    """

    recording: Recording
    cell: str
    match: str = "exact"
    _asked: Counter[tuple[int, Situation]] = field(default_factory=Counter)
    _of_operation: Counter[tuple[int, str]] = field(default_factory=Counter)

    def find(self, operation: str, situation: Situation, incarnation: int) -> Recorded | None:
        """Return the recorded answer to a request; None where there is none."""
        self._asked[incarnation, situation] += 1
        self._of_operation[incarnation, operation] += 1
        same = self.recording.in_situation(situation)
        if same:
            return self._chosen(same, incarnation, self._asked[incarnation, situation])
        if self.match == "path":
            alike = self.recording.to_operation(operation)
            return self._chosen(alike, incarnation, self._of_operation[incarnation, operation]) if alike else None
        return None

    def _chosen(self, entries: list[Recorded], incarnation: int, number: int) -> Recorded:
        """Return the answer with that number of one life that asked, the last one where it asked less often."""
        takes: dict[tuple[str, int], list[Recorded]] = {}
        for entry in entries:
            takes.setdefault((entry.cell, entry.incarnation), []).append(entry)
        own = [take for (cell, _), take in takes.items() if cell == self.cell]
        take = takes.get((self.cell, incarnation)) or next(iter(own), None) or next(iter(takes.values()))
        return take[min(number, len(take)) - 1]


def nearest(recording: Recording, operation: str, shown: Mapping[str, Json], situation: Situation) -> str:
    """Return in words which recorded request is nearest to one that was not recorded, and where they differ."""
    alike = recording.to_operation(operation)
    if not alike:
        known = sorted({entry.operation for entry in recording.entries})
        return f"no request to {operation} was recorded, only to {', '.join(known[:5])}"
    equal = [entry for entry in alike if entry.situation.fingerprint == situation.fingerprint]
    if equal:
        if all(entry.situation.after != situation.after for entry in equal):
            return "the same request was recorded, but never after these effects: what it is answered then is not known"
        return "the same request was recorded, but with another use of idempotency keys"
    closest = min(alike, key=lambda entry: len(_differences(entry.request, shown)))
    found = _differences(closest.request, shown)
    more = f" and {len(found) - _SHOWN_DIFFERENCES} more" if len(found) > _SHOWN_DIFFERENCES else ""
    return f"the nearest one that was recorded differs in {'; '.join(found[:_SHOWN_DIFFERENCES])}{more}"


def _leaves(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _leaves(item, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and value:
        for place, item in enumerate(value):
            yield from _leaves(item, f"{path}[{place}]")
    else:
        yield path, value


def _differences(recorded: Mapping[str, Json], asked: Mapping[str, Json]) -> list[str]:
    one, two = dict(_leaves(recorded)), dict(_leaves(asked))
    return [
        f"{path} ({_shown(one, path)} was recorded, {_shown(two, path)} asked)"
        for path in dict.fromkeys([*one, *two])
        if one.get(path) != two.get(path)
    ]


def _shown(leaves: Mapping[str, Json], path: str) -> str:
    if path not in leaves:
        return "nothing"
    text = json.dumps(leaves[path])
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
