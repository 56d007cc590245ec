"""Unstable keys: a key that changes between attempts of one action protects nothing, also where no harm was done."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ackgap.judge.case import Case
from ackgap.model.event import AttemptReceived, Json
from ackgap.model.identity import Identity, at_path
from ackgap.model.verdict import Finding

__all__ = ["unstable_keys"]


def unstable_keys(case: Case) -> Iterator[Finding]:
    """Yield a remark for each action whose attempts carried more keys than the action is to happen."""
    groups: defaultdict[tuple[str, Identity], list[AttemptReceived]] = defaultdict(list)
    for attempt in case.history.attempts:
        if attempt.effectful and attempt.key is not None:
            groups[attempt.operation, _identity(case, attempt)].append(attempt)
    for (operation, identity), attempts in groups.items():
        lives = {attempt.incarnation for attempt in attempts}
        keys = {attempt.key for attempt in attempts}
        if len(keys) <= _actions(case, operation, identity):
            continue
        if len(lives) == 1 and _is_learned(case, operation):
            continue  # the probes are what the number of actions is known from, so one life cannot contradict them
        payloads = {attempt.payload_digest for attempt in attempts}
        why = "the payload had changed too" if len(payloads) > 1 else "the payload was the same"
        over = f"{len(lives)} lives" if len(lives) > 1 else f"{len(attempts)} attempts of one life"
        yield Finding(
            kind=None,
            code="unstable_key",
            summary=f"{operation} carried {len(keys)} different idempotency keys over {over}; {why}",
            evidence=tuple(attempt.seq for attempt in attempts),
            operation=operation,
            detail={"keys": len(keys), "payloads": len(payloads)},
        )


def _identity(case: Case, attempt: AttemptReceived) -> Identity:
    """Return the action that an attempt is about, as its effect would name it; learned ones are not told apart."""
    facts = case.facts(attempt.operation)
    if facts is None or facts.identity_learned:
        return ()
    document: dict[str, Json] = {"body": attempt.payload, "query": attempt.query, "path": attempt.path}
    return tuple(sorted((path, repr(at_path(document, path))) for path in facts.identity))


def _actions(case: Case, operation: str, identity: Identity) -> int:
    """Return how many keys an action may have: one for each time that it is to happen."""
    if _is_learned(case, operation):
        return max(1, sum(count for (other, _), count in case.expected_counts.items() if other == operation))
    return max(1, case.expected_counts.get((operation, identity), 1))


def _is_learned(case: Case, operation: str) -> bool:
    facts = case.facts(operation)
    return facts is None or facts.identity_learned or not facts.identity
