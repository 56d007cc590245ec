"""Zombie: an effect applied by a life after a later one had taken over."""

from __future__ import annotations

from collections.abc import Iterator

from ackgap.judge.case import Case, noun
from ackgap.model.event import IncarnationStarted
from ackgap.model.verdict import Attribution, Finding, VerdictKind

__all__ = ["zombies"]


def zombies(case: Case) -> Iterator[Finding]:
    """Yield a finding for each effect of a life that had been replaced by then."""
    starts = case.history.of(IncarnationStarted)
    for effect in case.history.effects:
        heir = next(
            (start for start in starts if start.incarnation > effect.incarnation > 0 and start.seq < effect.seq), None
        )
        if heir is not None:
            what = noun(case.facts(effect.operation), effect.operation, 1)
            yield Finding(
                kind=VerdictKind.ZOMBIE,
                code="zombie",
                summary=f"Life {effect.incarnation} made the {what} {effect.object_id} after life {heir.incarnation} "
                "had taken over",
                evidence=(heir.seq, effect.seq),
                operation=effect.operation,
                identity=effect.identity,
                attribution=Attribution(
                    key_sent=effect.key is not None,
                    worker="acted without asking whether it was still the owner",
                    engine="let a replaced worker go on",
                    target="has no fence against an older owner",
                    preventable_by=("worker", "engine"),
                    fix="Check the lease again right before the call, and send a fencing token or a stable key that "
                    "the target refuses from an older owner.",
                ),
            )
