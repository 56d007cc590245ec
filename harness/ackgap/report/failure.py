"""A cell that failed, in the few lines that a person reads in a test's output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ackgap.model.event import Json
from ackgap.model.manner import FaultKind
from ackgap.model.matrix import CellResult
from ackgap.model.verdict import Finding, VerdictKind
from ackgap.report.plain import plain, replay_command

__all__ = ["failure_lines"]

_SIDES = ("worker", "engine", "target")
_MOST_EFFECTS = 4


def failure_lines(result: CellResult, prefix: str, *, more: int = 0, same_as: str = "") -> Iterator[str]:
    """Yield what happened, at which point, in which lives, who could have prevented it, and how to see it again.

    Args:
        result: With its history, where the lives are to be told.
        prefix: What a cell's name is appended to, to run it again.
        more: How many other cells ended in the same way.
        same_as: A cell of which all was told that is to be told of this one; who could have prevented it is left out.
    """
    yield f"{result.verdict.kind.words}: {plain(result.verdict.headline)}"
    others = f", and at {more} more" if more else ""
    yield f"  {_what(result)} {plain(result.cell)}{others}"
    found = result.verdict.worst
    if found is not None:
        yield from _effects(result, found)
        yield from [f"  why        as at {plain(same_as)}"] if same_as else _attribution(found)
    yield f"  again      {replay_command(prefix, result.cell)}"


def _what(result: CellResult) -> str:
    kinds = {fault.kind for fault in result.schedule.faults}
    text = "killed at" if kinds == {FaultKind.KILL} else "fault" if kinds else "run"
    return f"{text:<10}"


def _effects(result: CellResult, finding: Finding) -> Iterator[str]:
    """Yield in which lives the effects were that a finding is about."""
    if finding.kind is not VerdictKind.DUPLICATE or not result.history:
        return
    by_number: dict[Json, Mapping[str, Json]] = {event.get("seq"): event for event in result.history}
    effects = [by_number.get(number, {}) for number in finding.evidence]
    effects = [event for event in effects if event.get("kind") == "effect_applied"]
    told = [f"{event.get('object_id') or 'one'} in life {event.get('incarnation')}" for event in effects]
    if len(told) > 1:
        cut = f", and {len(told) - _MOST_EFFECTS} more" if len(told) > _MOST_EFFECTS else ""
        yield f"  happened   {plain(', '.join(told[:_MOST_EFFECTS]))}{cut}"


def _attribution(finding: Finding) -> Iterator[str]:
    attribution = finding.attribution
    if attribution is None:
        return
    told = {side: text for side in _SIDES if (text := getattr(attribution, side))}
    for side, text in told.items():
        mark = "*" if side in attribution.preventable_by else " "
        yield f"  {side:<9}{mark} {plain(text)}"
    if told.keys() & set(attribution.preventable_by):
        yield "           * could have prevented it"
    if attribution.fix:
        yield f"  fix        {plain(attribution.fix)}"
