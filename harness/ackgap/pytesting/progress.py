"""What a person sees while something runs for long: a live line in a terminal, lines elsewhere, nothing when not asked.

Written beside pytest's capturing, as its own live logs are. A worker of pytest-xdist has no terminal; what is worth
saying there goes to standard error.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.verdict import GLYPHS, VerdictKind
from ackgap.report.plain import plain

__all__ = ["Following", "Voice"]

_LINE_EVERY_S = 5.0
_LIVE_EVERY_S = 0.1
_LEAST_WIDTH = 40


class Voice:
    """Says something on pytest's terminal, whatever is captured meanwhile.

    Args:
        config: Of pytest.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._capture: Any = config.pluginmanager.get_plugin("capturemanager")
        self._quiet = config.option.verbose < -1
        self._shown = False

    @property
    def live(self) -> bool:
        """Whether a line can be written over again."""
        return bool(self._reporter is not None and not self._quiet and self._reporter.isatty)

    @property
    def verbose(self) -> bool:
        """Whether somebody wants to read along: `-v`, or `-s`."""
        return bool(self._config.option.verbose > 0 or self._config.getoption("capture", "fd") == "no")

    def say(self, text: str) -> None:
        """Write a line that stays."""
        if self._quiet:
            return
        with self._beside_capturing():
            if self._reporter is None:
                print(f"ackgap: {plain(text)}", file=sys.__stderr__, flush=True)
                return
            self.clear()
            self._begin_line()
            self._reporter.write_line(f"ackgap: {plain(text)}")
            self._reporter.flush()

    def show(self, text: str) -> None:
        """Write over the live line, where there can be one."""
        if not self.live:
            return
        with self._beside_capturing():
            if not self._shown:
                self._begin_line()
            self._shown = True
            room = max(_LEAST_WIDTH, self._reporter._tw.fullwidth - 1)
            self._reporter.rewrite(f"ackgap: {plain(text)}"[:room], erase=True)
            self._reporter.flush()

    def clear(self) -> None:
        """Remove the live line."""
        if self._shown:
            self._shown = False
            with self._beside_capturing():
                self._reporter.rewrite("", erase=True)
                self._reporter.rewrite("")

    def _begin_line(self) -> None:
        self._reporter.ensure_newline()
        if self._reporter._tw.width_of_current_line:  # "collecting ..."
            self._reporter._tw.line()

    @contextlib.contextmanager
    def _beside_capturing(self) -> Iterator[None]:
        if self._capture is None:
            yield
            return
        with self._capture.global_and_fixture_disabled():
            yield


class Following:
    """Follows a run of cells, as a campaign's listener.

    Args:
        voice: What it is said with.
        name: Of what runs.
        always: Say what begins also where nobody asked to read along.
        counts: Count cells; not where there are only undisturbed runs.
    """

    def __init__(self, voice: Voice, name: str, *, always: bool = False, counts: bool = True) -> None:
        self._counting = counts
        self._voice = voice
        self._name = name
        self._lines = voice.verbose or always
        self._counts: Counter[VerdictKind] = Counter()
        self._total = 0
        self._done = 0
        self._told_s = time.monotonic()

    def began(self, variants: Sequence[Variant], isolated: bool) -> None:  # noqa: ARG002
        """Say that undisturbed runs begin."""
        count = "1 variant" if len(variants) == 1 else f"{len(variants)} variants"
        self._tell(f"{self._name}: running {count} undisturbed, each twice")

    def probed(self, variant: Variant, expectation: Expectation) -> None:
        """Say what an undisturbed run showed."""
        self._voice.show(f"{self._name}: {variant} has {len(expectation.points)} crash points")

    def planned(self, cells: int) -> None:
        """Know how many cells there are."""
        self._total = cells

    def noted(self, text: str) -> None:
        """Leave notes to the report."""

    def finished(self, result: CellResult) -> None:
        """Count a verdict."""
        if not self._counting:
            return
        self._done += 1
        self._counts[result.verdict.kind] += 1
        now_s = time.monotonic()
        every_s = _LIVE_EVERY_S if self._voice.live else _LINE_EVERY_S
        if now_s - self._told_s >= every_s:
            self._told_s = now_s
            chips = "  ".join(f"{GLYPHS[kind]} {self._counts[kind]}" for kind in VerdictKind if self._counts[kind])
            self._tell(f"{self._name}: {self._done} of about {max(self._total, self._done)} cells  {chips}", again=True)

    def ended(self) -> None:
        """Leave the terminal as it was."""
        self._voice.clear()

    def _tell(self, text: str, *, again: bool = False) -> None:
        if self._voice.live and (again or not self._lines):
            self._voice.show(text)
        elif self._lines:
            self._voice.say(text)
