"""Natural keys: a service that knows a repeat by what it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ackgap.model.event import Decision, Json
from ackgap.target.profiles.rules import NaturalKeyRule
from ackgap.target.protection.keys import Ruling
from ackgap.target.wire.answer import answer_from, json_answer
from ackgap.target.wire.payload import fingerprint
from ackgap.target.wire.request import MISSING, Request, dig

__all__ = ["judge_natural_key", "natural_key_of"]


def natural_key_of(rule: NaturalKeyRule, request: Request) -> str:
    """Return a digest of what a request is about, empty where it lacks one of the values."""
    found = [request.value_at(path) for path in rule.paths]
    if any(value is MISSING for value in found):
        return ""
    return fingerprint([list(rule.paths), found])


def judge_natural_key(
    rule: NaturalKeyRule,
    natural_key: str,
    existing: Iterable[tuple[frozenset[str], str, Json, float]],
    values: Mapping[str, Json],
    now_s: float = 0.0,
) -> Ruling | None:
    """Return what a natural-key rule decides, None where nothing like the request is known.

    Args:
        rule: The rule in force.
        natural_key: Of the request.
        existing: Natural keys, id, document and virtual time of making of each object of the collection.
        values: For the placeholders of the profile's answer.
        now_s: Virtual time.
    """
    if not natural_key:
        return None
    for known, object_id, document, created_s in existing:
        if natural_key not in known or _is_past(rule, document) or now_s - created_s < rule.lag_s:
            continue
        seen = {**values, "object": document}
        spec = rule.answer
        answer = (
            answer_from(spec, seen, object_id=object_id) if spec else json_answer(200, document, object_id=object_id)
        )
        return Ruling(
            decision=Decision.EXISTING,
            rule=f"one with the same {', '.join(path.partition('.')[2] for path in rule.paths)} exists",
            answer=answer,
        )
    return None


def _is_past(rule: NaturalKeyRule, document: Json) -> bool:
    return any(dig(document, field) in values for field, values in rule.unless.items())
