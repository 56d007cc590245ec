"""Progress of a run: how far, what came out so far, when it is expected to end, and each new kind of red once.

A terminal has a bar that stays where it is. Elsewhere there are plain lines: one when something new comes out, and one
now and then, so that a log of CI shows that it goes on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.verdict import GLYPHS, Colour, VerdictKind
from ackgap.report.console import is_live
from ackgap.report.plain import plain

__all__ = ["LiveProgress"]

_PLAIN_EVERY_S = 10.0
"""Seconds between two plain lines that say no more than how far it is."""
_WIDE = 100
_BARS = {_WIDE: 24, 76: 12}
"""How long the bar is, by the least width of a terminal; none where it is narrower."""


class LiveProgress:
    """Shows a campaign while it runs; plain lines where the output is not a terminal.

    Args:
        console: Where to.
        quiet: Show nothing.
        clock: Seconds, that only go forward.
    """

    def __init__(self, console: Console, *, quiet: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._quiet = quiet
        self._clock = clock
        self._live = is_live(console)
        self._planned_s: float | None = None
        self._said_s = 0.0
        self._counts: Counter[VerdictKind] = Counter()
        self._seen: set[tuple[str, str]] = set()
        self._total = 0
        self._noted = False
        self._done = 0
        self._task: TaskID | None = None
        bar = next((length for least, length in _BARS.items() if console.width >= least), 0)
        # What came out gives way first: it stands at the end, and is cut there.
        columns: list[ProgressColumn] = [
            TextColumn("{task.description}"),
            *([BarColumn(bar_width=bar)] if bar else []),
            MofNCompleteColumn(),
            *([TimeElapsedColumn()] if console.width >= _WIDE else []),
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            TextColumn("{task.fields[chips]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
        ]
        disabled = quiet or not self._live
        self._progress = Progress(*columns, console=console, transient=True, disable=disabled, expand=True)

    def __enter__(self) -> Self:
        self._progress.start()
        self._task = self._progress.add_task("probing", total=None, chips="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def began(self, variants: Sequence[Variant], isolated: bool) -> None:  # noqa: ARG002
        """Say what is being run."""
        count = len(variants)
        self._say(f"probing {count} {'variant' if count == 1 else 'variants'}, each twice, undisturbed")

    def probed(self, variant: Variant, expectation: Expectation) -> None:
        """Say what a probe found."""
        if not self._live:
            count = len(expectation.points)
            self._say(f"probed {plain(str(variant))}: {count} crash point{'' if count == 1 else 's'}")

    def planned(self, cells: int) -> None:
        """Show how many cells there are."""
        if self._planned_s is None:
            self._planned_s = self._said_s = self._clock()
            if not self._live:
                self._say(f"crashing it in {cells} cells")
        self._total = cells
        self._update()

    def noted(self, text: str) -> None:
        """Say the first thing that a reader should know: what is refused. The rest stands under the matrix."""
        if not self._noted:
            self._noted = True
            self._say(f"· {plain(text)}", style="dim")

    def finished(self, result: CellResult) -> None:
        """Show a verdict."""
        self._done += 1
        self._counts[result.verdict.kind] += 1
        operation = next((f.operation for f in result.findings if f.kind is result.verdict.kind), "")
        new = (result.verdict.kind.value, operation)
        if result.verdict.kind.colour in (Colour.RED, Colour.GREY) and new not in self._seen:
            self._seen.add(new)
            kind = result.verdict.kind
            self._say(
                f"{GLYPHS[kind]} {kind.words}: {plain(result.verdict.headline)}  ({plain(result.cell)})",
                style="bold red",
            )
        self._update()
        if not self._live and self._planned_s is not None and self._clock() - self._said_s >= _PLAIN_EVERY_S:
            self._said_s = self._clock()
            self._say(f"{self._done} of about {max(self._total, self._done)} cells{self._left()}: {self._chips()}")

    def _left(self) -> str:
        """Return how long the rest will take, if it goes on like this."""
        missing = self._total - self._done
        if self._planned_s is None or missing <= 0:
            return ""
        return f", about {_in_words(missing * (self._clock() - self._planned_s) / self._done)} left"

    def _update(self) -> None:
        if self._task is not None:
            total = max(self._total, self._done) or None
            self._progress.update(
                self._task, description="crashing", total=total, completed=self._done, chips=self._chips()
            )

    def _chips(self) -> str:
        return "  ".join(f"{GLYPHS[kind]} {self._counts[kind]}" for kind in VerdictKind if self._counts[kind])

    def _say(self, text: str, style: str = "") -> None:
        if not self._quiet:
            self._progress.console.print(Text(text, style=style))


def _in_words(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes / 60:.1f} h"
