"""Conditional writes: the sender says under which condition a write may happen."""

from __future__ import annotations

from collections.abc import Mapping

from ackgap.model.event import Decision, Json
from ackgap.target.profiles.rules import ConditionRule
from ackgap.target.protection.keys import Ruling
from ackgap.target.wire.answer import answer_from
from ackgap.target.wire.request import MISSING, Request

__all__ = ["judge_condition", "states_condition"]


def states_condition(rule: ConditionRule, request: Request) -> bool:
    """Whether a request carries the condition that a rule is about."""
    value = request.value_at(rule.place)
    return value is not MISSING and value is not None and rule.holds in str(value)


def judge_condition(
    rule: ConditionRule,
    request: Request,
    *,
    exists: bool,
    entity_tag: str,
    busy: bool,
    values: Mapping[str, Json],
) -> Ruling | None:
    """Return what a conditional write comes to, None where it may go on.

    Args:
        rule: The rule in force.
        request: The attempt.
        exists: An object of that id exists.
        entity_tag: Of that object, empty if there is none.
        busy: Another conditional write of that object is being worked on.
        values: For the placeholders of the profile's answers.
    """
    if not states_condition(rule, request):
        return None
    if busy and rule.concurrent is not None:
        return Ruling(
            decision=Decision.CONFLICT,
            rule="another conditional write of it is being worked on",
            answer=answer_from(rule.concurrent, values),
        )
    if rule.needs == "absent":
        met, said = not exists, "one exists, and the request wanted none"
    else:
        wanted = {tag.strip().strip('"') for tag in str(request.value_at(rule.place)).split(",")}
        met, said = exists and bool(wanted & {entity_tag, "*"}), "it is not as the request thought"
    if met:
        return None
    # Where the condition was that nothing is there, what is there may well be the same thing.
    decision = Decision.EXISTING if rule.needs == "absent" else Decision.REJECTED
    return Ruling(decision=decision, rule=said, answer=answer_from(rule.failed, values))
