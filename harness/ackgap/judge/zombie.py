"""Zombie: an effect applied by a life after a later one had taken over.

Starting is not taking over. A later life that finds the lock held and leaves has done nothing, and the earlier one that
wakes up is still the owner. It has taken over once it has tried to act, or has written something durable (a lease, a
checkpoint) and has not failed since. Of lives that begin at once to recover the same work none is the successor of
another.
"""

from __future__ import annotations

from collections.abc import Iterator

from ackgap.judge.case import Case, noun
from ackgap.model.boundary import Phase
from ackgap.model.event import EffectApplied, IncarnationEnded, IncarnationStarted
from ackgap.model.verdict import Attribution, Finding, VerdictKind

__all__ = ["zombies"]


def zombies(case: Case) -> Iterator[Finding]:
    """Yield a finding for each effect of a life that had been replaced by then."""
    starts = case.history.of(IncarnationStarted)
    for effect in case.history.effects:
        rivals = case.rivals(effect.incarnation)
        later = (
            start
            for start in starts
            if start.incarnation > effect.incarnation > 0 and start.seq < effect.seq and start.incarnation not in rivals
        )
        heir = next((start for start in later if _took_over(case, start, effect)), None)
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


def _took_over(case: Case, heir: IncarnationStarted, effect: EffectApplied) -> bool:
    history, life = case.history, heir.incarnation
    if any(event.incarnation == life and event.effectful and event.seq < effect.seq for event in history.attempts):
        return True
    ends = [end for end in history.of(IncarnationEnded) if end.incarnation == life and end.seq < effect.seq]
    if any(end.exit_code or end.signal is not None for end in ends):
        return False
    passages = [event for event in history.passages if event.incarnation == life and event.seq < effect.seq]
    if any(event.phase is Phase.COMMITTED for event in passages):
        return True
    # Without hooks, a change of the store shows it.
    digests = [event.store_digest for event in passages] + [end.store_digest for end in ends]
    return any(digest and digest != heir.store_digest for digest in digests)
