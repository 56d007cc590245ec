"""The census: from two undisturbed runs to the boundaries, the expected effects, and what could not be relied on.

The second probe runs under drift: the model says the same in other words. What differs between the two and is a
count or a boundary is nondeterminism, and is reported. What differs and is a field of a payload is content, so that
for a target which nobody described the fields that stay are its identity.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import replace

from ackgap.model.boundary import CrashPoint, Phase
from ackgap.model.event import EffectApplied
from ackgap.model.expectation import ApprovalRule, Expectation, ExpectedEffect, OperationFacts, OrderRule, Proof
from ackgap.model.history import History
from ackgap.model.identity import Identity, effect_document, flatten, identity_of

__all__ = ["crash_points", "take_census"]


def take_census(
    first: History,
    second: History,
    facts: Mapping[str, OperationFacts],
    *,
    declared_counts: Mapping[str, int] | None = None,
    approvals: tuple[ApprovalRule, ...] = (),
    orders: tuple[OrderRule, ...] = (),
    proofs: tuple[Proof, ...] = (),
) -> Expectation:
    """Return the yardstick of a variant.

    Args:
        first: The undisturbed run.
        second: Another one, with a drifted model.
        facts: What the profiles say about the operations.
        declared_counts: Effects for each identity of an operation, where the user gives them.
        approvals: Content rules of the scenario.
        orders: Order rules of the scenario.
        proofs: Of the variant's axis values.
    """
    learned = _learn_identities(first, second, facts)
    declared = dict(declared_counts or {})
    return Expectation(
        operations=learned,
        effects=_expected_effects(first, learned, declared),
        paid_counts=first.paid_counts(),
        declared_counts=declared,
        approvals=approvals,
        orders=orders,
        proofs=proofs,
        points=crash_points(first, second),
        nondeterministic=_differences(first, second, learned),
    )


def crash_points(first: History, second: History) -> tuple[str, ...]:
    """Return the points of the first probe that the second one came to as well, in the order of the run."""
    shared = Counter(event.point_text for event in second.passages)
    return tuple(
        dict.fromkeys(
            event.point_text
            for event in first.passages
            if event.phase is not Phase.ANSWERING and shared[event.point_text]
        )
    )


def _learn_identities(
    first: History, second: History, facts: Mapping[str, OperationFacts]
) -> dict[str, OperationFacts]:
    one, two = _by_operation(first), _by_operation(second)
    learned = dict(facts)
    for operation, effects in one.items():
        known = facts.get(operation)
        if known is None or known.identity or all(effect.identity for effect in effects):
            continue
        same, differing = _stable_paths(first, effects, second, two.get(operation, []))
        learned[operation] = replace(known, identity=same, identity_learned=True, content_learned=differing)
    return learned


def _stable_paths(
    first: History, ones: list[EffectApplied], second: History, twos: list[EffectApplied]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the paths whose values agree in every pair of corresponding effects, and those that differ."""
    seen: dict[str, bool] = {}
    for one, two in zip(ones, twos, strict=False):
        left, right = (
            dict(flatten(effect_document(history, effect))) for history, effect in ((first, one), (second, two))
        )
        for path in left.keys() | right.keys():
            seen[path] = seen.get(path, True) and left.get(path) == right.get(path)
    return (
        tuple(sorted(path for path, same in seen.items() if same)),
        tuple(sorted(path for path, same in seen.items() if not same)),
    )


def _expected_effects(
    history: History, facts: Mapping[str, OperationFacts], declared: Mapping[str, int]
) -> tuple[ExpectedEffect, ...]:
    counts: Counter[tuple[str, Identity]] = Counter()
    for effect in history.effects:
        counts[effect.operation, identity_of(history, effect, facts.get(effect.operation))] += 1
    expected = []
    for (operation, identity), count in counts.items():
        known = facts.get(operation)
        assumed = known is None or known.identity_learned or not known.identity
        expected.append(
            ExpectedEffect(
                operation=operation,
                identity=dict(identity),
                count=declared.get(operation, count if assumed else 1),
                assumed=assumed and operation not in declared,
                declared=operation in declared,
            )
        )
    seen = {operation for operation, _ in counts}
    expected += [
        ExpectedEffect(operation=operation, identity={}, count=count, declared=True)
        for operation, count in declared.items()
        if operation not in seen and count
    ]
    return tuple(expected)


def _differences(first: History, second: History, facts: Mapping[str, OperationFacts]) -> tuple[str, ...]:
    found = []
    for what, ones, twos in (
        ("effects of", _effect_counts(first, facts), _effect_counts(second, facts)),
        ("paid attempts of", first.paid_counts(), second.paid_counts()),
        ("passages of", _point_counts(first), _point_counts(second)),
    ):
        for name in sorted(ones.keys() | twos.keys()):
            one, two = ones.get(name, 0), twos.get(name, 0)
            if one != two:
                found.append(f"{what} {name}: {one} in the first undisturbed run, {two} in the second")
    return tuple(found)


def _effect_counts(history: History, facts: Mapping[str, OperationFacts]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for effect in history.effects:
        identity = identity_of(history, effect, facts.get(effect.operation))
        counts[" ".join([effect.operation, *(f"{path}={value}" for path, value in identity)])] += 1
    return dict(counts)


def _point_counts(history: History) -> dict[str, int]:
    return dict(
        Counter(
            str(CrashPoint(name=event.name, occurrence=event.occurrence, phase=event.phase))
            for event in history.passages
            if event.phase is not Phase.ANSWERING
        )
    )


def _by_operation(history: History) -> dict[str, list[EffectApplied]]:
    effects: defaultdict[str, list[EffectApplied]] = defaultdict(list)
    for effect in history.effects:
        effects[effect.operation].append(effect)
    return dict(effects)
