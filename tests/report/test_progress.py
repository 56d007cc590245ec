"""What a run says of itself while it runs: on a terminal a bar, elsewhere a line now and then."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from ackgap.cli.progress import LiveProgress
from ackgap.model.expectation import Expectation
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Finding, Verdict, VerdictKind
from ackgap.report.console import make_console


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def result(kind: VerdictKind = VerdictKind.OK, summary: str = "so it was", variant: str = "default") -> CellResult:
    return CellResult(
        scenario="s",
        variant=Variant.parse(variant),
        schedule=Schedule(),
        verdict=Verdict.of([Finding(kind=kind, code=kind.value, summary=summary, operation="tickets.create")]),
        incarnations=2,
    )


def test_a_file_gets_a_line_now_and_then_with_the_expected_end() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = LiveProgress(make_console(stream), clock=clock)
    with progress:
        progress.began([Variant()], True)
        progress.probed(Variant(), Expectation(points=("a#1:applied",)))
        progress.planned(100)
        for _ in range(40):
            clock.now_s += 1.0
            progress.finished(result())
    lines = stream.getvalue().splitlines()
    assert lines[:3] == [
        "probing 1 variant, each twice, undisturbed",
        "probed default: 1 crash point",
        "crashing it in 100 cells",
    ]
    assert lines[3] == "10 of about 100 cells, about 2 min left: ✓ 10"
    assert len(lines) == 7
    assert lines[-1] == "40 of about 100 cells, about 60 s left: ✓ 40"
    assert "\x1b" not in stream.getvalue()


def test_a_quick_run_has_no_lines_that_say_only_how_far_it_is() -> None:
    stream = io.StringIO()
    progress = LiveProgress(make_console(stream), clock=Clock())
    with progress:
        progress.planned(300)
        for _ in range(300):
            progress.finished(result())
    assert "of about" not in stream.getvalue()


def test_each_new_kind_of_red_is_told_once_and_harmlessly() -> None:
    stream = io.StringIO()
    progress = LiveProgress(make_console(stream), clock=Clock())
    with progress:
        progress.planned(3)
        for number in range(3):
            progress.finished(result(VerdictKind.DUPLICATE, f"Two \x1b[31mtickets\u202e {number}"))
    assert stream.getvalue().count("duplicate") == 1
    assert r"Two \x1b[31mtickets\u202e 0" in stream.getvalue()


def test_quiet_says_nothing() -> None:
    stream = io.StringIO()
    progress = LiveProgress(make_console(stream), quiet=True)
    with progress:
        progress.began([Variant()], True)
        progress.planned(1)
        progress.finished(result(VerdictKind.LOST))
    assert stream.getvalue() == ""


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_terminal_has_one_line_that_fits_and_says_how_long_it_will_take(width: int) -> None:
    stream = Terminal()
    console = Console(file=stream, force_terminal=True, width=width, height=30, highlight=False)
    progress = LiveProgress(console)
    with progress:
        progress.planned(12_000)
        for kind in VerdictKind:
            progress.finished(result(kind, variant="default"))
        progress._progress.refresh()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    last = [line for line in re.split(r"[\r\n]+", text) if "crashing" in line][-1]
    assert len(last.rstrip()) <= width
    assert "10/12000" in last
    assert re.search(r"\d:\d\d left +×2 1", last)
    assert width < 120 or "– 1" in last


def test_colours_that_are_forced_into_a_file_bring_no_bar_that_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream, clock = io.StringIO(), Clock()
    progress = LiveProgress(make_console(stream), clock=clock)
    with progress:
        progress.planned(2)
        clock.now_s += 20
        progress.finished(result(VerdictKind.LOST))
    assert "1 of about 2 cells, about 20 s left" in stream.getvalue()
    assert "\x1b[1;31m" in stream.getvalue()
    assert not re.search(r"\x1b\[\d*[AK]|\x1b\[\?25l", stream.getvalue())


def test_a_terminal_that_knows_nothing_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    progress = LiveProgress(make_console(stream), clock=Clock())
    with progress:
        progress.planned(2)
    assert "crashing it in 2 cells" in stream.getvalue()
