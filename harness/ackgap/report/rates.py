"""Rates of the cells that race the worker, as lines of text: a sign in the matrix says only that they were raced."""

from __future__ import annotations

from collections.abc import Iterator

from ackgap.model.verdict import Colour
from ackgap.report.store import Run

__all__ = ["rate_lines"]

_MOST = 12


def rate_lines(run: Run) -> Iterator[str]:
    """Yield, for each cell that was raced, how often the verdict that is shown came out; red ones first."""
    raced = [result for result in run.cells if result.rate is not None]
    raced.sort(key=lambda result: result.verdict.kind.colour is not Colour.RED)
    for result in raced[:_MOST]:
        assert result.rate is not None
        kind = result.verdict.kind
        yield f"{result.cell}: {kind.words} in {result.rate.in_words(kind)}"
    if len(raced) > _MOST:
        yield f"and {len(raced) - _MOST} more in report.html"
