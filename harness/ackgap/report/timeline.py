"""The story of one cell in a terminal: its lives in order, in plain words."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ackgap.model.boundary import STREAM_PHASES, BoundaryKind, Phase
from ackgap.model.event import (
    AttemptAnswered,
    AttemptDropped,
    AttemptReceived,
    BoundaryReached,
    CheckReported,
    ClientGaveUp,
    Decision,
    DiscardedAtDeath,
    EffectApplied,
    EgressAttempted,
    Event,
    FaultInjected,
    GaveUp,
    IncarnationEnded,
    IncarnationStarted,
    InDoubtSurfaced,
    Note,
    WorkFinished,
    WroteOutside,
)
from ackgap.model.history import History
from ackgap.model.matrix import CellResult
from ackgap.model.verdict import GLYPHS
from ackgap.report.plain import plain
from ackgap.report.terminal import STYLES

__all__ = ["describe", "render_timeline", "virtual_time"]

_QUIET = "bright_black"
_DECISIONS = {
    Decision.APPLIED: "done",
    Decision.READ: "answered",
    Decision.REPLAYED: "recognised by its key, first answer again",
    Decision.EXISTING: "recognised, it exists already",
    Decision.REJECTED: "refused",
    Decision.CONFLICT: "refused, the same key is being worked on",
    Decision.UNKNOWN_PATH: "no such operation",
    Decision.MALFORMED: "not a readable request",
}


def render_timeline(result: CellResult) -> RenderableType:
    """Return the lives of a cell as lines: requests, effects, answers, commits, deaths, restarts, and the verdict.

    Raises:
        ValueError: The result's history has an event that this version does not know.
    """
    history = History.from_json([dict(event) for event in result.history])
    lanes = _lanes(history)
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", style=_QUIET, no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for event in history:
        told = describe(event, history)
        if told is None:
            continue
        mark, text, style = told
        lane = lanes.get(_life_of(event, history), "")
        if isinstance(event, IncarnationStarted):
            table.add_row("", "", "", "")
            table.add_row("", lane, "", Text(text, style="bold"))
            continue
        table.add_row(f"{event.at_s:.3f} s", lane, Text(mark, style=style), Text(text, style=style))
    if not history.events:
        why = f"not run: the same state as {plain(result.equal_to)}" if result.equal_to else "no history was kept"
        table.add_row("", "", "", Text(f"{why[:1].upper()}{why[1:]}.", style=_QUIET))
    kind = result.verdict.kind
    ending = Text(f"{GLYPHS[kind]} {kind.words}", style=STYLES[kind.colour])
    findings = [Text(f"  {plain(finding.summary)}") for finding in result.findings]
    return Group(Text(plain(result.cell), style="bold"), table, Text(""), ending, *findings)


def describe(event: Event, history: History) -> tuple[str, str, str] | None:
    """Return mark, sentence and style of an event; None for those that tell a reader nothing by themselves."""
    teller = _TELLERS.get(type(event))
    told = teller(event, history) if teller is not None else None
    return (told[0], plain(told[1]), told[2]) if told is not None else None


def _lanes(history: History) -> dict[int, str]:
    """Return where each life stands in a column of their numbers; nothing where none of them overlap.

    Lives that overlap stand side by side, each with its number; those that follow one another share a place.
    """
    places: dict[int, int] = {}
    alive: set[int] = set()
    for event in history:
        if isinstance(event, IncarnationStarted):
            taken = {places[life] for life in alive}
            places[event.incarnation] = next(place for place in range(len(places) + 1) if place not in taken)
            alive.add(event.incarnation)
        elif isinstance(event, IncarnationEnded):
            alive.discard(event.incarnation)
    if not any(places.values()):
        return {}
    return {life: f"{'  ' * place}{life}" for life, place in places.items()}


def _life_of(event: Event, history: History) -> int:
    """Return which life an event is of; 0 where it is of none."""
    if isinstance(event, AttemptAnswered | AttemptDropped):
        return history.attempt(event.attempt).incarnation
    life = getattr(event, "incarnation", 0)
    return life if isinstance(life, int) else 0


def virtual_time(seconds: float) -> str:
    """Return a span of virtual time in words: `72 h`."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size or (seconds >= size and unit != "d"):
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds:.3g} s"


def _started(event: IncarnationStarted, history: History) -> tuple[str, str, str]:
    earlier = [item for item in history.of(IncarnationStarted) if item.incarnation < event.incarnation]
    text = f"Life {event.incarnation}  (pid {event.pid})"
    moved = event.clock_offset_s - (earlier[-1].clock_offset_s if earlier else 0.0)
    return "", text + (f", {virtual_time(moved)} later by the targets' clock" if moved > 0 else ""), "bold"


def _received(event: AttemptReceived, history: History) -> tuple[str, str, str]:  # noqa: ARG001
    key = f"key {event.key}" if event.key else "no key"
    shown = f", {key}" if event.effectful else ""
    return "→", f"{event.operation}#{event.occurrence}: {event.method} {event.path}{shown}", ""


def _applied(event: EffectApplied, history: History) -> tuple[str, str, str]:
    again = event.seq in repeated_effects(history)
    style = "bold red" if again else "green"
    return "◆", f"{event.target} made {event.object_id or 'an effect'}{' (again)' if again else ''}", style


def repeated_effects(history: History) -> frozenset[int]:
    """Return `seq` of the effects that repeat an earlier one: the same action to the target, or the same request."""
    seen: set[str] = set()
    repeated: set[int] = set()
    for effect in history.effects:
        what = effect.identity or {"content": effect.content}
        mark = f"{effect.operation} {sorted(map(repr, what.items()))}"
        if mark in seen:
            repeated.add(effect.seq)
        seen.add(mark)
    return frozenset(repeated)


def _answered(event: AttemptAnswered, history: History) -> tuple[str, str, str]:  # noqa: ARG001
    subject = f", {event.object_id}" if event.object_id else ""
    return "←", f"answer {event.status}{subject}: {_DECISIONS[event.decision]}", _QUIET


def _dropped(event: AttemptDropped, history: History) -> tuple[str, str, str]:
    begun = any(item.attempt == event.attempt and item.phase in STREAM_PHASES for item in history.passages)
    what = "no end of its answer" if begun else "no answer"
    return "╳", f"attempt {event.attempt} gets {what}: {event.reason or 'its life is over'}", _QUIET


def _reached(event: BoundaryReached, history: History) -> tuple[str, str, str] | None:  # noqa: ARG001
    if event.boundary_kind is BoundaryKind.CHECKPOINT and event.phase is Phase.COMMITTED:
        return "■", f"recorded: {event.name}#{event.occurrence}", "blue"
    if event.phase is Phase.RETURNED:
        return " ", f"{event.name}#{event.occurrence} returned to the worker", _QUIET
    return None


def _fault(event: FaultInjected, history: History) -> tuple[str, str, str]:  # noqa: ARG001
    kind = event.fault.lstrip("0123456789.")
    mark = "‖" if kind.startswith(("pause", "hold")) else "✕"
    return mark, f"{event.fault} ({event.settling})", "bold red"


def _ended(event: IncarnationEnded, history: History) -> tuple[str, str, str]:  # noqa: ARG001
    if event.copied:
        return "†", f"life {event.incarnation} copied while it stood parked there; nothing was killed", "bold red"
    if event.signal is not None:
        by = "killed by ackgap" if event.by_harness else "died"
        return "†", f"life {event.incarnation} {by}, signal {event.signal}", "bold red"
    return "·", f"life {event.incarnation} exited with {event.exit_code}", "" if event.exit_code == 0 else "yellow"


def _check(event: CheckReported, history: History) -> tuple[str, str, str]:  # noqa: ARG001
    said = {True: "holds", False: "does not hold", None: "could not tell"}[event.passed]
    return "?", f"check {event.name} {said}. {event.text}".strip(), "" if event.passed else "yellow"


_TELLERS: dict[type[Event], Callable[..., tuple[str, str, str] | None]] = {
    IncarnationStarted: _started,
    AttemptReceived: _received,
    EffectApplied: _applied,
    AttemptAnswered: _answered,
    AttemptDropped: _dropped,
    BoundaryReached: _reached,
    FaultInjected: _fault,
    IncarnationEnded: _ended,
    CheckReported: _check,
    WorkFinished: lambda event, _: ("✓", f"finished: {event.how}", "green"),
    InDoubtSurfaced: lambda event, _: ("?", f"the worker asks a human: {event.text}", "yellow"),
    GaveUp: lambda event, _: ("■", f"given up ({event.reason}): {event.text}", "bold red"),
    ClientGaveUp: lambda event, _: ("╳", f"the worker closed attempt {event.attempt} while it was held", "yellow"),
    DiscardedAtDeath: lambda event, _: (
        "╳",
        f"{event.byte_count} unread bytes of life {event.incarnation} discarded at {event.target}",
        _QUIET,
    ),
    EgressAttempted: lambda event, _: (
        "!",
        f"reached out to {event.host}: {'allowed' if event.allowed else 'refused'}",
        "yellow",
    ),
    WroteOutside: lambda event, _: ("!", f"wrote outside its directory: {event.path}", "yellow"),
    Note: lambda event, _: ("·", event.text, _QUIET),
}
