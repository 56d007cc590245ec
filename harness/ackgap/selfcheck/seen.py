"""Seen: what the outside world saw of one run, counted without any judge.

What says whether a judge is right must not be the judge. This looks at the ledgers alone, and knows no verdicts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ackgap.model.event import EffectApplied, InDoubtSurfaced
from ackgap.model.expectation import ApprovalRule
from ackgap.model.history import History
from ackgap.model.identity import at_path, effect_document

__all__ = ["Request", "Seen", "differences", "request_differences", "requests_of", "seen_in"]


@dataclass(frozen=True, slots=True)
class Request:
    """A request as a service got it."""

    operation: str
    key: str | None
    sent: str
    matters: bool
    """It changes something, or costs money."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the outside world saw of one run.

    Attributes:
        effects: How often each action was taken, by operation and what it is about.
        contents: How often exactly this was filed.
        order: Operations in the order of their first effects.
        paid: How often each paid operation was served.
        unapproved: How many effects do not carry what had been approved by then.
        finished: The work came to its end.
        in_doubt: The worker said that it does not know.
        lives: How many there were.
        requests: What services got, in order.
    """

    effects: Mapping[str, int]
    contents: Mapping[str, int]
    order: tuple[str, ...]
    paid: Mapping[str, int]
    unapproved: int
    finished: bool
    in_doubt: bool
    lives: int
    requests: tuple[Request, ...]


def seen_in(history: History, approvals: Sequence[ApprovalRule] = ()) -> Seen:
    """Count what services saw in a history.

    Args:
        history: Of a run.
        approvals: What has to be approved by the scenario's own word.
    """
    actions = [(each.operation, dict(each.identity) or each.content) for each in history.effects]
    return Seen(
        effects=_counted(actions),
        contents=_counted([(each.operation, each.content) for each in history.effects]),
        order=tuple(dict.fromkeys(each.operation for each in history.effects)),
        paid=history.paid_counts(),
        unapproved=sum(_is_unapproved(history, each, rule) for rule in approvals for each in history.effects),
        finished=history.finished,
        in_doubt=bool(history.of(InDoubtSurfaced)),
        lives=history.incarnations,
        requests=tuple(
            Request(each.operation, each.key, _text([each.payload, each.query]), each.effectful or each.paid)
            for each in history.attempts
        ),
    )


def differences(seen: Seen, right: Seen, *, paid: Mapping[str, int] | None, known: AbstractSet[str]) -> tuple[str, ...]:
    """Return in what one run differs from another that is right, as far as it matters to anybody outside.

    Args:
        seen: What is in question.
        right: The same cell of the agent that is right, or its undisturbed run.
        paid: How often each paid operation may be served; None leaves out what was paid.
        known: What the agent that is right files in any of its runs, word by word.
    """
    return tuple(_differences(seen, right, paid=paid, known=known))


def _differences(seen: Seen, right: Seen, *, paid: Mapping[str, int] | None, known: AbstractSet[str]) -> Iterator[str]:
    for action in sorted(seen.effects.keys() | right.effects.keys()):
        count, expected = seen.effects.get(action, 0), right.effects.get(action, 0)
        if count != expected:
            yield f"{action}: {count} instead of {expected}"
    if seen.finished != right.finished:
        yield "it did not finish" if right.finished else "it finished"
    if seen.in_doubt != right.in_doubt:
        yield "it was in doubt" if seen.in_doubt else "it was not in doubt"
    if seen.order != right.order:
        yield f"in the order {', '.join(seen.order)}"
    if seen.unapproved > right.unapproved:
        yield f"{seen.unapproved} filed that nobody had approved"
    for name, count in sorted(seen.paid.items() if paid is not None else ()):
        if paid is not None and count > paid.get(name, 0):
            yield f"{name} paid {count} times instead of {paid.get(name, 0)}"
    if seen.effects == right.effects:
        yield from (f"{content}, which is filed at no other time" for content in sorted(seen.contents.keys() - known))


def request_differences(seen: Seen, right: Seen) -> frozenset[str]:
    """Return the operations of which services got other requests, more of them, fewer, or in another order."""
    found = set()
    for name in {each.operation for each in (*seen.requests, *right.requests)}:
        if requests_of(seen, name) != requests_of(right, name):
            found.add(name)
    if not found and seen.requests != right.requests:
        found = {each.operation for each in seen.requests}
    return frozenset(found)


def _is_unapproved(history: History, effect: EffectApplied, rule: ApprovalRule) -> bool:
    if effect.operation != rule.operation:
        return False
    filed = at_path(effect_document(history, effect), rule.field)
    before = [each for each in history.effects if each.operation == rule.approved_by and each.seq < effect.seq]
    return filed not in [at_path(effect_document(history, each), rule.artifact) for each in before]


def requests_of(seen: Seen, operation: str) -> list[Request]:
    """Return the requests for one operation, in order."""
    return [each for each in seen.requests if each.operation == operation]


def _counted(things: list[tuple[str, object]]) -> dict[str, int]:
    return dict(Counter(f"{operation} {_text(thing)}" for operation, thing in things))


def _text(thing: object) -> str:
    return json.dumps(thing, sort_keys=True, default=str)
