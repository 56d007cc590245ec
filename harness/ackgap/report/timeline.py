"""The story of one cell: its lives in order, in plain words, as values and in a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Group, RenderableType
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
    Injector,
    Note,
    WorkFinished,
    WroteOutside,
)
from ackgap.model.history import History
from ackgap.model.matrix import CellResult
from ackgap.model.verdict import GLYPHS
from ackgap.report.hanging import Hanging
from ackgap.report.matrix_text import STYLES
from ackgap.report.plain import plain, plain_block, shortened

__all__ = ["Step", "describe", "ended_words", "render_timeline", "started_words", "steps_of", "virtual_time"]

_QUIET = "bright_black"
_KEY_WIDTH = 28
_PATH_WIDTH = 120
_LINE_WIDTH = 300
_SENTENCE_WIDTH = 2000
"""A check may print that much, and no reader needs more."""
_PRINTED = 8
"""How many of the last lines that a worker printed are shown."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happened, as a reader is told of it.

    Attributes:
        event: What happened.
        life: Whose, 0 where it is nobody's.
        mark: A sign for its kind.
        text: What happened, in words; harmless to print.
        style: Of the words.
        begins: A life begins with it.
        printed: The last lines that the worker printed, where its life ends with it.
    """

    event: Event
    life: int
    mark: str
    text: str
    style: str
    begins: bool
    printed: tuple[str, ...] = ()


def steps_of(history: History, *, every: bool = False) -> tuple[Step, ...]:
    """Return what happened in a cell, in order.

    Args:
        history: Of the cell.
        every: Also phases of boundaries that say little by themselves, and what the worker printed at its end.
    """
    steps = []
    for event in history:
        told = describe(event, history)
        if told is None and every and isinstance(event, BoundaryReached):
            told = " ", plain(f"{event.point_text}{_seen_by(event)}"), _QUIET
        if told is None:
            continue
        printed = _last_lines(event.output_tail) if every and isinstance(event, IncarnationEnded) else ()
        steps.append(
            Step(
                event=event,
                life=_life_of(event, history),
                mark=told[0],
                text=told[1],
                style=told[2],
                begins=isinstance(event, IncarnationStarted),
                printed=printed,
            )
        )
    return tuple(steps)


def render_timeline(result: CellResult, *, every: bool = False) -> RenderableType:
    """Return the lives of a cell as lines: requests, effects, answers, commits, deaths, restarts, and the verdict.

    Args:
        result: With its history.
        every: As for `steps_of`.

    Raises:
        ValueError: The result's history has an event that this version does not know.
    """
    history = History.from_json([dict(event) for event in result.history])
    lanes = _lanes(history)
    steps = steps_of(history, every=every)
    times = max((len(f"{step.event.at_s:.3f}") for step in steps), default=0) + 2
    sides = max(map(len, lanes.values()), default=0)
    lines: list[RenderableType] = []
    for step in steps:
        lane = f" {lanes.get(step.life, ''):<{sides}}" if sides else ""
        if step.begins:
            lines += [Text(""), Hanging(f"{' ' * times}{lane}   ", step.text, "bold")]
            continue
        before = f"{f'{step.event.at_s:.3f} s':>{times}}{lane} "
        lines.append(Hanging(f"{before}{step.mark} ", step.text, step.style, mark_style=step.style or "default"))
        lines += [Hanging(f"{' ' * len(before)}│ ", line, _QUIET) for line in step.printed]
    if not history.events:
        why = f"not run: the same state as {plain(result.equal_to)}" if result.equal_to else "no history was kept"
        lines.append(Hanging("", f"{why[:1].upper()}{why[1:]}.", _QUIET))
    kind = result.verdict.kind
    ending = Text(f"{GLYPHS[kind]} {kind.words}", style=STYLES[kind.colour])
    findings = [Hanging("  ", plain(finding.summary)) for finding in result.findings]
    return Group(Text(plain(result.cell), style="bold"), *lines, Text(""), ending, *findings)


def _last_lines(output: str) -> tuple[str, ...]:
    lines = [line for line in plain_block(output).split("\n") if line.strip()]
    return tuple(shortened(plain(line), _LINE_WIDTH) for line in lines[-_PRINTED:])


def _seen_by(event: BoundaryReached) -> str:
    seen_by = {Injector.WIRE: " (seen by the service)", Injector.STORE: " (seen on the way to its store)"}
    return seen_by.get(event.source, "")


def describe(event: Event, history: History) -> tuple[str, str, str] | None:
    """Return mark, sentence and style of an event; None for those that tell a reader nothing by themselves."""
    teller = _TELLERS.get(type(event))
    told = teller(event, history) if teller is not None else None
    return (told[0], shortened(plain(told[1]), _SENTENCE_WIDTH), told[2]) if told is not None else None


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


def started_words(event: IncarnationStarted, history: History) -> str:
    """Return how a life began: which, its process, and how far the targets' clock had moved."""
    earlier = [item for item in history.of(IncarnationStarted) if item.incarnation < event.incarnation]
    text = f"Life {event.incarnation}  (pid {event.pid})"
    moved = event.clock_offset_s - (earlier[-1].clock_offset_s if earlier else 0.0)
    return text + (f", {virtual_time(moved)} later by the targets' clock" if moved > 0 else "")


def _started(event: IncarnationStarted, history: History) -> tuple[str, str, str]:
    return "", started_words(event, history), "bold"


def _received(event: AttemptReceived, history: History) -> tuple[str, str, str]:  # noqa: ARG001
    key = f"key {shortened(plain(event.key), _KEY_WIDTH)}" if event.key else "no key"
    shown = f", {key}" if event.effectful else ""
    path = shortened(plain(event.path), _PATH_WIDTH)
    return "→", f"{event.operation}#{event.occurrence}: {event.method} {path}{shown}", ""


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
    mark = "‖" if kind.startswith(("pause", "disconnect", "hold")) else "✕"
    return mark, f"{event.fault} ({event.settling})", "bold red"


def ended_words(event: IncarnationEnded) -> str:
    """Return how a life ended, without saying which."""
    if event.copied:
        return "copied while it stood parked there; nothing was killed"
    if event.signal is not None:
        why = ", for want of memory" if event.out_of_memory else ""
        return f"{'killed by ackgap' if event.by_harness else 'died'}, signal {event.signal}{why}"
    return f"exited with {event.exit_code}"


def _ended(event: IncarnationEnded, history: History) -> tuple[str, str, str]:  # noqa: ARG001
    text = f"life {event.incarnation} {ended_words(event)}"
    if event.copied or event.signal is not None:
        return "†", text, "bold red"
    return "·", text, "" if event.exit_code == 0 else "yellow"


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
    ClientGaveUp: lambda event, _: (
        "╳",
        f"the worker closed {event.name or f'attempt {event.attempt}'} while it was held",
        "yellow",
    ),
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
