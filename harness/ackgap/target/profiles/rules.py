"""The rules by which services treat repeats, as values. Each is a point on the axes on which real services differ.

What they decide is in `keys`, `natural` and `conditional`, one small pure function an axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ackgap.model.event import Json
from ackgap.target.profiles.operation import Operation
from ackgap.target.wire.answer import AnswerSpec

__all__ = ["ConditionRule", "KeyRule", "NaturalKeyRule", "Protection", "Silent"]

Silent = Literal["original", "dropped", "overwrite"]
"""What a service does about another payload under a known key, where it does not refuse it: give the answer of the
original, say yes and drop it, or write it over the original."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRule:
    """How a service treats an idempotency key.

    Attributes:
        places: Paths at which the key may be, in order: `header.idempotency-key`, `body.client_token`,
            `query.requestId`, `path.id`, `graphql.directives.idempotent.key`.
        digest_of: Path whose value's SHA-256 is the key where none was sent; empty if there is no such way.
        operations: Names of the operations that look at it; empty means every effectful one.
        ignored: The key is accepted and nobody looks at it.
        missing: Answer to a request without a key; None lets it through unprotected.
        scope: `account`: one key space; `endpoint`: one for each method and path; or paths whose values (a queue,
            a region, a message group) tell key spaces apart.
        window_s: Seconds for which it is remembered; None is for ever.
        window_starts: `first_request`, `completion` (of the first request) or `object_end` (when what it made ends).
        stores: `all` answers, `executed` (all but failed validation), or `successes`: a failure releases the key.
        never_stores: Statuses of answers that are not kept whatever `stores` says: `429`, `5xx`.
        compares: What must be equal: `parameters`, `bytes`, `nothing`, or paths.
        ignores: Paths that may differ although parameters are compared.
        mismatch: Answer to another payload under the same key, or what is silently done about it.
        concurrent: Answer while the first request is being worked on, `wait` for its answer, or None: undetected.
        replays: What a repeat is given: the `stored` answer, or the operation's answer about the `current` object.
        replay_headers: Added to an answer that is given again.
        first_headers: Added to the answer of a first request with a key.
        max_length: Longest key, None where that is unknown; a longer one is refused.
        too_long: The refusal.
        form: Regular expression that a key must match in full; empty allows everything.
        bad_form: The refusal of a key that does not.
    """

    places: tuple[str, ...]
    digest_of: str = ""
    operations: tuple[str, ...] = ()
    ignored: bool = False
    missing: AnswerSpec | None = None
    scope: str | tuple[str, ...] = "account"
    window_s: float | None = None
    window_starts: str = "first_request"
    stores: str = "all"
    never_stores: tuple[str, ...] = ()
    compares: str | tuple[str, ...] = "parameters"
    ignores: tuple[str, ...] = ()
    mismatch: AnswerSpec | Silent = "original"
    concurrent: AnswerSpec | Literal["wait"] | None = None
    replays: str = "stored"
    replay_headers: Mapping[str, str] = field(default_factory=dict)
    first_headers: Mapping[str, str] = field(default_factory=dict)
    max_length: int | None = None
    too_long: AnswerSpec | None = None
    form: str = ""
    bad_form: AnswerSpec | None = None

    def looks_at(self, operation: Operation) -> bool:
        """Whether the rule says anything about an operation."""
        return operation.effect and (not self.operations or operation.name in self.operations)


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalKeyRule:
    """A service that recognises a repeat by what it is about.

    Attributes:
        paths: Paths whose values are the natural key.
        operations: Names of the operations concerned; empty means every one that creates.
        unless: Field to value of the stored object; an object that has one of them no longer counts.
        answer: Answer about the object that exists; None gives the object with 200.
        lag_s: Virtual seconds for which a new object is not noticed yet.
    """

    paths: tuple[str, ...]
    operations: tuple[str, ...] = ()
    unless: Mapping[str, tuple[Json, ...]] = field(default_factory=dict)
    answer: AnswerSpec | None = None
    lag_s: float = 0.0

    def looks_at(self, operation: Operation) -> bool:
        """Whether the rule says anything about an operation."""
        return operation.does == "create" and (not self.operations or operation.name in self.operations)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionRule:
    """A write that its sender made conditional.

    Attributes:
        place: Path of the condition in the request: `header.if-none-match`.
        holds: Text that must be part of the condition for the rule to apply; empty takes any.
        needs: `absent`: no object of that id exists; `unchanged`: its entity tag is the one given.
        operations: Names of the operations that look at it; empty means every effectful one.
        failed: Answer where the condition is not met.
        concurrent: Answer while another conditional write of that object runs; None leaves it undetected.
    """

    place: str
    failed: AnswerSpec
    holds: str = ""
    needs: str = "absent"
    operations: tuple[str, ...] = ()
    concurrent: AnswerSpec | None = None

    def looks_at(self, operation: Operation) -> bool:
        """Whether the rule says anything about an operation."""
        return operation.effect and (not self.operations or operation.name in self.operations)


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """A named way in which the service treats repeats: rules that are asked in turn.

    A request meets at most one key rule, then every condition, then every natural key.

    Attributes:
        name: By which a scenario chooses it.
        title: What becomes of a repeat, half a sentence.
        keys: Rules about idempotency keys.
        conditions: Rules about conditional writes.
        natural_keys: Rules about what a request is about.
        other_reading: It is another reading of what is not known of the service, nothing that a client can turn on.
        unknown: By axis, such as `key.window_s`: what nobody found out, and how it is served meanwhile.
    """

    name: str
    title: str
    keys: tuple[KeyRule, ...] = ()
    conditions: tuple[ConditionRule, ...] = ()
    natural_keys: tuple[NaturalKeyRule, ...] = ()
    other_reading: bool = False
    unknown: Mapping[str, str] = field(default_factory=dict)

    def guards(self, operation: Operation) -> bool:
        """Whether one of its rules looks at an operation."""
        key = self.key_rule_for(operation)
        keyed = key is not None and not key.ignored
        return keyed or bool(self.conditions_for(operation) or self.natural_rules_for(operation))

    def key_rule_for(self, operation: Operation) -> KeyRule | None:
        """Return the first key rule that looks at that operation."""
        return next((rule for rule in self.keys if rule.looks_at(operation)), None)

    def conditions_for(self, operation: Operation) -> tuple[ConditionRule, ...]:
        """Return the conditions that look at that operation."""
        return tuple(rule for rule in self.conditions if rule.looks_at(operation))

    def natural_rules_for(self, operation: Operation) -> tuple[NaturalKeyRule, ...]:
        """Return the natural keys that look at that operation."""
        return tuple(rule for rule in self.natural_keys if rule.looks_at(operation))
