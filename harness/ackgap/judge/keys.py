"""Unstable keys: a key that changes between attempts of one action protects nothing, also where no harm was done."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from ackgap.judge.case import Case
from ackgap.model.event import AttemptReceived, Json
from ackgap.model.identity import at_path
from ackgap.model.verdict import Finding

__all__ = ["unstable_keys"]


def unstable_keys(case: Case) -> Iterator[Finding]:
    """Yield a remark for each action whose attempts carried different keys in different lives."""
    groups: defaultdict[tuple[str, str], list[AttemptReceived]] = defaultdict(list)
    for attempt in case.history.attempts:
        if attempt.effectful and attempt.key is not None:
            groups[attempt.operation, _identity(case, attempt)].append(attempt)
    for (operation, _), attempts in groups.items():
        lives = {attempt.incarnation for attempt in attempts}
        keys = {attempt.key for attempt in attempts}
        facts = case.facts(operation)
        expected = max((count for (name, _), count in case.expected_counts.items() if name == operation), default=1)
        if len(lives) > 1 and len(keys) > max(1, expected if facts is None or facts.identity_learned else 1):
            payloads = {attempt.payload_digest for attempt in attempts}
            why = "the payload had changed too" if len(payloads) > 1 else "the payload was the same"
            yield Finding(
                kind=None,
                code="unstable_key",
                summary=f"{operation} carried {len(keys)} different idempotency keys over {len(lives)} lives; {why}",
                evidence=tuple(attempt.seq for attempt in attempts),
                operation=operation,
                detail={"keys": len(keys), "payloads": len(payloads)},
            )


def _identity(case: Case, attempt: AttemptReceived) -> str:
    facts = case.facts(attempt.operation)
    if facts is None or facts.identity_learned:
        return ""
    document: dict[str, Json] = {"body": attempt.payload, "query": attempt.query, "path": attempt.path}
    return repr([at_path(document, path) for path in facts.identity])
