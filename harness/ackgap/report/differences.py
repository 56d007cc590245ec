"""In which fields documents differ, as a reader wants to see it: the place, and each value around the difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ackgap.model.event import Json
from ackgap.model.identity import MISSING_LEAF

__all__ = ["Difference", "differences", "excerpts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A field in which documents differ.

    Attributes:
        path: Names and places on the way to it: `body.items.0.title`.
        values: What each document has there, as text; `(missing)` where it has nothing.
    """

    path: str
    values: tuple[str, ...]


def differences(documents: Sequence[Json]) -> tuple[Difference, ...]:
    """Return every field in which not all documents agree, in the order in which they stand in the first of them."""
    leaves = [dict(_leaves(document, "")) for document in documents]
    paths = dict.fromkeys(path for found in leaves for path in found)
    compared = ((path, tuple(found.get(path, MISSING_LEAF) for found in leaves)) for path in paths)
    return tuple(Difference(path=path, values=values) for path, values in compared if len(set(values)) > 1)


def excerpts(values: Sequence[str], width: int) -> tuple[str, ...]:
    """Return texts cut to a number of characters, all around the first place in which they differ."""
    if all(len(value) <= width for value in values):
        return tuple(values)
    letters = enumerate(zip(*values, strict=False))
    shared = next((place for place, both in letters if len(set(both)) > 1), min(map(len, values)))
    begin = max(0, shared - width // 4)
    return tuple(_window(value, begin, width) for value in values)


def _window(text: str, begin: int, width: int) -> str:
    before = "…" if begin else ""
    kept = text[begin : begin + width - len(before)]
    after = begin + len(kept) < len(text)
    return f"{before}{kept[: len(kept) - after]}{'…' if after else ''}"


def _leaves(value: Json, path: str) -> list[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        steps = [(f"{path}.{name}" if path else str(name), item) for name, item in value.items()]
    elif isinstance(value, list | tuple) and value:
        steps = [(f"{path}.{place}" if path else str(place), item) for place, item in enumerate(value)]
    else:
        return [(path, value if isinstance(value, str) else repr(value))]
    return [leaf for step, item in steps for leaf in _leaves(item, step)]
