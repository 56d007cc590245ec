"""Views of targets while they are served: a live ledger in a terminal, plain lines elsewhere, or lines of JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ackgap.model.event import Decision, Event, Json, Note
from ackgap.model.event_codec import event_to_json
from ackgap.report.plain import plain, shortened
from ackgap.serve.served import ServedTargets
from ackgap.serve.spec import offers_tools
from ackgap.serve.watch import Action, Row, Watch
from ackgap.target.clock import iso_time
from ackgap.target.mcp.server import MCP_PATH

__all__ = ["JsonView", "LiveView", "PlainView", "View"]

_REFRESH_S = 0.1
"""Least time between two pictures."""
_CLOCK_S = 1.0
"""How old the time on the screen may be."""
_TEXT_WIDTH = 40
_SUMMARY_LIMIT = 40
_WIDE = 100
"""Columns of a terminal in which the time and the object have room too."""
_QUIET = "bright_black"
_STYLES = {
    Decision.APPLIED: "bold",
    Decision.READ: _QUIET,
    Decision.REPLAYED: "green",
    Decision.EXISTING: "green",
    Decision.CONFLICT: "yellow",
    Decision.REJECTED: "yellow",
    Decision.UNKNOWN_PATH: "yellow",
    Decision.MALFORMED: "yellow",
}


class View(Protocol):
    """Shows what happens. It may raise `BrokenPipeError` when nobody reads any more."""

    def began(self, environment: Mapping[str, str], control: str) -> None:
        """The targets listen."""
        ...

    def seen(self, event: Event, row: Row | None) -> None:
        """Something happened; `row` is the attempt that it belongs to."""
        ...

    async def keep(self) -> None:
        """Keep what is shown fresh, until cancelled."""
        ...

    def ended(self) -> None:
        """The targets are stopped."""
        ...


class JsonView:
    """Lines of JSON: what is served, every event, and the totals.

    Args:
        console: Where to.
        targets: What is served.
    """

    def __init__(self, console: Console, targets: ServedTargets) -> None:
        self._console = console
        self._targets = targets

    def began(self, environment: Mapping[str, str], control: str) -> None:
        """Write what is served."""
        served = [
            {
                "name": target.name,
                "profile": target.profile.name,
                "protection": target.protection or target.profile.default_protection,
                "url": self._targets.urls[target.name],
            }
            for target in self._targets.targets
        ]
        self._write({"kind": "serving", "targets": served, "environment": dict(environment), "control": control})

    def seen(self, event: Event, row: Row | None) -> None:  # noqa: ARG002
        """Write an event."""
        self._write(event_to_json(event))

    async def keep(self) -> None:
        """Nothing grows old."""
        await asyncio.Event().wait()

    def ended(self) -> None:
        """Write the totals."""
        self._write({"kind": "totals", **self._targets.watch.totals()})

    def _write(self, document: Json) -> None:
        # Not by the console's print, which would break the line at its width.
        self._console.file.write(json.dumps(document) + "\n")
        self._console.file.flush()


class PlainView:
    """A line for each attempt.

    Args:
        console: Where to.
        targets: What is served.
    """

    def __init__(self, console: Console, targets: ServedTargets) -> None:
        self._console = console
        self._targets = targets

    def began(self, environment: Mapping[str, str], control: str) -> None:
        """Print where the targets are."""
        self._say(_introduction(self._targets, environment, control))

    def seen(self, event: Event, row: Row | None) -> None:
        """Print an attempt once nothing more happens to it, and every remark."""
        if row is not None and row.done:
            self._say(_line(row))
        elif isinstance(event, Note):
            self._say(Text(f"· {plain(event.text)}"))

    async def keep(self) -> None:
        """Nothing grows old."""
        await asyncio.Event().wait()

    def ended(self) -> None:
        """Print the totals."""
        self._say(Group(Text(""), summary(self._targets.watch, cut=False)))

    def _say(self, what: RenderableType) -> None:
        self._console.print(what, soft_wrap=True)


class LiveView:
    """A ledger that stays at the bottom of a terminal, and a summary at the end.

    Args:
        console: A terminal.
        targets: What is served.
    """

    def __init__(self, console: Console, targets: ServedTargets) -> None:
        self._console = console
        self._targets = targets
        self._changed = asyncio.Event()
        self._remark = ""
        self._live = Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop")

    def began(self, environment: Mapping[str, str], control: str) -> None:
        """Print where the targets are, and show the ledger below."""
        self._console.print(_introduction(self._targets, environment, control), soft_wrap=True)
        self._live.start()
        self.draw()

    def seen(self, event: Event, row: Row | None) -> None:  # noqa: ARG002
        """Have it drawn soon."""
        if isinstance(event, Note):
            self._remark = plain(event.text)
        self._changed.set()

    async def keep(self) -> None:
        """Draw whenever something has changed, and the clock as it goes."""
        while True:
            self._changed.clear()
            try:
                async with asyncio.timeout(_CLOCK_S):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self.draw()
            await asyncio.sleep(_REFRESH_S)

    def ended(self) -> None:
        """Take the ledger away and print all of it that is kept, with the totals."""
        self._live.stop()
        watch = self._targets.watch
        if watch.rows:
            self._console.print(_table(list(watch.rows)[-_SUMMARY_LIMIT:], self._console.width))
            self._console.print()
        self._console.print(summary(watch))

    def draw(self) -> None:
        """Draw what there is now."""
        self._live.update(self.picture, refresh=True)

    @property
    def picture(self) -> RenderableType:
        """What is to be seen now: the totals, the newest attempts and the actions, no higher than the terminal."""
        watch = self._targets.watch
        room = max(4, self._console.height - 6)
        actions = _actions(watch, max(2, room // 3))
        shown = list(watch.rows)[-max(2, room - len(actions)) :]
        return Group(Text(""), self._head(), _table(shown, self._console.width), *actions)

    def _head(self) -> Text:
        watch = self._targets.watch
        ahead = self._targets.offset_s
        text = Text(f"{self._targets.now}", style=_QUIET)
        if ahead:
            text.append(f" ({ahead / 3600:g} h ahead)", style="yellow")
        text.append(f"  {_totals(watch)}", style="bold")
        if self._remark:
            text.append(f"  · {self._remark}", style=_QUIET)
        text.no_wrap, text.overflow = True, "ellipsis"
        return text


def summary(watch: Watch, *, cut: bool = True) -> RenderableType:
    """Return the totals: attempts, effects by identity with repeats marked, and costs.

    Args:
        watch: What happened.
        cut: Whether a line ends where the terminal does.
    """
    return Group(Text(_totals(watch), style="bold"), *_actions(watch, _SUMMARY_LIMIT, cut=cut))


def _introduction(targets: ServedTargets, environment: Mapping[str, str], control: str) -> RenderableType:
    lines: list[RenderableType] = []
    for target in targets.targets:
        name = target.protection or target.profile.default_protection
        protection = target.profile.protections[name]
        lines.append(
            Text.assemble(
                (target.name, "bold"), "  ", targets.urls[target.name], (f"  {plain(target.profile.title)}", "")
            )
        )
        lines.append(Text(f"  {name}: {plain(protection.title)}", style=_QUIET))
        if offers_tools(target.profile):
            lines.append(Text(f"  as tools (MCP): {targets.urls[target.name]}{MCP_PATH}", style=_QUIET))
    lines += [Text(""), Text("Environment for your agent:", style=_QUIET)]
    lines += [Text(f"  {variable}={value}") for variable, value in environment.items()]
    lines += [
        Text(""),
        Text(f"Control: {control}", style=_QUIET),
        Text(
            '  GET /ledger, GET /clock, POST /clock {"forward": "72h"}, POST /reset. Ctrl-C ends.',
            style=_QUIET,
        ),
    ]
    return Group(*lines)


def _table(rows: Sequence[Row], width: int) -> Table:
    """Return the rows as a table: what was decided gets the room that the other columns leave."""
    columns: dict[str, list[Text]] = {
        "time": [Text(iso_time(row.clock_s)[11:19], style=_QUIET) for row in rows],
        "operation": [_cut(row.received.operation, max(16, width // 4)) for row in rows],
        "effect": [Text(_effect(row), style="bold red" if row.copies > 1 else "bold") for row in rows],
        "decision": [Text(_decision(row), style=_STYLES.get(row.decision, "") if row.decision else "") for row in rows],
        "key": [_cut(row.received.key or "", max(8, width // 8)) for row in rows],
        "object": [_cut(row.object_id, max(8, width // 8)) for row in rows],
        "cost": [Text(_cost(row)) for row in rows],
    }
    if width < _WIDE:
        del columns["time"], columns["object"]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style=_QUIET, width=width)
    for name, cells in columns.items():
        if name == "decision":
            table.add_column(name, no_wrap=True, overflow="ellipsis", ratio=1)
        elif name == "operation" or any(cells):
            widest = max((cell.cell_len for cell in cells), default=0)
            table.add_column(name, no_wrap=True, overflow="crop", width=max(widest, len(name)))
    shown = [cells for name, cells in columns.items() if name in ("operation", "decision") or any(cells)]
    for line in zip(*shown, strict=True):
        table.add_row(*line)
    return table


def _cut(text: str, width: int) -> Text:
    return Text(shortened(plain(text), width))


def _line(row: Row) -> Text:
    parts = [iso_time(row.clock_s), plain(row.received.operation), _effect(row) or "no effect", _decision(row)]
    if row.received.key is not None:
        parts.append(f"key {plain(row.received.key)}")
    if row.object_id:
        parts.append(plain(row.object_id))
    if row.cost:
        parts.append(_cost(row))
    return Text("  ".join(parts))


def _effect(row: Row) -> str:
    return "" if not row.copies else "effect" if row.copies == 1 else f"effect ×{row.copies}"


def _decision(row: Row) -> str:
    if not row.done:
        return "…"
    if row.dropped:
        decided = "dropped without an answer"
    else:
        # What costs money is no mere read, although it changes nothing outside.
        paid = row.received.paid and row.decision is Decision.READ
        decided = f"{row.status} {'paid' if paid else row.decision}"
    # "read: a read" says nothing twice.
    return decided if row.decision is Decision.READ or not row.rule else f"{decided}: {plain(row.rule)}"


def _cost(row: Row) -> str:
    return _money(row.cost, row.currency) if row.cost else ""


def _money(amount: float, currency: str) -> str:
    # Tokens cost millionths; more digits than that are noise of the sum.
    digits = f"{amount:.6f}".rstrip("0").rstrip(".")
    return f"{digits} {currency}".rstrip()


def _totals(watch: Watch) -> str:
    repeated = len(watch.repeated)
    parts = [_count(watch.attempt_count, "attempt"), _count(watch.effect_count, "effect")]
    if repeated:
        parts.append(f"{_count(repeated, 'action')} repeated")
    parts += [_money(amount, currency) for currency, amount in watch.costs.items()]
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _actions(watch: Watch, limit: int, *, cut: bool = True) -> list[Text]:
    """One line for each logical action, the repeated ones first."""
    ordered = sorted(watch.actions, key=lambda action: action.count < 2)
    lines = [_action(action, cut=cut) for action in ordered[:limit]]
    if len(ordered) > limit:
        lines.append(Text(f"  and {len(ordered) - limit} more", style=_QUIET))
    return lines


def _action(action: Action, *, cut: bool) -> Text:
    objects = ", ".join(shortened(plain(name), _TEXT_WIDTH) for name in action.object_ids[:4])
    line = Text(f"  ×{action.count}  ", style="bold red" if action.count > 1 else "")
    line.append(f"{plain(action.operation)}: {plain(action.text)}")
    if objects:
        line.append(f"  {objects}", style=_QUIET)
    if action.count > 1:
        line.append("  repeated", style="bold red")
    if cut:
        line.no_wrap, line.overflow = True, "ellipsis"
    return line
