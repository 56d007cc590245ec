"""Duplicate, lost, phantom: effects counted by logical action against what an undisturbed run does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from ackgap.judge.attribution import attribute
from ackgap.judge.case import Case, noun
from ackgap.model.event import EffectApplied
from ackgap.model.identity import Identity, identity_text
from ackgap.model.verdict import Finding, VerdictKind

__all__ = ["exactly_once"]

Group = tuple[str, Identity]

_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def exactly_once(case: Case) -> Iterator[Finding]:
    """Yield a finding for each logical action that happened too often, never, or out of nowhere."""
    missing: Counter[Group] = Counter()
    for group, count in case.expected_counts.items():
        seen = case.effects_by_identity.get(group, [])
        if len(seen) > count:
            yield _duplicate(case, group, seen, count)
        elif len(seen) < count:
            missing[group] = count - len(seen)
    unexpected: defaultdict[str, list[EffectApplied]] = defaultdict(list)
    for group, seen in case.effects_by_identity.items():
        if group in case.expected_counts:
            continue
        if _may_move(case, group[0]):
            unexpected[group[0]] += seen
        else:
            yield _phantom(case, group, seen)
    for operation, seen in unexpected.items():
        yield from _moved(case, operation, seen, missing)
    if case.history.finished:
        for group, short in missing.items():
            if short > 0:
                yield _lost(case, group, short)


def _may_move(case: Case, operation: str) -> bool:
    """Whether an identity that no undisturbed run has may be a known action in other words.

    Where identity was learned and not declared, a field that the probes happened to agree on may change after a
    restart. Where it was declared, or the operation is new, the effect is a phantom.
    """
    facts = case.facts(operation)
    known = any(other == operation for other, _ in case.expected_counts)
    return facts is not None and facts.identity_learned and known


def _moved(case: Case, operation: str, unexpected: list[EffectApplied], missing: Counter[Group]) -> Iterator[Finding]:
    """Sort effects of an operation that match no known action: they first take the places of missing ones.

    What is left over is a repeat with other content.
    """
    facts = case.facts(operation)
    expected = [other for other in case.expected_counts if other[0] == operation]
    spare = sorted(unexpected, key=lambda effect: effect.seq)
    for other in expected:
        while spare and missing[other] > 0:
            missing[other] -= 1
            effect = spare.pop(0)
            yield Finding(
                kind=None,
                code="identity_moved",
                summary=f"the {noun(facts, operation, 1)} {effect.object_id} differs in fields that two undisturbed "
                "runs agreed on; it is taken for the same action",
                evidence=(effect.seq,),
                operation=operation,
            )
    if spare:
        every = [effect for effect in case.history.effects if effect.operation == operation]
        total = sum(case.expected_counts[other] for other in expected)
        yield _duplicate(case, (operation, ()), every, total, content_differs=True)


def _duplicate(
    case: Case, group: Group, seen: list[EffectApplied], expected: int, *, content_differs: bool = False
) -> Finding:
    operation, identity = group
    facts = case.facts(operation)
    what = f"{_number(len(seen))} {noun(facts, operation, len(seen))}"
    who = _who(case, group)
    summary = f"{what} for {who}" if who else what
    if expected != 1:
        summary += f", {expected} expected"
    if content_differs:
        summary += " (content differs)"
    return Finding(
        kind=VerdictKind.DUPLICATE,
        code="duplicate",
        summary=summary,
        evidence=tuple(effect.seq for effect in seen),
        operation=operation,
        identity=dict(identity),
        attribution=attribute(case, operation, seen),
        detail={
            "expected": expected,
            "seen": len(seen),
            "content_differs": content_differs,
            "objects": [effect.object_id for effect in seen],
            "assumed": facts is not None and facts.identity_learned,
        },
    )


def _who(case: Case, group: Group) -> str:
    """Return what tells an action from the others of its operation; for a learned identity only what differs."""
    operation, identity = group
    facts = case.facts(operation)
    if facts is None or not facts.identity_learned:
        return identity_text(dict(identity)) if identity else ""
    others = [dict(other) for name, other in case.expected_counts if name == operation]
    telling = {path: value for path, value in identity if len({other.get(path) for other in others}) > 1}
    return identity_text(telling) if telling else ""


def _lost(case: Case, group: Group, short: int) -> Finding:
    operation, identity = group
    facts = case.facts(operation)
    who = _who(case, group)
    what = noun(facts, operation, short)
    count = f"{_number(short)} {what}" if short > 1 else f"The {what}"
    return Finding(
        kind=VerdictKind.LOST,
        code="lost",
        summary=f"{count}{f' for {who}' if who else ''} never happened, and the work counts as finished",
        operation=operation,
        identity=dict(identity),
        detail={"expected": case.expected_counts[group], "missing": short},
        attribution=attribute(case, operation, []),
    )


def _phantom(case: Case, group: Group, seen: list[EffectApplied]) -> Finding:
    operation, identity = group
    facts = case.facts(operation)
    who = identity_text(dict(identity)) if identity else ""
    return Finding(
        kind=VerdictKind.PHANTOM,
        code="phantom",
        summary=f"{_number(len(seen))} {noun(facts, operation, len(seen))}{f' for {who}' if who else ''} "
        "that no undisturbed run makes",
        evidence=tuple(effect.seq for effect in seen),
        operation=operation,
        identity=dict(identity),
        detail={"seen": len(seen)},
    )


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)
