"""Verdict kinds, findings and attribution; severity is a table, and code only walks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ackgap.model.event import Json

__all__ = ["GLYPHS", "MEANINGS", "SEVERITY", "Attribution", "Colour", "Finding", "Verdict", "VerdictKind"]


class VerdictKind(StrEnum):
    """What one run proved."""

    DUPLICATE = "duplicate"
    LOST = "lost"
    DIVERGED = "diverged"
    PHANTOM = "phantom"
    ZOMBIE = "zombie"
    STUCK = "stuck"
    IN_DOUBT = "in_doubt"
    WASTED = "wasted"
    OK = "ok"
    INCONCLUSIVE = "inconclusive"

    @property
    def colour(self) -> Colour:
        """Red, amber, green, or grey for a cell that proves nothing."""
        return _COLOURS.get(self, Colour.RED)

    @property
    def words(self) -> str:
        """The verdict as a person says it."""
        return "exactly once" if self is VerdictKind.OK else self.value.replace("_", " ")


class Colour(StrEnum):
    """What a verdict means for an exit status."""

    RED = "red"
    AMBER = "amber"
    GREEN = "green"
    GREY = "grey"


_COLOURS = {
    VerdictKind.IN_DOUBT: Colour.AMBER,
    VerdictKind.WASTED: Colour.AMBER,
    VerdictKind.OK: Colour.GREEN,
    VerdictKind.INCONCLUSIVE: Colour.GREY,
}

SEVERITY: tuple[VerdictKind, ...] = tuple(VerdictKind)
"""From worst to best. `inconclusive` stands apart: a cell that proves nothing has no place on the scale."""

GLYPHS: Mapping[VerdictKind, str] = {
    VerdictKind.DUPLICATE: "×2",
    VerdictKind.LOST: "∅",
    VerdictKind.DIVERGED: "≠",
    VerdictKind.PHANTOM: "+",
    VerdictKind.ZOMBIE: "†",
    VerdictKind.STUCK: "■",
    VerdictKind.IN_DOUBT: "?",
    VerdictKind.WASTED: "$",
    VerdictKind.OK: "✓",
    VerdictKind.INCONCLUSIVE: "–",
}

MEANINGS: Mapping[VerdictKind, str] = {
    VerdictKind.DUPLICATE: "The outside world has the same action more often than it should.",
    VerdictKind.LOST: "The work counts as finished and an action never happened.",
    VerdictKind.DIVERGED: "What was filed is not what was approved or recorded.",
    VerdictKind.PHANTOM: "An action happened that no undisturbed run takes.",
    VerdictKind.ZOMBIE: "A worker that had been replaced acted all the same.",
    VerdictKind.STUCK: "The work did not finish within its restarts and deadline.",
    VerdictKind.IN_DOUBT: "The worker stopped and asked a human instead of guessing.",
    VerdictKind.WASTED: "The actions are right, and paid calls were made again that had been recorded.",
    VerdictKind.OK: "Every action exactly once, with the right content, and no paid call repeated.",
    VerdictKind.INCONCLUSIVE: "This run proves nothing: the fault did not happen as planned.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Who could have prevented a finding.

    Attributes:
        key_sent: The worker sent an idempotency key on every attempt concerned; None where no attempt is concerned.
        key_stable: The key was the same on each of them; None where none was sent.
        target_honours_keys: The target's protection looks at keys.
        window_exceeded: The target had forgotten the key by then.
        worker: What the worker did or could have done, one sentence.
        engine: The same for the engine.
        target: The same for the target.
        preventable_by: Of `worker`, `engine`, `target`, those that could have prevented it.
        fix: What to do, in one or two sentences.
    """

    key_sent: bool | None = None
    key_stable: bool | None = None
    target_honours_keys: bool | None = None
    window_exceeded: bool | None = None
    worker: str = ""
    engine: str = ""
    target: str = ""
    preventable_by: tuple[str, ...] = ()
    fix: str = ""

    @property
    def sides(self) -> tuple[tuple[str, str], ...]:
        """What is said, as who and what; who has nothing said of him is left out."""
        return tuple((side, text) for side in ("worker", "engine", "target", "fix") if (text := getattr(self, side)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What an oracle saw.

    Attributes:
        kind: The verdict it argues for, or None for a remark that colours nothing (`unstable_key`, `unclean_exit`).
        code: Short stable name of the finding; equals the kind where there is nothing finer to say.
        summary: One plain sentence: "Two tickets for partner 4471".
        evidence: `seq` of the events that show it.
        operation: `<target>.<operation>` concerned, empty where none is.
        identity: The logical action concerned.
        attribution: Who could have prevented it.
        detail: Numbers for reports: `expected`, `seen`, `extra`, `cost`, ...
    """

    kind: VerdictKind | None
    code: str
    summary: str
    evidence: tuple[int, ...] = ()
    operation: str = ""
    identity: Mapping[str, Json] = field(default_factory=dict)
    attribution: Attribution | None = None
    detail: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The worst finding of a cell, and all of them."""

    kind: VerdictKind
    findings: tuple[Finding, ...] = ()

    @classmethod
    def of(cls, findings: Iterable[Finding]) -> Verdict:
        """Return the verdict that follows from findings: the worst wins.

        A finding of kind `inconclusive` overrules every other: what the cell shows besides is not proven.
        """
        kept = tuple(findings)
        kinds = {finding.kind for finding in kept if finding.kind is not None}
        if VerdictKind.INCONCLUSIVE in kinds:
            return cls(kind=VerdictKind.INCONCLUSIVE, findings=kept)
        return cls(kind=min(kinds, key=SEVERITY.index, default=VerdictKind.OK), findings=kept)

    @property
    def worst(self) -> Finding | None:
        """The first finding that the verdict is due to; None where it is ok and no oracle said so."""
        return next((finding for finding in self.findings if finding.kind is self.kind), None)

    @property
    def headline(self) -> str:
        """The summary of the worst finding."""
        return self.worst.summary if self.worst is not None else MEANINGS[self.kind]
