"""Duplicate, lost, phantom: effects counted by logical action against what an undisturbed run does."""

from __future__ import annotations

from collections import Counter
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
    for group, seen in case.effects_by_identity.items():
        if group not in case.expected_counts:
            yield from _unexpected(case, group, seen, missing)
    if case.history.finished:
        for group, short in missing.items():
            if short > 0:
                yield _lost(case, group, short)


def _unexpected(case: Case, group: Group, seen: list[EffectApplied], missing: Counter[Group]) -> Iterator[Finding]:
    """Sort effects of an identity that no undisturbed run has: content that moved, a repeat, or a phantom.

    Where identity was learned and not declared, a field that the probes happened to agree on may change after a
    restart. So such an effect first takes the place of a missing one of its operation; what is left over is a repeat
    with other content. Where identity was declared, it is a phantom.
    """
    operation, _ = group
    facts = case.facts(operation)
    expected = [other for other in case.expected_counts if other[0] == operation]
    if facts is None or not facts.identity_learned or not expected:
        yield _phantom(case, group, seen)
        return
    spare = list(seen)
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
        first = [effect for other in expected for effect in case.effects_by_identity.get(other, [])]
        total = sum(case.expected_counts[other] for other in expected)
        yield _duplicate(case, group, [*first, *spare], total, content_differs=True)


def _duplicate(
    case: Case, group: Group, seen: list[EffectApplied], expected: int, *, content_differs: bool = False
) -> Finding:
    operation, identity = group
    facts = case.facts(operation)
    what = f"{_number(len(seen))} {noun(facts, operation, len(seen))}"
    who = identity_text(dict(identity)) if identity and not (facts is not None and facts.identity_learned) else ""
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


def _lost(case: Case, group: Group, short: int) -> Finding:
    operation, identity = group
    facts = case.facts(operation)
    who = identity_text(dict(identity)) if identity and not (facts is not None and facts.identity_learned) else ""
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
