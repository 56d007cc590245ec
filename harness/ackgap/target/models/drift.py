"""Drift: what a model says differently when it is asked again after a restart, decided by a seed and not by chance.

Asked again, a real model means the same and says it otherwise. Each kind of difference defeats another way of making
a key: wording defeats a digest of the payload, the order of arguments a digest of its bytes, another call id a key
taken from the engine's own records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ackgap.model.event import Json
from ackgap.target.models.conversation import Reply, ToolCall
from ackgap.target.wire.payload import digest

__all__ = ["DEFAULT_DRIFT", "DRIFTS", "Variation", "drift_mistake", "drifted"]

DRIFTS: Mapping[str, str] = {
    "wording": "the next of an entry's wordings",
    "argument_order": "the keys of a call's arguments in another order",
    "extra_field": "one more argument in each call",
    "call_id": "other ids, and nothing else",
    "tool_order": "several calls in another order",
    "decision": "what an entry's `instead` says, from the second life on",
    "none": "the same bytes again, as from a recording",
}
"""What may change, by the word for it. Other words than `none` always change ids as well."""

DEFAULT_DRIFT = ("wording",)

_EXTRA_NAMES = ("note", "comment", "remark")
_EXTRA_TEXTS = ("as discussed", "see above", "for the record", "no further comment", "per the request")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """Which of its ways of saying a thing a model uses.

    Attributes:
        number: 0 in the first life of the first undisturbed run, one more after each restart.
        restarted: The worker is not in its first life.
        seed: Moves every choice.
        kinds: What changes with the number; see `DRIFTS`.
    """

    number: int
    restarted: bool = False
    seed: int = 0
    kinds: frozenset[str] = frozenset(DEFAULT_DRIFT)

    @property
    def wording(self) -> int:
        """Which wording is used, modulo however many there are."""
        return self.seed + (self.number if "wording" in self.kinds else 0)

    @property
    def decides_otherwise(self) -> bool:
        """Whether an entry's `instead` is said."""
        return self.restarted and "decision" in self.kinds

    @property
    def recorded(self) -> bool:
        """Whether nothing changes, not even ids."""
        return "none" in self.kinds

    def of_kinds(self, kinds: Json) -> Variation:
        """Return the variation of an entry that has a `drift` of its own; None keeps this one."""
        return self if kinds is None else replace(self, kinds=frozenset(kinds))


def drift_mistake(kinds: Json) -> tuple[str, str] | None:
    """Return the place and nature of the mistake in a list of kinds, None if it has none."""
    if not isinstance(kinds, list) or not kinds:
        return "", "What drifts is a list of words that is not empty."
    for number, kind in enumerate(kinds):
        if not isinstance(kind, str) or kind not in DRIFTS:
            return f"[{number}]", f"{kind!r} is nothing that drifts; write {', '.join(DRIFTS)}."
    if "none" in kinds and len(kinds) > 1:
        return "", "'none' stands alone: nothing else can drift beside it."
    return None


def drifted(reply: Reply, variation: Variation) -> Reply:
    """Return a reply with its calls rearranged and enlarged as a variation has them; wordings are chosen before."""
    calls = reply.calls
    if variation.number and "extra_field" in variation.kinds:
        calls = tuple(_enlarged(call, variation) for call in calls)
    if "argument_order" in variation.kinds:
        calls = tuple(_rearranged(call, variation) for call in calls)
    if "tool_order" in variation.kinds:
        calls = tuple(_turned(calls, variation))
    return replace(reply, calls=calls)


def _enlarged(call: ToolCall, variation: Variation) -> ToolCall:
    if not isinstance(call.arguments, Mapping):
        return call
    name = next((name for name in _EXTRA_NAMES if name not in call.arguments), None)
    if name is None:
        return call
    # Moved on by one for each life, so that two lives in a row never agree.
    start = int(digest(f"{variation.seed} {call.tool}".encode())[:8], 16)
    text = _EXTRA_TEXTS[(start + variation.number) % len(_EXTRA_TEXTS)]
    return replace(call, arguments={**call.arguments, name: text})


def _rearranged(call: ToolCall, variation: Variation) -> ToolCall:
    return replace(call, arguments=_rearranged_value(call.arguments, variation))


def _rearranged_value(value: Json, variation: Variation) -> Json:
    if isinstance(value, Mapping):
        return {name: _rearranged_value(value[name], variation) for name in _turned(list(value), variation)}
    if isinstance(value, list):
        return [_rearranged_value(item, variation) for item in value]
    return value


def _turned(items: Sequence[Json], variation: Variation) -> Sequence[Json]:
    """Return the items in an order that differs from that of the variation before."""
    if len(items) < 2:
        return items
    step = 1 + variation.seed % (len(items) - 1)
    start = variation.number * step % len(items)
    return [*items[start:], *items[:start]]
