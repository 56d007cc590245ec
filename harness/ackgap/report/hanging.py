"""A paragraph with a mark before it: the lines that follow the first one begin where its words do."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

__all__ = ["Hanging"]

_LEAST = 20
"""In less room than that, lines are as long as they are."""


@dataclass(frozen=True, slots=True)
class Hanging:
    """Words that are wrapped at spaces, with nothing but a line end behind them.

    Attributes:
        mark: What stands before the first line; as many spaces stand before the others.
        words: Made harmless already.
        style: Of the words.
        mark_style: Of the mark.
    """

    mark: str
    words: str
    style: str = ""
    mark_style: str = "bright_black"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield its lines."""
        indent = cell_len(self.mark)
        lines = Text(self.words).wrap(console, max(_LEAST, options.max_width - indent), overflow="fold")
        for place, line in enumerate(lines or [Text("")]):
            text = Text(no_wrap=True, overflow="ignore")
            text.append(" " * indent if place else self.mark, style="" if place else self.mark_style)
            text.append(line.plain.rstrip(), style=self.style)
            text.rstrip()
            yield text
