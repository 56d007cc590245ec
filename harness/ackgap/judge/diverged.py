"""Diverged: what was filed is not what was approved; and actions that happened before what must come first."""

from __future__ import annotations

from collections.abc import Iterator

from ackgap.judge.case import Case, noun
from ackgap.model.event import AttemptReceived, EffectApplied
from ackgap.model.expectation import ApprovalRule
from ackgap.model.identity import at_path, effect_document
from ackgap.model.verdict import Attribution, Finding, VerdictKind

__all__ = ["diverged", "out_of_order"]


def diverged(case: Case) -> Iterator[Finding]:
    """Yield a finding for each effect whose content is not an artifact that had been approved by then."""
    for rule in case.expectation.approvals:
        for effect in case.history.effects:
            if effect.operation == rule.operation:
                yield from _compare(case, rule, effect)


def _compare(case: Case, rule: ApprovalRule, effect: EffectApplied) -> Iterator[Finding]:
    document = effect_document(case.history, effect)
    filed = at_path(document, rule.field)
    approvals = [
        approval
        for approval in case.history.effects
        if approval.operation == rule.approved_by
        and approval.seq < effect.seq
        and all(
            at_path(document, mine) == at_path(effect_document(case.history, approval), theirs)
            for mine, theirs in rule.join
        )
    ]
    artifacts = [at_path(effect_document(case.history, approval), rule.artifact) for approval in approvals]
    if filed is not None and filed in artifacts:
        return
    what = noun(case.facts(effect.operation), effect.operation, 1)
    why = "that no human was shown" if artifacts else "before anything was approved"
    yield Finding(
        kind=VerdictKind.DIVERGED,
        code="not_as_approved",
        summary=f"The {what} {effect.object_id} was filed with a text {why}",
        evidence=(*(approval.seq for approval in approvals), effect.seq),
        operation=effect.operation,
        identity=effect.identity,
        attribution=Attribution(
            worker="filed a text that it made after the approval",
            engine="ran the step that makes the text again",
            target="cannot know what was approved",
            preventable_by=("worker",),
            fix="Store the approved artifact, and file exactly that; never let the model write it again.",
        ),
        detail={"field": rule.field, "filed": filed, "approved": artifacts[-1] if artifacts else None},
    )


def out_of_order(case: Case) -> Iterator[Finding]:
    """Yield a finding for each effect that happened before what the scenario says must come first."""
    for rule in case.expectation.orders:
        firsts = [event.seq for event in _happenings(case, rule.before)]
        for effect in case.history.effects:
            if effect.operation == rule.after and not any(seq < effect.seq for seq in firsts):
                what = noun(case.facts(effect.operation), effect.operation, 1)
                yield Finding(
                    kind=VerdictKind.DIVERGED,
                    code="out_of_order",
                    summary=f"The {what} {effect.object_id} was made before {rule.before} had happened",
                    evidence=(effect.seq,),
                    operation=effect.operation,
                    identity=effect.identity,
                )


def _happenings(case: Case, operation: str) -> Iterator[EffectApplied | AttemptReceived]:
    yield from (effect for effect in case.history.effects if effect.operation == operation)
    yield from (
        attempt
        for attempt in case.history.attempts
        if attempt.operation == operation and attempt.paid and case.history.served(attempt.attempt)
    )
