"""The hint after a long run."""

from __future__ import annotations

import io

from rich.console import Console

from ackgap.cli.run import _hint


def told(*, cells: int, took_s: float) -> str:
    screen = io.StringIO()
    _hint(Console(file=screen, width=40), cells=cells, took_s=took_s)
    return screen.getvalue().strip()


def test_a_long_run_is_told_what_would_have_made_it_shorter():
    assert told(cells=80, took_s=95.4) == ("80 cells in 95 s; --warm forks Python workers and is several times faster")


def test_a_short_run_is_told_nothing():
    assert told(cells=80, took_s=30.0) == ""
