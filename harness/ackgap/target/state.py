"""State: what a target knows in one cell: its objects and the keys that it remembers.

Plain data, so that it can be copied.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ackgap.model.event import Json
from ackgap.target.protection.keys import KeyRecord

__all__ = ["State", "Stored"]


@dataclass(slots=True, kw_only=True)
class Stored:
    """An object of the service.

    Attributes:
        document: What the service shows of it, before fields that appear later.
        created_s: Virtual time.
        natural_keys: Digests of the values that it is about, one for each rule that asks.
    """

    object_id: str
    collection: str
    document: Json
    created_s: float
    natural_keys: frozenset[str] = frozenset()


@dataclass(slots=True, kw_only=True)
class State:
    """What a target knows.

    Attributes:
        objects: By collection, then id, in the order in which they were made.
        removed: Paths of objects that were deleted.
        ended: When objects came to their end, in virtual seconds.
        busy: Conditional writes that are being worked on: collection, id and a number of each.
        keys: Remembered idempotency keys, by scope and key.
        made: How many ids were given out, by prefix.
    """

    objects: dict[str, dict[str, Stored]] = field(default_factory=dict)
    removed: set[tuple[str, str]] = field(default_factory=set)
    ended: dict[tuple[str, str], float] = field(default_factory=dict)
    busy: set[tuple[str, str, int]] = field(default_factory=set)
    keys: dict[tuple[str, str], KeyRecord] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)

    def next_number(self, prefix: str) -> int:
        """Return a number that was not given out before; the same in every run that makes the same objects."""
        number = self.made.get(prefix, 0) + 1
        self.made[prefix] = number
        return number

    def put(self, stored: Stored) -> None:
        """Keep an object, in the place of an earlier one with its id."""
        self.objects.setdefault(stored.collection, {})[stored.object_id] = stored
        self.removed.discard((stored.collection, stored.object_id))

    def get(self, collection: str, object_id: str) -> Stored | None:
        """Return an object."""
        return self.objects.get(collection, {}).get(object_id)

    def remove(self, collection: str, object_id: str) -> None:
        """Forget an object, and remember that it is gone."""
        self.objects.get(collection, {}).pop(object_id, None)
        self.removed.add((collection, object_id))

    def is_removed(self, collection: str, object_id: str) -> bool:
        """Whether the object was deleted and not made again."""
        return (collection, object_id) in self.removed

    def all_of(self, collection: str) -> Iterator[Stored]:
        """Yield the objects of a collection, oldest first."""
        yield from self.objects.get(collection, {}).values()
