"""Duplicate, lost, phantom: effects counted by logical action against what an undisturbed run does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ackgap.judge.attribution import attribute
from ackgap.judge.case import Case, noun
from ackgap.judge.pairing import Group, Pairing, pair
from ackgap.judge.repeats import rewritten, surplus_copies, writes_one_object
from ackgap.model.event import EffectApplied
from ackgap.model.identity import identity_text
from ackgap.model.verdict import Finding, VerdictKind

__all__ = ["exactly_once"]

_NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def exactly_once(case: Case) -> Iterator[Finding]:
    """Yield a finding for each logical action that happened too often, never, or out of nowhere."""
    pairing = pair(case)
    again = rewritten(case, pairing)
    missing: Counter[Group] = Counter()
    for group, count in case.expected_counts.items():
        seen = [effect for effect in pairing.known[group] if effect.effect not in again]
        surplus = surplus_copies(case, group, seen)
        missing[group] = max(0, count - len(seen) + surplus)
        if len(seen) > count:
            moved = any(pairing.has_moved(effect) for effect in seen)
            yield _duplicate(case, group, seen, count, content_differs=moved)
            continue
        if surplus:
            yield _copied(case, group, seen, surplus)
        elif len(seen) == count:
            yield from _counted_only(case, group, seen)
        yield from (_identity_moved(case, effect) for effect in seen if pairing.has_moved(effect))
    yield from _rewritten(case, pairing, again)
    for group, effects in pairing.unknown.items():
        yield _phantom(case, group, effects)
    for operation, effects in pairing.unclear.items():
        yield from _unclear(case, operation, effects, missing)
    if case.history.finished:
        for group, short in missing.items():
            if short > 0:
                yield _lost(case, group, short)


def _unclear(
    case: Case, operation: str, effects: Sequence[EffectApplied], missing: Counter[Group]
) -> Iterator[Finding]:
    """Yield what follows from effects that may stand for one known action as well as for another.

    If there are more of them than actions that are missing, one is a repeat, whichever they are, and what is missing
    may be among them. Otherwise nothing shows that they are the missing ones.
    """
    places = [group for group in missing if group[0] == operation]
    if len(effects) > sum(missing[group] for group in places):
        every = [effect for effect in case.history.effects if effect.operation == operation]
        total = sum(case.expected_counts[group] for group in places)
        for group in places:
            missing[group] = 0
        yield _duplicate(case, (operation, ()), every, total, content_differs=True)
        return
    what = noun(case.facts(operation), operation, 1)
    for effect in effects:
        yield Finding(
            kind=VerdictKind.PHANTOM,
            code="phantom",
            summary=f"The {what} {effect.object_id} is like no {what} of an undisturbed run more than like another: it "
            "may be a repeat of one, or stand for one that is missing",
            evidence=(effect.seq,),
            operation=operation,
            detail={"seen": 1, "unclear": True},
        )


def _identity_moved(case: Case, effect: EffectApplied) -> Finding:
    what = noun(case.facts(effect.operation), effect.operation, 1)
    return Finding(
        kind=None,
        code="identity_moved",
        summary=f"the {what} {effect.object_id} differs in fields that two undisturbed runs agreed on; it is taken for "
        "the action that it is closest to",
        evidence=(effect.seq,),
        operation=effect.operation,
    )


def _rewritten(case: Case, pairing: Pairing, again: frozenset[int]) -> Iterator[Finding]:
    for group, seen in pairing.known.items():
        effects = [effect for effect in seen if effect.effect in again]
        if effects:
            what = noun(case.facts(group[0]), group[0], len(effects))
            yield Finding(
                kind=None,
                code="rewritten",
                summary=f"{_number(len(effects))} {what} wrote again what an earlier life had written to the same "
                "place; the world is in the same state, so this is no second action",
                evidence=tuple(effect.seq for effect in effects),
                operation=group[0],
                detail={"objects": [effect.object_id for effect in effects]},
            )


def _counted_only(case: Case, group: Group, seen: Sequence[EffectApplied]) -> Iterator[Finding]:
    """Yield that a right number is all that is known of actions which differ and cannot be told apart.

    One life that does all of them does what the undisturbed run did. Of several lives, one may have repeated what
    another had done, and left out something else.
    """
    if not 0 < case.expected_copies.get(group, 0) < len(seen) or writes_one_object(case, seen):
        return
    operation = group[0]
    what = noun(case.facts(operation), operation, len(seen))
    lives = len({effect.incarnation for effect in seen})
    summary = (
        f"{_number(len(seen))} {what} could only be counted: no field that stayed in two undisturbed runs tells them "
        "apart"
    )
    evidence = tuple(effect.seq for effect in seen)
    if lives == 1 or group in case.declared:
        yield Finding(kind=None, code="counted_only", summary=summary, evidence=evidence, operation=operation)
        return
    yield Finding(
        kind=VerdictKind.INCONCLUSIVE,
        code="identity_unclear",
        summary=f"{summary}, and {lives} lives made them, so a repeat beside a loss would look right; describe the "
        f"service, or say with --expect '{operation}={len(seen)}' that the number is enough",
        evidence=evidence,
        operation=operation,
    )


def _copied(case: Case, group: Group, seen: Sequence[EffectApplied], surplus: int) -> Finding:
    """Return that among effects whose number is not too large some are copies of others."""
    found = _duplicate(case, group, seen, len(seen) - surplus)
    who = _who(case, group)
    copies = f"{surplus} of {len(seen)} {noun(case.facts(group[0]), group[0], len(seen))}{f' for {who}' if who else ''}"
    verb = "is a copy" if surplus == 1 else "are copies"
    return replace(
        found,
        summary=f"{copies} {verb} of another",
        detail={**found.detail, "expected": case.expected_counts[group], "copies": surplus},
    )


def _duplicate(
    case: Case, group: Group, seen: Sequence[EffectApplied], expected: int, *, content_differs: bool = False
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


def _phantom(case: Case, group: Group, seen: Sequence[EffectApplied]) -> Finding:
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
