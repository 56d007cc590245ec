"""Proofs that the values of a variant's axes took effect; a variant that did not is inconclusive, never green."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

from ackgap.judge.case import Case
from ackgap.model.expectation import Proof
from ackgap.model.verdict import Finding, VerdictKind

__all__ = ["axis_values_took_effect", "holds"]


def axis_values_took_effect(case: Case) -> Iterator[Finding]:
    """Yield a finding for each axis value that the run shows not to have taken effect."""
    for proof in case.expectation.proofs:
        if holds(case, proof) is False:
            yield Finding(
                kind=VerdictKind.INCONCLUSIVE,
                code="variant_not_effective",
                summary=f"nothing shows that {proof.axis}={proof.value} took effect: {_words(proof)}",
                detail={"axis": proof.axis, "value": proof.value},
            )


def holds(case: Case, proof: Proof) -> bool | None:
    """Whether a proof holds in this run; None where it does not apply."""
    first = _points(case, 1)
    if proof.when and not any(_matches(point, proof.when) for _, point in first):
        return None
    if proof.unless and any(_matches(point, proof.unless) for _, point in first):
        return None
    if proof.incarnation > case.history.incarnations:
        return None
    if proof.kind.startswith("keys_"):
        return _keys(case, proof)
    points = _points(case, proof.incarnation)
    ones = [seq for seq, point in points if _matches(point, proof.pattern)]
    if proof.kind == "seen":
        return bool(ones)
    if proof.kind == "never":
        return not ones
    others = [seq for seq, point in points if _matches(point, proof.other)]
    if not others:
        return None
    came_first = any(one < other for one in ones for other in others[:1])
    return came_first if proof.kind == "before" else not came_first


def _keys(case: Case, proof: Proof) -> bool | None:
    attempts = [
        attempt
        for attempt in case.history.attempts
        if attempt.operation == proof.pattern and proof.incarnation in (0, attempt.incarnation)
    ]
    if not attempts:
        return None
    keys = [attempt.key for attempt in attempts]
    if proof.kind == "keys_absent":
        return all(key is None for key in keys)
    if proof.kind == "keys_present":
        return all(key is not None for key in keys)
    payloads = {attempt.payload_digest for attempt in attempts}
    if len(payloads) < 2:
        return None
    if proof.kind == "keys_same":
        return len(set(keys)) == 1 and keys[0] is not None
    return len(set(keys)) > 1


def _points(case: Case, incarnation: int) -> list[tuple[int, str]]:
    """Return what a life reached, in order: crash points, and reads, which are none, where they were received."""
    passages = [(event.seq, event.incarnation, event.point_text) for event in case.history.passages]
    reads = [
        (attempt.seq, attempt.incarnation, f"{attempt.operation}#{attempt.occurrence}:received")
        for attempt in case.history.attempts
        if not (attempt.effectful or attempt.paid)
    ]
    return [(seq, point) for seq, life, point in sorted((*passages, *reads)) if incarnation in (0, life)]


def _matches(point: str, glob: str) -> bool:
    return fnmatch.fnmatchcase(point, glob.replace("[", "[[]"))


def _words(proof: Proof) -> str:
    life = f" in life {proof.incarnation}" if proof.incarnation else ""
    return {
        "seen": f"{proof.pattern} was not reached{life}",
        "never": f"{proof.pattern} was reached{life}",
        "before": f"{proof.pattern} did not come before {proof.other}{life}",
        "never_before": f"{proof.pattern} came before {proof.other}{life}",
        "keys_absent": f"{proof.pattern} carried a key",
        "keys_present": f"{proof.pattern} carried no key",
        "keys_same": f"{proof.pattern} carried different keys, or none, for different payloads",
        "keys_differ": f"{proof.pattern} carried one key, or none, for different payloads",
    }[proof.kind]
