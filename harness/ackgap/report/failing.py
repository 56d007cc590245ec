"""Which verdicts make a run fail, as `--fail-on` names them."""

from __future__ import annotations

from ackgap.errors import UsageInvalid
from ackgap.model.verdict import Colour, VerdictKind

__all__ = ["FAILING", "failing_kinds"]

FAILING = "red,inconclusive"
"""Where nobody says otherwise."""
_COLOURS = {"red": Colour.RED, "amber": Colour.AMBER, "inconclusive": Colour.GREY}


def failing_kinds(text: str) -> frozenset[VerdictKind]:
    """Return the verdicts that are named, by themselves or by a colour.

    Raises:
        UsageInvalid: A name is none.
    """
    kinds: set[VerdictKind] = set()
    for word in filter(None, text.split(",")):
        if word in _COLOURS:
            kinds |= {kind for kind in VerdictKind if kind.colour is _COLOURS[word]}
        elif word in set(VerdictKind):
            kinds.add(VerdictKind(word))
        elif word != "never":
            allowed = ", ".join([*_COLOURS, "never", *VerdictKind])
            raise UsageInvalid(f"{word!r} is not a verdict", where="--fail-on", next_step=f"write some of: {allowed}")
    return frozenset(kinds)
