"""Which effects of a run stand for which known action, where an identity that was learned may have moved.

Two undisturbed runs show what stays while nothing happens. After a restart more may move. An effect that equals no
known action is therefore taken for the one that it is closest to, whether or not that one has its effect already: a
reworded copy of one action must not fill the place of another that is missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ackgap.judge.case import Case
from ackgap.model.event import EffectApplied
from ackgap.model.identity import Identity, identity_of

__all__ = ["Group", "Pairing", "pair"]

Group = tuple[str, Identity]
"""Operation and identity: a logical action."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """The effects of a run, sorted.

    Attributes:
        known: Effects of each action that an undisturbed run takes, in order; with those that were taken for it.
        moved: Those that were taken for a known action although their identity is another, by operation and number.
        unclear: By operation, effects that are as close to one known action as to another.
        unknown: Effects of actions that no undisturbed run takes.
    """

    known: Mapping[Group, Sequence[EffectApplied]]
    moved: frozenset[tuple[str, int]]
    unclear: Mapping[str, Sequence[EffectApplied]]
    unknown: Mapping[Group, Sequence[EffectApplied]]

    def has_moved(self, effect: EffectApplied) -> bool:
        """Whether an effect was taken for an action whose identity it does not have."""
        return (effect.operation, effect.effect) in self.moved


def pair(case: Case) -> Pairing:
    """Sort the effects of a run."""
    known: dict[Group, list[EffectApplied]] = {group: [] for group in case.expected_counts}
    unknown: dict[Group, list[EffectApplied]] = {}
    spare: list[EffectApplied] = []
    for group, seen in case.effects_by_identity.items():
        if group in known:
            known[group] += seen
        elif _may_move(case, group[0]):
            spare += seen
        else:
            unknown[group] = seen
    moved: set[tuple[str, int]] = set()
    unclear: defaultdict[str, list[EffectApplied]] = defaultdict(list)
    for effect in sorted(spare, key=lambda effect: effect.seq):
        home = _home(case, effect, known)
        if home is None:
            unclear[effect.operation].append(effect)
        else:
            known[home].append(effect)
            moved.add((effect.operation, effect.effect))
    for seen in known.values():
        seen.sort(key=lambda effect: effect.seq)
    return Pairing(known=known, moved=frozenset(moved), unclear=dict(unclear), unknown=unknown)


def _may_move(case: Case, operation: str) -> bool:
    """Whether an identity that no undisturbed run has may be a known action in other words.

    Where identity was learned and not declared, a field that the probes happened to agree on may change after a
    restart. Where it was declared, or the operation is new, the effect is a phantom.
    """
    facts = case.facts(operation)
    known = any(other == operation for other, _ in case.expected_counts)
    return facts is not None and facts.identity_learned and known


def _home(case: Case, effect: EffectApplied, known: Mapping[Group, Sequence[EffectApplied]]) -> Group | None:
    """Return the one action that an effect repeats or stands for; None where that is open."""
    facts = case.facts(effect.operation)
    groups = [group for group in known if group[0] == effect.operation]
    if facts is not None and facts.keys_tell and effect.key is not None:
        copied = [group for group in groups if any(other.key == effect.key for other in known[group])]
        if len(copied) == 1:
            return copied[0]
    mine = dict(identity_of(case.history, effect, facts))
    closeness = {group: sum(mine.get(path) == text for path, text in group[1]) for group in groups}
    best = max(closeness.values())
    closest = [group for group in groups if closeness[group] == best]
    return closest[0] if len(closest) == 1 else None
