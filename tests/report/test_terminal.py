from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

from ackgap.model.boundary import CrashPoint
from ackgap.model.matrix import Variant
from ackgap.model.schedule import Schedule
from ackgap.report.store import read_run
from ackgap.report.terminal import make_console, print_run
from ackgap.report.timeline import render_timeline


def printed(directory: Path, width: int = 80) -> list[str]:
    stream = io.StringIO()
    print_run(make_console(stream), read_run(directory), width=width)
    return stream.getvalue().splitlines()


def test_the_matrix_fits_eighty_columns_and_shows_the_gap(partner_review: Path) -> None:
    lines = printed(partner_review)
    start = next(place for place, line in enumerate(lines) if line.startswith("killed at"))
    end = next(place for place, line in enumerate(lines) if line.startswith("×2 duplicate 61"))
    assert all(len(line.rstrip()) <= 80 for line in lines[start:end])
    assert sum(line.startswith("┏━ acknowledgment gap") for line in lines) == 3
    row = next(line for line in lines if "tickets.create#1" in line and "returned" in line)
    assert row.startswith("┃ ● tickets.create#1")
    assert row.split()[-6:] == ["×2", "×2", "×2", "×2", "×2", "✓"]


def test_numbered_columns_have_a_legend_and_folded_axes_are_named(partner_review: Path) -> None:
    lines = printed(partner_review)
    assert "  6  fixed    key" in [line.rstrip() for line in lines]
    assert "Folded into each column: Durability." in lines


def test_each_kind_of_finding_appears_once_with_its_fix_and_one_replay(partner_review: Path) -> None:
    lines = printed(partner_review)
    assert sum(line.startswith("×2 duplicate  ") for line in lines) == 3
    again = [line for line in lines if line.startswith("   again  ")]
    assert (
        "   again  ackgap replay reports/partner-review "
        "'tickets.create#1:returned@durability=exit,key=none,protection=none'"
    ) in again
    assert len(again) == 3
    assert any(line.startswith("   fix    Choose the key before") for line in lines)


def test_output_that_is_no_terminal_has_no_escapes(partner_review: Path) -> None:
    assert "\x1b" not in "\n".join(printed(partner_review))


def test_no_color_is_honoured_on_a_terminal(partner_review: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, highlight=False)
    print_run(console, read_run(partner_review))
    assert "\x1b[31m" not in stream.getvalue()
    assert ";31m" not in stream.getvalue()


def test_a_timeline_tells_both_lives_in_order(builders: ModuleType) -> None:
    variant = Variant(values=(("durability", "sync"), ("key", "none"), ("protection", "none")))
    point = CrashPoint.parse("tickets.create#1:applied")
    result = builders.cell(variant, Schedule.kill(point, down_s=72 * 3600))
    stream = io.StringIO()
    make_console(stream).print(render_timeline(result))
    text = stream.getvalue().partition("\n")[2]
    expected = [
        "Life 1",
        "recorded: langgraph.put.step3#1",
        "tickets.create#1: POST /tickets, no key",
        "tickets made T-101",
        "kill@tickets.create#1:applied",
        "gets no answer: its life is over",
        "killed by ackgap, signal 9",
        "Life 2  (pid 4014), 3 d later by the targets' clock",
        "tickets made T-102 (again)",
        "×2 duplicate",
        "Two tickets for partner 4471",
    ]
    places = [text.find(part) for part in expected]
    assert -1 not in places
    assert places == sorted(places)


def test_a_timeline_without_history_says_so(builders: ModuleType) -> None:
    result = replace(builders.cell(builders.variants()[0], Schedule()), history=())
    stream = io.StringIO()
    make_console(stream).print(render_timeline(result))
    assert "No history was kept" in stream.getvalue()
