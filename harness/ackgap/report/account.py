"""The account of one cell: what happened twice, at which point, why, who could have prevented it, how to see more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from ackgap.model.boundary import Phase
from ackgap.model.event import EffectApplied, IncarnationStarted
from ackgap.model.expectation import Expectation
from ackgap.model.history import History
from ackgap.model.identity import effect_document
from ackgap.model.matrix import CellResult
from ackgap.model.schedule import Fault
from ackgap.model.verdict import GLYPHS, MEANINGS, Colour, Finding
from ackgap.report.derived import Certainties, facts_of, order_words
from ackgap.report.differences import differences, excerpts
from ackgap.report.guidance import NOBODY, remedies
from ackgap.report.hanging import Hanging
from ackgap.report.overview import noun_of
from ackgap.report.plain import plain, replay_command, shortened, trace_command
from ackgap.report.store import Run
from ackgap.report.terminal import STYLES, attribution_lines
from ackgap.report.timeline import ended_words, started_words

__all__ = ["PHASE_WORDS", "render_account"]

PHASE_WORDS = {
    Phase.SENDING: "about to send: nothing had left the worker",
    Phase.RECEIVED: "the service had the whole request and had done nothing yet",
    Phase.APPLIED: "the effect was real, no answer had been sent",
    Phase.STREAM_BEGUN: "the first part of a streamed answer had been sent",
    Phase.STREAM_HALF: "half of a streamed answer had been sent",
    Phase.STREAM_WHOLE: "all of a streamed answer but its end had been sent",
    Phase.RETURNED: "the whole answer had reached the worker",
    Phase.COMMITTING: "about to write the worker's durable state",
    Phase.COMMITTED: "the worker's durable state had been written",
}
_QUIET = "bright_black"
_LABEL = 11
_KEY_WIDTH = 24
_FIELD_WIDTH = 30
_VALUE_WIDTH = 240
_MOST_FIELDS = 20
_MOST_EFFECTS = 8


def render_account(run: Run, result: CellResult) -> RenderableType:
    """Return what there is to say of one cell.

    Raises:
        ResultsInvalid: Its history is damaged.
    """
    history = run.history(result.equal_to or result.cell)
    kind = result.verdict.kind
    lines: list[RenderableType] = [
        Text(plain(result.cell), style="bold"),
        Hanging(f"{GLYPHS[kind]} {kind.words}  ", MEANINGS[kind], _QUIET, mark_style=STYLES[kind.colour]),
        Text(""),
        *_circumstances(result, history),
    ]
    told = [finding for finding in result.findings if finding.kind is not None]
    for finding in sorted(told, key=lambda finding: finding.kind is not kind):
        lines += [Text(""), *_finding(finding, history)]
    if result.verdict.worst is not None:
        lines += [Text(""), Text("What helps", style=_QUIET), *_helps(result.verdict.worst)]
    facts = [*order_words(result), *facts_of(result, Certainties.of_run(run))]
    remarks = [finding.summary for finding in result.findings if finding.kind is None and finding.code != "rate"]
    if facts or remarks:
        lines.append(Text(""))
    lines += [Hanging("· ", plain(text)) for text in (*facts, *remarks)]
    counts = list(_counts(run, result))
    if counts:
        lines += [Text(""), Text("Effects", style=_QUIET), *counts]
    lines.append(Text(""))
    commands = {"again": replay_command(run.info.replay_prefix, result.cell)}
    if history.events:
        commands["each step"] = trace_command(run.info.replay_prefix, result.equal_to or result.cell)
    lines += [_command(label, text) for label, text in commands.items()]
    return Group(*lines)


def _circumstances(result: CellResult, history: History) -> Iterator[RenderableType]:
    """Yield what was done, where, and what became of each life."""
    if not result.schedule.faults:
        yield _labelled("done", "Nothing: an undisturbed run.")
    for fault in result.schedule.faults:
        yield _labelled("done" if fault is result.schedule.faults[0] else "then", _fault(fault, result))
    if result.settling:
        yield _labelled("", _settling(result.settling))
    values = ", ".join(f"{axis} {value}" for axis, value in result.variant.values)
    if values:
        yield _labelled("variant", values)
    starts = history.of(IncarnationStarted)
    for number, start in enumerate(starts):
        end = history.ends.get(start.incarnation)
        how = f"; {ended_words(end)}" if end is not None else ""
        yield _labelled("" if number else "lives", f"{started_words(start, history)}{how}")
    if not starts:
        yield _labelled("lives", "No history was kept.")


def _fault(fault: Fault, result: CellResult) -> str:
    life = f" in life {fault.incarnation}" if fault.incarnation > 1 or result.schedule.depth > 1 else ""
    words = fault.manner.words
    return f"{words[:1].upper()}{words[1:]} at {fault.point}{life}: {PHASE_WORDS[fault.point.phase]}."


def _settling(settling: str) -> str:
    words = {
        "settled": "no durable write was in flight, which a hook proved",
        "quiet-observed": "nothing was written for a while before, and no hook could prove more",
        "unsettled": "durable writes may have been in flight: such a cell races the worker",
    }
    return f"{settling}: {words.get(settling, '')}."


def _finding(finding: Finding, history: History) -> Iterator[RenderableType]:
    assert finding.kind is not None
    style = STYLES[finding.kind.colour]
    red = finding.kind.colour is Colour.RED
    yield Hanging(f"{GLYPHS[finding.kind]} ", plain(finding.summary), "bold" if red else "", mark_style=style)
    yield from attribution_lines(finding)
    if finding.attribution is not None and finding.attribution.preventable_by:
        who = " or ".join(finding.attribution.preventable_by)
        yield Hanging("   ", f"Could have been prevented by: {who}.")
    effects = [effect for effect in history.effects if effect.seq in finding.evidence]
    yield from _effects(effects, history)


def _helps(finding: Finding) -> Iterator[RenderableType]:
    """Yield what to do about a finding, by who could have prevented it."""
    assert finding.kind is not None
    for side, text in remedies(finding.kind, finding.attribution):
        yield Hanging("   " if side == NOBODY else f"   {side}: ", text)


def _effects(effects: Sequence[EffectApplied], history: History) -> Iterator[RenderableType]:
    """Yield the effects that a finding rests on, and in what they differ."""
    for effect in effects[:_MOST_EFFECTS]:
        key = f"key {shortened(plain(effect.key), _KEY_WIDTH)}" if effect.key else "no key"
        what = plain(f"{effect.operation}  {effect.object_id or 'an effect'}")
        yield Hanging(f"   life {effect.incarnation}  ", f"{effect.at_s:.3f} s  {what}  {key}")
    if len(effects) > _MOST_EFFECTS:
        yield Hanging("   ", f"and {len(effects) - _MOST_EFFECTS} more", _QUIET)
    if len(effects) < 2:
        return
    documents = [{"key": effect.key, **effect_document(history, effect)} for effect in effects[:_MOST_EFFECTS]]
    found = differences(documents)
    if not found:
        yield Hanging("   ", "Their requests are the same, key and payload.", _QUIET)
        return
    yield Hanging("   ", "Their requests differ in", _QUIET)
    for difference in found[:_MOST_FIELDS]:
        values = [plain(value) for value in difference.values]
        for number, value in enumerate(excerpts(values, _VALUE_WIDTH)):
            label = "" if number else shortened(plain(difference.path), _FIELD_WIDTH)
            mark = f"     {label:<{_FIELD_WIDTH if len(label) > 12 else 12}} {effects[number].incarnation}: "
            yield Hanging(mark, value)
    if len(found) > _MOST_FIELDS:
        yield Hanging("     ", f"and in {len(found) - _MOST_FIELDS} more fields", _QUIET)


def _counts(run: Run, result: CellResult) -> Iterator[RenderableType]:
    """Yield how many effects each operation had, and how many an undisturbed run has."""
    yardstick = run.info.expectations.get(str(result.variant), Expectation())
    expected: dict[str, int] = {}
    for effect in yardstick.effects:
        expected[effect.operation] = expected.get(effect.operation, 0) + effect.count
    for operation in dict.fromkeys((*expected, *result.effects)):
        seen, wanted = result.effects.get(operation, 0), expected.get(operation, 0)
        _, nouns = noun_of(run.info, operation)
        text = plain(f"{operation}: {seen}" + (f" {nouns}" if nouns and seen != 1 else ""))
        style = "bold red" if seen > wanted else "yellow" if seen < wanted else ""
        yield Hanging("   ", text if seen == wanted else f"{text}; undisturbed: {wanted}", style)


def _labelled(label: str, text: str) -> RenderableType:
    return Hanging(f"{label:<{_LABEL}}", plain(text))


def _command(label: str, text: str) -> RenderableType:
    line = Text(f"{label:<{_LABEL}}", style=_QUIET, no_wrap=True, overflow="ignore")
    line.append(text, style="cyan")
    return line
