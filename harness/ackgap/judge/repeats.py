"""Repeats that a count alone gets wrong: an object that was written again, and copies among effects that look right."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

from ackgap.judge.case import Case
from ackgap.judge.pairing import Group, Pairing
from ackgap.model.event import AttemptReceived, EffectApplied
from ackgap.model.identity import identity_of, leaves_of

__all__ = ["rewritten", "surplus_copies", "writes_one_object"]

_REPLACING = frozenset({"PUT", "DELETE"})
"""Methods after which the state of an object does not depend on how often they were sent (RFC 9110, section 9.2.2)."""
_CHANGING = _REPLACING | {"PATCH"}
_INDEX = re.compile(r"\.\d+(?=\.|$)")

Place = tuple[str, str, str]
"""Target, path and query: one object."""


def rewritten(case: Case, pairing: Pairing) -> frozenset[int]:
    """Return the numbers of effects that only wrote again, in a later life, what an earlier life had written.

    A PUT or DELETE of the same object with the same identity adds nothing, whatever its wording or time, if the
    object ends as it would have ended without it. One that undoes what came in between is counted. The same holds of
    any request of which the service's description says that it writes over what is there.
    """
    again: dict[int, EffectApplied] = {}
    for group, seen in pairing.known.items():
        facts = case.facts(group[0])
        excess = len(seen) - case.expected_counts[group]
        if facts is None or not (facts.identity_learned or facts.overwrites) or excess <= 0:
            continue
        in_life = Counter(effect.incarnation for effect in seen)
        candidates = [
            effect
            for effect in seen
            if in_life[effect.incarnation] <= case.expected_counts[group]
            and _repeats_an_earlier_life(case, pairing, effect, seen)
        ]
        again.update((effect.effect, effect) for effect in candidates[-excess:])
    spoiled = _places_left_otherwise(case, frozenset(again)) if again else frozenset()
    return frozenset(number for number, effect in again.items() if _place(case, effect) not in spoiled)


def surplus_copies(case: Case, group: Group, seen: Sequence[EffectApplied]) -> int:
    """Return how many effects of an action that an undisturbed run takes several times are copies of others.

    They have every field in common with another one, more often than in an undisturbed run, or the same key.
    """
    facts = case.facts(group[0])
    copies = case.expected_copies.get(group, 0)
    if facts is None or not copies:
        return 0
    documents = Counter(tuple(sorted(leaves_of(case.history, effect).items())) for effect in seen)
    surplus = sum(max(0, count - copies) for count in documents.values())
    if facts.keys_tell:
        keys = Counter(effect.key for effect in seen if effect.key is not None)
        surplus = max(surplus, sum(count - 1 for count in keys.values()))
    return surplus


def writes_one_object(case: Case, effects: Sequence[EffectApplied]) -> bool:
    """Whether effects only replace one and the same object, so that it does not matter which of them are repeats."""
    places = {_place(case, effect) for effect in effects}
    attempts = [_attempt(case, effect) for effect in effects]
    return len(places) == 1 and all(attempt is not None and attempt.method in _REPLACING for attempt in attempts)


def _repeats_an_earlier_life(
    case: Case, pairing: Pairing, effect: EffectApplied, seen: Sequence[EffectApplied]
) -> bool:
    attempt = _attempt(case, effect)
    if attempt is None or pairing.has_moved(effect):
        return False
    facts = case.facts(effect.operation)
    if attempt.method not in _REPLACING and not (facts is not None and facts.overwrites):
        return False
    return any(
        other.seq < effect.seq
        and other.incarnation < effect.incarnation
        and _place(case, other) == _place(case, effect)
        and _differ_in_content_only(case, other, effect)
        for other in seen
    )


def _differ_in_content_only(case: Case, one: EffectApplied, other: EffectApplied) -> bool:
    """Whether two effects differ at most where the undisturbed runs did; lists there may be of any length.

    Also an object that a description calls the same is another one with a balance that went up twice.
    """
    facts = case.facts(one.operation)
    content = {_INDEX.sub(".*", path) for path in facts.content_learned} if facts is not None else set()
    left, right = leaves_of(case.history, one), leaves_of(case.history, other)
    differing = {_INDEX.sub(".*", path) for path in left.keys() | right.keys() if left.get(path) != right.get(path)}
    return all(
        any(path == known or path.startswith(f"{known}.") or known.startswith(f"{path}.") for known in content)
        for path in differing
    )


def _places_left_otherwise(case: Case, again: frozenset[int]) -> frozenset[Place]:
    """Return the objects whose last change would be another one without these effects."""
    changes: defaultdict[Place, list[EffectApplied]] = defaultdict(list)
    for effect in case.history.effects:
        attempt, place = _attempt(case, effect), _place(case, effect)
        changing = attempt is not None and (attempt.method in _CHANGING or _is_described(case, effect))
        if changing and place is not None:
            changes[place].append(effect)
    left = set()
    for place, effects in changes.items():
        without = [effect for effect in effects if effect.effect not in again]
        if not without or _action(case, without[-1]) != _action(case, effects[-1]):
            left.add(place)
    return frozenset(left)


def _action(case: Case, effect: EffectApplied) -> Group:
    return effect.operation, identity_of(case.history, effect, case.facts(effect.operation))


def _attempt(case: Case, effect: EffectApplied) -> AttemptReceived | None:
    try:
        return case.history.attempt(effect.attempt)
    except KeyError:
        return None


def _is_described(case: Case, effect: EffectApplied) -> bool:
    """Whether somebody wrote down what tells the operation's effects apart."""
    facts = case.facts(effect.operation)
    return facts is not None and not facts.identity_learned and bool(effect.identity)


def _place(case: Case, effect: EffectApplied) -> Place | None:
    attempt = _attempt(case, effect)
    if attempt is None:
        return None
    if _is_described(case, effect) and effect.object_id:
        return attempt.target, effect.collection, effect.object_id  # many objects may be written at one URL
    return attempt.target, attempt.path, repr(attempt.query)
