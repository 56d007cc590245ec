"""What tells the effects of an operation apart that nobody described: learned from two undisturbed runs.

The effects of the two runs correspond as sets do. Workers send from threads and in the order of sets, so nothing
here looks at the order in which effects arrived. A path belongs to the identity if both runs have its values equally
often, not only by itself but together with the other paths of the identity: then there is a way to pair the effects
of the two runs so that every pair agrees in the whole identity.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ackgap.model.event import EffectApplied
from ackgap.model.history import History
from ackgap.model.identity import KEY_PATH, MISSING_LEAF, leaves_of

__all__ = ["Learned", "copies_by_identity", "learn"]

Action = TypeVar("Action", bound=Hashable)

_CLASS_LIMIT = 150
"""Groups of paths that are weighed against each other; beyond it those with the fewest different values are content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What two undisturbed runs say about the effects of one operation.

    Attributes:
        identity: Paths that stay, sorted.
        content: Paths that move, sorted.
        keys_tell: No two effects of one run had the same idempotency key, and every effect had one.
    """

    identity: tuple[str, ...]
    content: tuple[str, ...]
    keys_tell: bool


@dataclass(frozen=True, slots=True)
class _Column:
    """Paths whose values rise and fall together over all effects of both runs, as numbers from 0.

    Attributes:
        paths: Never empty.
        ones: A number for the value in each effect of the first run; equal numbers are equal values.
        twos: The same of the second run.
    """

    paths: tuple[str, ...]
    ones: tuple[int, ...]
    twos: tuple[int, ...]

    @property
    def variety(self) -> int:
        """How many different values there are."""
        return len({*self.ones, *self.twos})


def learn(first: History, ones: Sequence[EffectApplied], second: History, twos: Sequence[EffectApplied]) -> Learned:
    """Return what stays and what moves between the effects of one operation in two undisturbed runs.

    Args:
        first: A run.
        ones: Its effects of the operation, in any order.
        second: The other run.
        twos: Its effects of the operation, in any order.
    """
    left = [leaves_of(first, effect) for effect in ones]
    right = [leaves_of(second, effect) for effect in twos]
    paths = {path for leaves in (*left, *right) for path in leaves}
    stable = [column for column in _columns(paths, left, right) if _fits(column.ones, column.twos)]
    constant = [column for column in stable if column.variety <= 1]
    varying = [column for column in stable if column.variety > 1]
    kept = {path for column in (*constant, *_settled(varying)) for path in column.paths}
    whole = "path" in kept
    parts = {path for path in paths if path.startswith("path.")}
    identity = kept - parts if whole else kept
    if (_needs_key(left, identity) or _needs_key(right, identity)) and _key_fits(left, ones, right, twos, identity):
        identity = identity | {KEY_PATH}
    content = paths - kept - (parts if whole else set())
    return Learned(
        identity=tuple(sorted(identity)),
        content=tuple(sorted(content)),
        keys_tell=_keys_tell(ones) and _keys_tell(twos),
    )


def _needs_key(documents: list[dict[str, str]], identity: set[str]) -> bool:
    """Whether effects that differ look the same to an identity."""
    seen: dict[tuple[str | None, ...], dict[str, str]] = {}
    return any(seen.setdefault(_values(leaves, identity), leaves) != leaves for leaves in documents)


def _key_fits(
    left: list[dict[str, str]],
    ones: Sequence[EffectApplied],
    right: list[dict[str, str]],
    twos: Sequence[EffectApplied],
    identity: set[str],
) -> bool:
    """Whether keys stay between the runs, also together with what else stays: then they are not made from words."""
    keys = {effect.key for effect in (*ones, *twos)}
    return len(keys - {None}) > 1 and _fits(
        ((*_values(leaves, identity), effect.key) for leaves, effect in zip(left, ones, strict=True)),
        ((*_values(leaves, identity), effect.key) for leaves, effect in zip(right, twos, strict=True)),
    )


def _values(leaves: dict[str, str], identity: set[str]) -> tuple[str | None, ...]:
    return tuple(leaves.get(path) for path in sorted(identity))


def copies_by_identity(effects: Iterable[tuple[Action, Mapping[str, str]]]) -> dict[Action, int]:
    """Return for each logical action the most of its effects that are equal in every leaf.

    Args:
        effects: Of one run: the action that each is, and its leaves.
    """
    documents: defaultdict[Action, Counter[tuple[tuple[str, str], ...]]] = defaultdict(Counter)
    for action, leaves in effects:
        documents[action][tuple(sorted(leaves.items()))] += 1
    return {action: max(counts.values()) for action, counts in documents.items()}


def _columns(paths: set[str], left: list[dict[str, str]], right: list[dict[str, str]]) -> list[_Column]:
    together: defaultdict[tuple[int, ...], list[str]] = defaultdict(list)
    for path in sorted(paths):
        numbers: dict[str, int] = {}
        values = (leaves.get(path, MISSING_LEAF) for leaves in (*left, *right))
        together[tuple(numbers.setdefault(value, len(numbers)) for value in values)].append(path)
    middle = len(left)
    return [
        _Column(paths=tuple(members), ones=pattern[:middle], twos=pattern[middle:])
        for pattern, members in together.items()
    ]


def _fits(ones: Iterable[object], twos: Iterable[object]) -> bool:
    """Whether the smaller collection is part of the larger: of two equally long ones, whether they are the same."""
    one, two = Counter(ones), Counter(twos)
    return one <= two or two <= one


def _settled(columns: list[_Column]) -> list[_Column]:
    """Return the columns that can be identity together.

    Two columns can each have equal values in both runs and still contradict each other: urgent and normal went to the
    partners the other way round. Then one of them is content. It is taken to be the one that fewer others side with,
    if it does not have more different values. If that is open, neither is relied on.
    """
    ranked = sorted(columns, key=lambda column: (-column.variety, -len(column.paths), column.paths))[:_CLASS_LIMIT]
    agree = [[_agree(one, other) for other in ranked] for one in ranked]
    places = range(len(ranked))
    if all(all(row) for row in agree):
        kept = list(places)
    else:
        kept = [
            place
            for place in places
            if all(agree[place][rival] or _outweighs(ranked, agree, place, rival) for rival in places)
        ]
    settled: list[_Column] = []
    ones: Sequence[int] = ()
    twos: Sequence[int] = ()
    for place in kept:
        column = ranked[place]
        more_ones = list(zip(ones, column.ones, strict=True)) if settled else [(0, value) for value in column.ones]
        more_twos = list(zip(twos, column.twos, strict=True)) if settled else [(0, value) for value in column.twos]
        if _fits(more_ones, more_twos):
            settled.append(column)
            numbers: dict[tuple[int, int], int] = {}
            ones, twos = (
                [numbers.setdefault(pair, len(numbers)) for pair in pairs] for pairs in (more_ones, more_twos)
            )
    return settled


def _agree(one: _Column, other: _Column) -> bool:
    return _fits(zip(one.ones, other.ones, strict=True), zip(one.twos, other.twos, strict=True))


def _outweighs(columns: list[_Column], agree: list[list[bool]], place: int, rival: int) -> bool:
    def support(mine: int, theirs: int) -> int:
        return sum(
            len(column.paths) for other, column in enumerate(columns) if agree[mine][other] and not agree[other][theirs]
        )

    variety = columns[place].variety - columns[rival].variety
    weight = support(place, rival) - support(rival, place)
    return variety >= 0 and weight >= 0 and variety + weight > 0


def _keys_tell(effects: Sequence[EffectApplied]) -> bool:
    keys = [effect.key for effect in effects]
    return None not in keys and len(set(keys)) == len(keys)
