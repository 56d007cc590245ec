"""Idempotency keys: small pure functions, one for each axis on which services differ.

They see what the service remembers, facts about the request, and virtual time. None of them looks at who sent it: a
service does not know that its client has died.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from ackgap.model.event import Decision, Json
from ackgap.target.profiles.rules import KeyRule, Protection
from ackgap.target.wire.answer import Answer, AnswerSpec, answer_from
from ackgap.target.wire.payload import digest, fingerprint
from ackgap.target.wire.request import MISSING, Request

__all__ = [
    "KeyRecord",
    "Ruling",
    "Then",
    "begin_key",
    "complete_key",
    "digest_beside_keys",
    "fingerprint_of",
    "is_forgotten",
    "judge_key",
    "keeps",
    "key_of",
    "key_problem",
    "replayed",
    "scope_of",
    "sent_key",
]

_COMMON_PLACES = (
    "header.idempotency-key",
    "header.x-idempotency-key",
    "header.idempotency-token",
    "header.paypal-request-id",
    "header.cko-idempotency-key",
    "body.idempotency_key",
    "body.idempotencyKey",
    "query.requestId",
)
"""Where workers put keys: looked at to report that one was sent, whether or not the target cares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """What a service remembers of an idempotency key.

    Attributes:
        fingerprint: Of the request that brought the key first.
        first_s: Virtual time of that request.
        completed_s: Virtual time of its answer; None while it is being worked on.
        answer: The stored answer; None while it is being worked on.
        object: Collection and id of what it made; None if it made nothing.
    """

    fingerprint: str
    first_s: float
    completed_s: float | None = None
    answer: Answer | None = None
    object: tuple[str, str] | None = None


class Then(StrEnum):
    """What the engine still has to do about a ruling."""

    ANSWER = "answer"
    """Give its answer."""
    CURRENT = "current"
    """Answer about the object as it is now."""
    DROP = "drop"
    """Answer as if it had been done."""
    OVERWRITE = "overwrite"
    """Write it over the object that exists."""
    WAIT = "wait"
    """Ask again once the first request is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a rule decides about an attempt that is not to be applied.

    Attributes:
        rule: The rule in words.
    """

    decision: Decision
    rule: str
    answer: Answer
    then: Then = Then.ANSWER


def sent_key(request: Request, protections: Mapping[str, Protection], chosen: Protection) -> str | None:
    """Return the idempotency key that a request carries, whether or not the target looks at it.

    The places that the protection in force and the profile's other protections look at come first. Where the request
    carries none and the protection in force makes one out of what it says, that is its key.
    """
    rules = [rule for protection in (chosen, *protections.values()) for rule in protection.keys]
    places = [place for rule in rules for place in rule.places]
    sent = _first_value(request, (*dict.fromkeys(places), *_COMMON_PLACES))
    return sent or next(filter(None, (key_of(rule, request) for rule in chosen.keys)), None)


def digest_beside_keys(request: Request, protections: Mapping[str, Protection]) -> str:
    """Return a digest of the body without the key in it: two bodies that differ in their keys alone say the same."""
    rules = [rule for protection in protections.values() for rule in protection.keys]
    places = dict.fromkeys((*(place for rule in rules for place in rule.places), *_COMMON_PLACES))
    found = tuple(
        place for place in places if place.startswith("body.") and request.value_at(place) not in (MISSING, None, "")
    )
    return fingerprint(_without(request.payload, found)) if found else digest(request.body)


def key_of(rule: KeyRule, request: Request) -> str | None:
    """Return the key where the rule looks for it, or makes it; None where there is none."""
    found = _first_value(request, rule.places)
    if found is not None or not rule.digest_of:
        return found
    value = request.value_at(rule.digest_of)
    return None if value is MISSING else fingerprint(value)


def _first_value(request: Request, places: tuple[str, ...]) -> str | None:
    for place in places:
        value = request.value_at(place)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    return None


def key_problem(rule: KeyRule, key: str) -> tuple[str, AnswerSpec] | None:
    """Return why a key is refused whatever it stands for, and the refusal; None if it is not."""
    if rule.max_length is not None and len(key) > rule.max_length and rule.too_long is not None:
        return f"the key is longer than {rule.max_length}", rule.too_long
    if rule.form and rule.bad_form is not None and re.fullmatch(rule.form, key) is None:
        return "the key is not of the form that keys have here", rule.bad_form
    return None


def scope_of(rule: KeyRule, request: Request) -> str:
    """Return the key space that a request belongs to."""
    if rule.scope == "account":
        return ""
    if rule.scope == "endpoint":
        return f"{request.method} {request.path}"
    values = [request.value_at(path) for path in rule.scope]
    return fingerprint([None if value is MISSING else value for value in values])


def fingerprint_of(rule: KeyRule, request: Request) -> str:
    """Return what must be equal for two requests under one key to be the same request."""
    compares = rule.compares
    if compares == "nothing":
        return ""
    if compares == "bytes":
        return f"{request.method} {request.path} {digest(request.body)}"
    if compares == "parameters":
        payload = _without(request.payload, rule.ignores)
        return f"{request.method} {request.path} {fingerprint([payload, dict(request.query)])}"
    values = [request.value_at(path) for path in compares]
    return fingerprint([None if value is MISSING else value for value in values])


def _without(payload: Json, paths: tuple[str, ...]) -> Json:
    for path in paths:
        steps = path.removeprefix("body.").split(".")
        payload = _removed(payload, steps)
    return payload


def _removed(value: Json, steps: list[str]) -> Json:
    dotted = ".".join(steps)
    if isinstance(value, Mapping) and steps[0] not in value and dotted in value:
        steps = [dotted]  # a name that has dots in it, such as `Placement.AvailabilityZone`
    first, rest = steps[0], steps[1:]
    if isinstance(value, list) and rest and first.isascii() and first.isdigit():
        return [_removed(item, rest) if number == int(first) else item for number, item in enumerate(value)]
    if not isinstance(value, Mapping) or first not in value:
        return value
    if not rest:
        return {name: item for name, item in value.items() if name != first}
    return {**value, first: _removed(value[first], rest)}


def is_forgotten(rule: KeyRule, record: KeyRecord, now_s: float, *, object_ended_s: float | None = None) -> bool:
    """Whether a key's window has closed. A key that is being worked on is never forgotten.

    Args:
        rule: The rule in force.
        record: What is remembered.
        now_s: Virtual time.
        object_ended_s: When what the first request made came to its end; None while it lives.
    """
    if rule.window_s is None or record.completed_s is None:
        return False
    start_s = {"first_request": record.first_s, "completion": record.completed_s}.get(
        rule.window_starts, object_ended_s
    )
    return start_s is not None and now_s - start_s >= rule.window_s


def judge_key(rule: KeyRule, record: KeyRecord | None, request: Request, values: Mapping[str, Json]) -> Ruling | None:
    """Return what a key rule decides about a key that it accepts, None where the request is a first one.

    Args:
        rule: The rule in force.
        record: What is remembered of the key that the request carries, if that is not forgotten.
        request: The attempt.
        values: For the placeholders of the profile's answers.
    """
    if record is None:
        return None
    same = record.fingerprint == fingerprint_of(rule, request)
    if not same and isinstance(rule.mismatch, AnswerSpec):
        return Ruling(
            decision=Decision.REJECTED,
            rule="another request under the same key",
            answer=answer_from(rule.mismatch, values),
        )
    if record.answer is None:
        return _meanwhile(rule, values)
    if same or rule.mismatch == "original":
        return replayed(rule, record, values, same=same)
    then = Then.DROP if rule.mismatch == "dropped" else Then.OVERWRITE
    said = "silently dropped" if then is Then.DROP else "written over the first one"
    return Ruling(
        decision=Decision.REPLAYED if then is Then.DROP else Decision.EXISTING,
        rule=f"another request under the same key, {said}",
        answer=record.answer,
        then=then,
    )


def _meanwhile(rule: KeyRule, values: Mapping[str, Json]) -> Ruling | None:
    if rule.concurrent is None:
        return None
    said = "the same key is being worked on"
    if isinstance(rule.concurrent, AnswerSpec):
        return Ruling(decision=Decision.CONFLICT, rule=said, answer=answer_from(rule.concurrent, values))
    return Ruling(decision=Decision.CONFLICT, rule=said, answer=Answer(status=503), then=Then.WAIT)


def replayed(rule: KeyRule, record: KeyRecord, values: Mapping[str, Json], *, same: bool = True) -> Ruling:
    """Return the ruling that a request has been answered before."""
    answer = record.answer or Answer(status=500)
    marks = answer_from(AnswerSpec(status=answer.status, headers=rule.replay_headers), values).headers
    names = {name.lower() for name, _ in marks}
    kept = (header for header in answer.headers if header[0].lower() not in names)
    said = "the stored answer of the same key"
    return Ruling(
        decision=Decision.REPLAYED,
        rule=said if same else f"{said}, although the request says something else",
        answer=replace(answer, headers=(*kept, *marks)),
        then=Then.CURRENT if rule.replays == "current" and record.object is not None else Then.ANSWER,
    )


def begin_key(rule: KeyRule, request: Request, now_s: float) -> KeyRecord:
    """Return what is remembered of a key when its first request begins."""
    return KeyRecord(fingerprint=fingerprint_of(rule, request), first_s=now_s)


def keeps(rule: KeyRule, answer: Answer) -> bool:
    """Whether an answer is kept once the request is done."""
    if rule.stores == "successes" and answer.status >= 400:
        return False
    return not {str(answer.status), f"{answer.status // 100}xx"} & set(rule.never_stores)


def complete_key(
    rule: KeyRule, record: KeyRecord, answer: Answer, now_s: float, made: tuple[str, str] | None = None
) -> KeyRecord | None:
    """Return what is remembered once the request is done, None where its answer is not kept.

    Args:
        rule: The rule in force.
        record: What was remembered meanwhile.
        answer: Of the request.
        now_s: Virtual time.
        made: Collection and id of what the request made.
    """
    return replace(record, completed_s=now_s, answer=answer, object=made) if keeps(rule, answer) else None
