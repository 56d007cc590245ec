"""A hunt in words, for a terminal or the failure of a test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ackgap.model.matrix import CellResult, Variant
from ackgap.model.verdict import GLYPHS, VerdictKind
from ackgap.report.plain import plain, replay_command
from ackgap.search.hunt import Effort, Hunt
from ackgap.search.parts import Part

__all__ = ["finding_lines", "hunt_lines", "hunt_sentence", "part_notes"]

_NOTHING = "·"
_PLACES = {
    "phase": "phase",
    "occurrence": "which of several",
    "boundary": "which call or checkpoint",
    "kind": "what is done",
}


def hunt_sentence(variant: Variant, found: Hunt, effort: Effort) -> str:
    """Return what came of a search in a few sentences; what a report notes."""
    return f"{_what_came(variant, found, effort)} {_how_often(found)}".rstrip()


def _what_came(variant: Variant, found: Hunt, effort: Effort) -> str:
    counted = f"{found.drawn} different schedule{'' if found.drawn == 1 else 's'} of up to {effort.max_faults} faults"
    name = plain(str(variant))
    if found.smallest is None:
        said = f"Search of {name} with seed {effort.seed}: nothing red in {counted}"
        said += f", of which {found.proved_nothing} proved nothing" if found.proved_nothing else ""
        said += ". Further draws brought nothing new" if found.exhausted else ""
        return f"{said}. A sample, no proof."
    kind = found.smallest.verdict.kind
    if not found.smallest.schedule.faults:
        return f"Search of {name}: {kind.words} already in peace, so nothing was searched."
    did = "made it smaller" + (" and told its parts apart" if found.parts else "")
    return (
        f"Search of {name} with seed {effort.seed}: {kind.words} at the last of {counted}; "
        f"{found.ran - found.drawn} more {did}: {plain(found.smallest.schedule.label)}."
    )


def hunt_lines(variant: Variant, found: Hunt, effort: Effort, replay_prefix: str) -> Iterator[str]:
    """Yield what came of a search, line by line; the first line is a heading."""
    if found.smallest is None:
        yield f"{_NOTHING} nothing red  {plain(str(variant))}"
        yield f"   {hunt_sentence(variant, found, effort)}"
        if found.proved_nothing:
            yield "   What proved nothing was mostly to strike where the worker did not come in that life."
        return
    yield from finding_lines(found.smallest, replay_prefix, found.parts)
    if found.steady and not found.shrunk:
        yield f"   Perhaps not the smallest: shrinking ended after {effort.shrinks} schedules (--shrinks)."
    yield f"   {_what_came(variant, found, effort)}"
    if found.again:
        yield f"   {_how_often(found)}"
    for other in found.other_reds:
        yield f"   Also red on the way: {other.verdict.kind.words}"
        yield f"   again  {replay_command(replay_prefix, other.cell)}"


def _how_often(found: Hunt) -> str:
    """Return in how many of its runs the smallest schedule came out; empty where it ran once."""
    if not found.again:
        return ""
    runs = 1 + len(found.again)
    if found.steady:
        return f"It came out in each of {runs} runs."
    return (
        f"It came out in {found.came_out} of {runs} runs: something that ackgap does not control has a part in it. "
        "So nothing is said of which parts matter, and a smaller one may do the same: each other schedule ran once."
    )


def finding_lines(result: CellResult, replay_prefix: str, parts: Sequence[Part] = ()) -> Iterator[str]:
    """Yield the verdict of a schedule, how to see it again, and its faults, each with what is known of its parts."""
    kind = result.verdict.kind
    yield f"{GLYPHS[kind]} {kind.words}  {plain(str(result.variant))}"
    yield f"   {plain(result.verdict.headline)}"
    if result.schedule.faults:
        yield f"   again  {replay_command(replay_prefix, result.cell)}"
    for place, fault in enumerate(result.schedule.faults, start=1):
        life = "" if fault.incarnation == 1 else f"life {fault.incarnation}: "
        yield f"   {place}. {life}{plain(str(fault.point))}, {plain(fault.manner.words)}"
        for part in parts:
            if part.place == place and part.tried:
                yield f"      {_part_line(part)}"


def part_notes(found: Hunt) -> Iterator[str]:
    """Yield what is known of the parts of the smallest schedule, a sentence for each fault; what a report notes."""
    if found.smallest is None:
        return
    for place, fault in enumerate(found.smallest.schedule.faults, start=1):
        lines = [" ".join(_part_line(part).split()) for part in found.parts if part.place == place and part.tried]
        if lines:
            yield f"Of {plain(str(fault))} in {plain(found.smallest.schedule.label)}: {'. '.join(lines)}."


def _part_line(part: Part) -> str:
    about = f"{_PLACES.get(part.what, part.what)} ({plain(part.value)})"
    if part.matters is None:
        return f"not known        {about}: nothing else that was tried proves anything"
    same = ", ".join(plain(value) for value, kind in part.tried if kind is part.kind)
    if not part.matters:
        return f"does not matter  {about}: the same with {same}"
    others: dict[str, list[str]] = {}
    for value, kind in part.tried:
        if kind is not part.kind and kind is not VerdictKind.INCONCLUSIVE:
            others.setdefault(kind.words, []).append(plain(value))
    if part.what == "fault":
        return f"needed           without it: {' or '.join(others)}"
    said = "; ".join(f"{words} with {', '.join(values)}" for words, values in others.items())
    return f"matters          {about}: {said}" + (f"; the same with {same}" if same else "")
