"""Live progress of a run: a bar that says how far, chips that say what, and each new kind of red as it is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.verdict import GLYPHS, Colour, VerdictKind
from ackgap.report.plain import plain

__all__ = ["LiveProgress"]

_PLAIN_EVERY = 25


class LiveProgress:
    """Shows a campaign while it runs; plain lines where the output is not a terminal.

    Args:
        console: Where to.
        quiet: Show nothing.
    """

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console = console
        self._quiet = quiet
        self._counts: Counter[VerdictKind] = Counter()
        self._seen: set[tuple[str, str]] = set()
        self._total = 0
        self._noted = False
        self._done = 0
        self._task: TaskID | None = None
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[chips]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
            disable=quiet or not console.is_terminal,
        )

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
        if self._console.is_terminal:
            return
        self._say(f"probed {variant}: {len(expectation.points)} crash points")

    def planned(self, cells: int) -> None:
        """Show how many cells there are."""
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
        if not self._console.is_terminal and self._done % _PLAIN_EVERY == 0:
            self._say(f"{self._done} of about {max(self._total, self._done)} cells: {self._chips()}")

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
