"""What an undisturbed run did, and what the scenario declares: the only yardstick a judge may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ackgap.model.event import Json

__all__ = ["ApprovalRule", "Expectation", "ExpectedEffect", "OperationFacts", "OrderRule", "Proof"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationFacts:
    """What is known of one operation of one target, in one variant.

    Attributes:
        name: `<target>.<operation>`.
        noun: What one effect of it is called, singular and plural: ("ticket", "tickets").
        effectful: It changes the outside world.
        paid: Each attempt costs money.
        price: Cost of one attempt.
        currency: Of the price.
        identity: Paths into the payload whose values make two effects the same logical action, such as
            `body.partner_id`; for a target that nobody described they are learned from two probes.
        identity_weak: The declared paths are only what such requests usually have; see `census`.
        identity_learned: The paths were learned, not declared.
        content_learned: Paths that differed between the two probes.
        keys_tell: Every effect of the probes had an idempotency key of its own, so that effects under one key are
            copies; never said of a target that somebody described.
        protection: The protection in force, by its name in the profile.
        honours_keys: The protection looks at keys.
        honours_natural_key: The protection looks at what the request is about.
        key_window_s: Seconds for which a key is remembered, None where that is unlimited or no key is looked at.
        could_protect: Names of protections that the service offers and that the variant does not use.
        unknown: What nobody found out about how the real service treats repeats, and how it is served meanwhile.
        overwrites: Doing it twice leaves the world as doing it once: the second writes over the first.
        real: A real service answers; what is said of its protection is only what its profile knows.
    """

    name: str
    noun: tuple[str, str]
    effectful: bool
    paid: bool = False
    price: float = 0.0
    currency: str = ""
    identity: tuple[str, ...] = ()
    identity_weak: bool = False
    identity_learned: bool = False
    content_learned: tuple[str, ...] = ()
    keys_tell: bool = False
    protection: str = "none"
    honours_keys: bool = False
    honours_natural_key: bool = False
    key_window_s: float | None = None
    could_protect: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    overwrites: bool = False
    real: bool = False

    @property
    def undescribed(self) -> bool:
        """Whether nobody wrote down what the operation does, so that only runs can tell."""
        return self.identity_learned and not self.identity_weak


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedEffect:
    """A logical action and how often an undisturbed run takes it.

    Attributes:
        assumed: The count was taken from the probe of a target that nobody described.
        declared: The scenario or the command line gave the count.
        copies: How many of the probe's effects were equal in every field. Fewer than `count` means that the identity,
            which was learned, does not tell all of them apart. 0 where identity was not learned.
    """

    operation: str
    identity: Mapping[str, Json]
    count: int
    assumed: bool = False
    declared: bool = False
    copies: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRule:
    """The effect of one operation must carry exactly what was approved.

    Attributes:
        operation: Whose effects are compared, `<target>.<operation>`.
        field: Path into its content.
        approved_by: Operation at which the artifact was shown to a human.
        artifact: Path into that operation's content.
        join: Pairs of paths (effect, approval) that must be equal for the two to belong together.
    """

    operation: str
    field: str
    approved_by: str
    artifact: str
    join: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderRule:
    """No effect of `after` may happen before the first effect (or paid call) of `before`."""

    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How one value of one axis shows, from outside, that it took effect.

    Attributes:
        axis: Name of the axis.
        value: Name of its value.
        kind: `seen`, `never`, `before`, `never_before`, `keys_absent`, `keys_present`, `keys_same`, `keys_differ`.
        pattern: Glob over points (`langgraph.put.*:committed`) or operation name for the key proofs.
        other: Second glob, for `before` and `never_before`: `pattern` before `other`.
        incarnation: Only in this life; 0 for any.
        when: Glob of a point that must have been reached in the first life for the proof to apply.
        unless: Glob of a point that, reached in the first life, makes the proof not apply.
    """

    axis: str
    value: str
    kind: str
    pattern: str
    other: str = ""
    incarnation: int = 0
    when: str = ""
    unless: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The yardstick of one variant.

    Attributes:
        operations: Facts by operation name.
        effects: Logical actions of an undisturbed run.
        paid_counts: Attempts of each paid operation in an undisturbed run.
        declared_counts: Effects that the scenario declares for every identity of an operation.
        approvals: Content rules.
        orders: Order rules.
        proofs: How the axes of this variant show that they took effect.
        points: Text of every crash point that the probe reached.
        nondeterministic: What differed between the two probes and should not have; empty if nothing did.
        moved: Points at which other durable writes had landed in one probe than in the other; None where nobody knows.
    """

    operations: Mapping[str, OperationFacts] = field(default_factory=dict)
    effects: tuple[ExpectedEffect, ...] = ()
    paid_counts: Mapping[str, int] = field(default_factory=dict)
    declared_counts: Mapping[str, int] = field(default_factory=dict)
    approvals: tuple[ApprovalRule, ...] = ()
    orders: tuple[OrderRule, ...] = ()
    proofs: tuple[Proof, ...] = ()
    points: tuple[str, ...] = ()
    nondeterministic: tuple[str, ...] = ()
    moved: tuple[str, ...] | None = None

    def without_races(self) -> Expectation:
        """Return what makes two yardsticks the same one: how writes of the probes happened to race is no part of it."""
        return replace(self, moved=None)
