"""What a verdict means and what to do about it, by who could have prevented it; the texts are in `guidance.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ackgap.model.verdict import Attribution, VerdictKind

__all__ = ["NOBODY", "SIDES", "Guidance", "guidance", "remedies"]

NOBODY = "nobody"
"""Where a finding names nobody who could have prevented it."""
SIDES = ("worker", "engine", "target", NOBODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """What is to be known of a verdict.

    Attributes:
        means: What it is about, and what follows from it for the outside world.
        fix: What to do, by who could have prevented it.
    """

    means: str
    fix: Mapping[str, str]


@cache
def guidance() -> Mapping[VerdictKind, Guidance]:
    """Return what is to be known of each verdict."""
    text = (resources.files("ackgap.report") / "guidance.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    return {
        kind: Guidance(means=document[kind.value]["means"], fix={side: document[kind.value][side] for side in SIDES})
        for kind in VerdictKind
    }


def remedies(kind: VerdictKind, attribution: Attribution | None) -> tuple[tuple[str, str], ...]:
    """Return what to do about a finding, as pairs of who is to do it and what."""
    sides = attribution.preventable_by if attribution is not None else ()
    fix = guidance()[kind].fix
    return tuple((side, fix[side]) for side in SIDES if side in sides) or ((NOBODY, fix[NOBODY]),)
