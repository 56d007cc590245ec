"""Protection: pure rules that decide whether an attempt is a repeat, and of what.

Each rule is a function of what the service remembers, of facts about the request and of the virtual time. None of
them looks at who sent a request: a service does not know that its client has died.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ackgap.model.event import Decision, Json
from ackgap.target.answer import Answer, answer_from, json_answer
from ackgap.target.payload import digest, fingerprint
from ackgap.target.profile import KeyRule, NaturalKeyRule, Profile, Protection
from ackgap.target.request import MISSING, Request, dig

__all__ = [
    "KeyRecord",
    "Ruling",
    "begin_key",
    "complete_key",
    "judge_key",
    "judge_natural_key",
    "key_of",
    "natural_key_of",
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
    """

    fingerprint: str
    first_s: float
    completed_s: float | None = None
    answer: Answer | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """What a rule decides about an attempt that is not to be applied.

    Attributes:
        rule: The rule in words.
    """

    decision: Decision
    rule: str
    answer: Answer


def sent_key(request: Request, profile: Profile, protection: Protection) -> str | None:
    """Return the idempotency key that a request carries, whether or not the target looks at it.

    The places that the protection in force and the profile's other protections look at come first.
    """
    rules = [protection.key, *(other.key for other in profile.protections.values())]
    places = [rule.place for rule in rules if rule is not None]
    for place in dict.fromkeys((*places, *_COMMON_PLACES)):
        value = request.value_at(place)
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            return str(value)
    return None


def key_of(rule: KeyRule, request: Request) -> str | None:
    """Return the key where the rule looks for it, None where there is none."""
    value = request.value_at(rule.place)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        return None
    return str(value)


def scope_of(rule: KeyRule, request: Request) -> str:
    """Return the key space that a request belongs to."""
    return f"{request.method} {request.path}" if rule.scope == "endpoint" else ""


def fingerprint_of(rule: KeyRule, request: Request) -> str:
    """Return what must be equal for two requests under one key to be the same request."""
    if rule.compares == "nothing":
        return ""
    if rule.compares == "bytes":
        return f"{request.method} {request.path} {digest(request.body)}"
    return f"{request.method} {request.path} {fingerprint([request.payload, dict(request.query)])}"


def judge_key(
    rule: KeyRule, record: KeyRecord | None, request: Request, values: Mapping[str, Json], now_s: float
) -> Ruling | None:
    """Return what a key rule decides, None where the request is a first one.

    Args:
        rule: The rule in force.
        record: What is remembered of the key that the request carries.
        request: The attempt.
        values: For the placeholders of the profile's answers.
        now_s: Virtual time.
    """
    key = key_of(rule, request) or ""
    if rule.max_length is not None and len(key) > rule.max_length and rule.too_long is not None:
        return Ruling(
            decision=Decision.REJECTED,
            rule=f"the key is longer than {rule.max_length}",
            answer=answer_from(rule.too_long, values),
        )
    if record is None or is_forgotten(rule, record, now_s):
        return None
    if rule.mismatch is not None and record.fingerprint != fingerprint_of(rule, request):
        return Ruling(
            decision=Decision.REJECTED,
            rule="another request under the same key",
            answer=answer_from(rule.mismatch, values),
        )
    if record.answer is None:
        if rule.concurrent is None:
            return None
        return Ruling(
            decision=Decision.CONFLICT,
            rule="the same key is being worked on",
            answer=answer_from(rule.concurrent, values),
        )
    headers = (*record.answer.headers, *rule.replay_headers.items())
    return Ruling(
        decision=Decision.REPLAYED,
        rule="the stored answer of the same key",
        answer=replace(record.answer, headers=headers),
    )


def is_forgotten(rule: KeyRule, record: KeyRecord, now_s: float) -> bool:
    """Whether a key's window has closed. A key that is being worked on is never forgotten."""
    if rule.window_s is None or record.completed_s is None:
        return False
    start_s = record.first_s if rule.window_starts == "first_request" else record.completed_s
    return now_s - start_s >= rule.window_s


def begin_key(rule: KeyRule, request: Request, now_s: float) -> KeyRecord:
    """Return what is remembered of a key when its first request begins."""
    return KeyRecord(fingerprint=fingerprint_of(rule, request), first_s=now_s)


def complete_key(rule: KeyRule, record: KeyRecord, answer: Answer, now_s: float) -> KeyRecord | None:
    """Return what is remembered once the request is done, None where its answer is not kept."""
    if rule.stores == "successes" and answer.status >= 400:
        return None
    return replace(record, completed_s=now_s, answer=answer)


def natural_key_of(rule: NaturalKeyRule, request: Request) -> str:
    """Return a digest of what a request is about, empty where it lacks one of the values."""
    found = [request.value_at(path) for path in rule.paths]
    if any(value is MISSING for value in found):
        return ""
    return fingerprint(found)


def judge_natural_key(
    rule: NaturalKeyRule,
    natural_key: str,
    existing: Iterable[tuple[str, str, Json]],
    values: Mapping[str, Json],
) -> Ruling | None:
    """Return what a natural-key rule decides, None where nothing like the request exists.

    Args:
        rule: The rule in force.
        natural_key: Of the request.
        existing: Natural key, id and document of each object of the collection.
        values: For the placeholders of the profile's answer.
    """
    if not natural_key:
        return None
    for known, object_id, document in existing:
        if known != natural_key or _is_past(rule, document):
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
