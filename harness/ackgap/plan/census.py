"""The census: from two undisturbed runs to the boundaries, the expected effects, and what could not be relied on.

The second probe runs under drift: the model says the same in other words. What differs between the two and is a
count or a boundary is nondeterminism, and is reported. What differs and is a field of a payload is content, so that
for a target which nobody described the fields that stay are its identity.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

from ackgap.model.boundary import CrashPoint, landed_by_point
from ackgap.model.event import EffectApplied
from ackgap.model.expectation import ApprovalRule, Expectation, ExpectedEffect, OperationFacts, OrderRule, Proof
from ackgap.model.history import History
from ackgap.model.identity import Identity, identity_of, leaves_of
from ackgap.plan.learning import copies_by_identity, learn

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
        effects=_expected_effects(first, second, learned, declared),
        paid_counts=first.paid_counts(),
        declared_counts=declared,
        approvals=approvals,
        orders=orders,
        proofs=proofs,
        points=crash_points(first, second),
        nondeterministic=_differences(first, second, learned),
        moved=_moved(crash_points(first, second), crash_points(second, first)),
    )


def crash_points(first: History, second: History) -> tuple[str, ...]:
    """Return the points of the first probe that the second one came to as well, in the order of the run."""
    shared = Counter(event.point_text for event in second.passages)
    return tuple(dict.fromkeys(event.point_text for event in first.passages if shared[event.point_text]))


def _learn_identities(
    first: History, second: History, facts: Mapping[str, OperationFacts]
) -> dict[str, OperationFacts]:
    one, two = _by_operation(first), _by_operation(second)
    learned = dict(facts)
    for operation, effects in one.items():
        known = facts.get(operation)
        if known is None:
            continue
        if known.identity and not _too_weak(known, (first, effects), (second, two.get(operation, []))):
            if known.overwrites:
                content = learn(first, effects, second, two.get(operation, [])).content
                learned[operation] = replace(known, content_learned=content)
            continue
        if not known.identity and all(effect.identity for effect in effects):
            continue
        found = learn(first, effects, second, two.get(operation, []))
        learned[operation] = replace(
            known,
            identity=found.identity,
            identity_learned=True,
            content_learned=found.content,
            keys_tell=found.keys_tell,
        )
    return learned


def _too_weak(known: OperationFacts, *probes: tuple[History, list[EffectApplied]]) -> bool:
    """Whether what tells effects apart has to be learned although a description says it.

    A weak identity is what such requests usually have; what else stays in both runs belongs to it. Writing over an
    object several times is several actions. But the same said twice is a repeat also in peace.
    """
    if not (known.identity_weak or known.overwrites):
        return False
    several = True
    for history, effects in probes:
        documents: defaultdict[Identity, list[tuple[tuple[str, str], ...]]] = defaultdict(list)
        for effect in effects:
            identity = identity_of(history, effect, known)
            documents[identity].append(tuple(sorted(leaves_of(history, effect).items())))
        if any(len(said) > len(set(said)) for said in documents.values()):
            return False
        several = several and any(len(said) > 1 for said in documents.values())
    return known.identity_weak or several


def _expected_effects(
    first: History, second: History, facts: Mapping[str, OperationFacts], declared: Mapping[str, int]
) -> tuple[ExpectedEffect, ...]:
    counts = Counter(action for action, _ in _actions(first, facts))
    copies, copies_then = (copies_by_identity(_actions(history, facts)) for history in (first, second))
    expected = []
    for action, count in counts.items():
        operation, identity = action
        known = facts.get(operation)
        learned = known is not None and known.identity_learned
        assumed = known is None or known.identity_learned or not known.identity
        expected.append(
            ExpectedEffect(
                operation=operation,
                identity=dict(identity),
                count=declared.get(operation, count if assumed else 1),
                assumed=assumed and operation not in declared,
                declared=operation in declared,
                # A declared number that an undisturbed run does not make itself is all that is wanted.
                copies=max(copies[action], copies_then.get(action, 0))
                if learned and declared.get(operation, count) == count
                else 0,
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


def _moved(order: tuple[str, ...], order_then: tuple[str, ...]) -> tuple[str, ...]:
    """Return the points at which other durable writes had landed in one probe than in the other."""
    landed, landed_then = landed_by_point(order), landed_by_point(order_then)
    return tuple(point for point in order if landed[point] != landed_then.get(point))


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
        )
    )


def _actions(
    history: History, facts: Mapping[str, OperationFacts]
) -> Iterator[tuple[tuple[str, Identity], dict[str, str]]]:
    """Yield the logical action of every effect, with its leaves."""
    for effect in history.effects:
        identity = identity_of(history, effect, facts.get(effect.operation))
        yield (effect.operation, identity), leaves_of(history, effect)


def _by_operation(history: History) -> dict[str, list[EffectApplied]]:
    effects: defaultdict[str, list[EffectApplied]] = defaultdict(list)
    for effect in history.effects:
        effects[effect.operation].append(effect)
    return dict(effects)
