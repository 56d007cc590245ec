"""What a job of GitHub Actions is told: commands that its runner reads back as they were meant, within its limits."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ackgap.model.gap import KnownGap
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.rate import Rate
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Attribution, Finding, Verdict, VerdictKind
from ackgap.report.annotations import (
    MOST_EACH,
    SUMMARY_LIMIT_BYTES,
    Annotation,
    Level,
    annotations_of,
    capped,
    fitting_summary,
)
from ackgap.report.info import RunInfo
from ackgap.report.origin import Origin
from ackgap.report.plain import plain
from ackgap.report.store import Run, read_run
from ackgap.report.summary import summary_markdown

COMMANDS = {"error", "warning", "notice", "add-mask", "stop-commands", "set-output", "debug", "group", "endgroup"}


def obeyed(line: str) -> tuple[str, dict[str, str], str] | None:
    """Read a line as the runner of a job does: command, properties and data; None where it is only printed.

    Both notations are read: `::name key=value::data` after white space, and `##[name key=value]data` anywhere.
    """
    whole = re.fullmatch(r"\s*::(.*?)::(.*)", line, re.DOTALL)
    if whole is not None:
        name, _, rest = whole[1].partition(" ")
        if name in COMMANDS:
            pairs = (pair.split("=", 1) for pair in rest.strip().split(",") if pair)
            return (
                name,
                {pair[0]: unescaped(pair[1]) for pair in pairs if len(pair) == 2 and pair[1]},
                unescaped(whole[2]),
            )
    old = re.search(r"##\[(.*?)\](.*)", line, re.DOTALL)
    if old is not None and old[1].partition(" ")[0] in COMMANDS:
        return old[1].partition(" ")[0], {}, old[2]
    return None


def unescaped(text: str) -> str:
    for written, meant in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(written, meant)
    return text


def cell(kind: VerdictKind, number: int = 0, **more: Any) -> CellResult:
    finding: dict[str, Any] = {
        "kind": kind,
        "code": kind.value,
        "summary": f"Two tickets {number}",
        "operation": f"tickets.create{number}",
    }
    return CellResult(
        scenario="agent",
        variant=Variant.parse(more.pop("variant", "default")),
        schedule=Schedule.parse("tickets.create#1:applied"),
        verdict=Verdict.of([Finding(**(finding | more))]),
        incarnations=2,
    )


def run(*cells: CellResult, **info: Any) -> Run:
    values: dict[str, Any] = {
        "scenario": "agent",
        "origin": Origin(file="scenarios/agent/scenario.toml", lines={"target tickets": 12}),
        "replay_prefix": "ackgap replay reports/agent",
    }
    found = Run.of(Path("reports/agent"), RunInfo(**(values | info)), cells)
    # Cells of one name count once; here many findings are wanted, not many points.
    return Run(directory=found.directory, info=found.info, cells=cells)


TEXTS = st.text() | st.sampled_from(
    ["::error::x", "a::b", "50%\n##[add-mask]x", "%0A::stop-commands::y", "\r\n", "k=v,w=x", "%3A%2C%25", "]]>", " "]
)


@given(st.sampled_from([*Level]), TEXTS, TEXTS, TEXTS, st.integers(1, 9999))
def test_the_runner_reads_a_command_back_as_it_was_meant(
    level: Level, title: str, message: str, file: str, line: int
) -> None:
    annotation = Annotation(level=level, title=title, message=message, file=plain(file), line=line)
    assert not re.search("[\r\n\x85\u2028\u2029]", annotation.command), "one line"
    read = obeyed(annotation.command)
    assert read is not None
    name, properties, data = read
    assert name == level
    expected = {"file": plain(file), "line": str(line)} if plain(file) else {}
    expected |= {"title": plain(title)[:200]} if plain(title) else {}
    # The runner takes white space off the ends of all properties.
    trimmed = [{key: value.strip() for key, value in each.items() if value.strip()} for each in (properties, expected)]
    assert trimmed[0] == trimmed[1]
    assert data == "\n".join(map(plain, message.split("\n")))[:4000]


def test_red_is_an_error_at_the_target_s_line_with_who_could_have_prevented_it_and_how_to_see_it_again() -> None:
    said = Attribution(worker="sent no idempotency key", fix="Send one.")
    (annotation,) = annotations_of(run(cell(VerdictKind.DUPLICATE, operation="tickets.create", attribution=said)))
    assert (annotation.level, annotation.file, annotation.line) == (Level.ERROR, "scenarios/agent/scenario.toml", 12)
    assert annotation.title == "ackgap: duplicate tickets.create"
    assert annotation.message.splitlines() == [
        "Two tickets 0",
        "1 cell: tickets.create#1:applied@default",
        "worker: sent no idempotency key",
        "fix: Send one.",
        "again: ackgap replay reports/agent 'tickets.create#1:applied@default'",
    ]


@pytest.mark.parametrize(
    ("kind", "level"),
    [
        (VerdictKind.LOST, Level.ERROR),
        (VerdictKind.INCONCLUSIVE, Level.WARNING),
        (VerdictKind.WASTED, Level.WARNING),
        (VerdictKind.IN_DOUBT, Level.WARNING),
    ],
)
def test_what_proves_nothing_and_what_is_amber_is_a_warning(kind: VerdictKind, level: Level) -> None:
    assert [each.level for each in annotations_of(run(cell(kind)))] == [level]


def test_a_known_gap_is_a_notice_with_its_owner() -> None:
    gap = KnownGap(verdict=VerdictKind.DUPLICATE, reason="no keys yet", owner="payments", cell="tickets.*")
    (annotation,) = annotations_of(run(cell(VerdictKind.DUPLICATE), known_gaps=(gap,)))
    assert annotation.level is Level.NOTICE
    assert "A known gap. payments: no keys yet" in annotation.message


def test_one_kind_of_finding_is_one_annotation_over_all_variants(partner_review: Path) -> None:
    mine = read_run(partner_review)
    annotations = annotations_of(mine)
    errors = [each for each in annotations if each.level is Level.ERROR]
    assert {each.title for each in errors} == {"ackgap: duplicate notify.send", "ackgap: duplicate tickets.create"}
    assert len(errors) == 2
    assert any("in 10 variants" in each.message for each in errors)


def test_a_rate_is_told_with_its_cell() -> None:
    schedule = Schedule.parse("kill@tickets.create#1:applied,unsettled=20")
    raced = replace(cell(VerdictKind.DUPLICATE), schedule=schedule, rate=Rate(counts={"duplicate": 3, "ok": 17}))
    (annotation,) = annotations_of(run(raced))
    assert "unsettled=20@default in 3/20" in annotation.message


@pytest.mark.parametrize("count", [MOST_EACH, MOST_EACH + 1, 35])
def test_no_more_than_ten_of_a_level_are_printed_and_the_last_says_what_is_left(count: int) -> None:
    cells = [cell(VerdictKind.DUPLICATE, number) for number in range(count)]
    cells += [cell(VerdictKind.WASTED, number) for number in range(3)]
    annotations = annotations_of(run(*cells))
    assert len(annotations) == count + 3
    shown = list(capped(annotations))
    errors = [each for each in shown if each.level is Level.ERROR]
    assert len(errors) == MOST_EACH
    assert sum(each.level is Level.WARNING for each in shown) == 3
    left = count - MOST_EACH + 1
    if count > MOST_EACH:
        assert errors[-1].title == f"ackgap: {left} more findings"
        assert errors[-1].message.count("ackgap: duplicate") == left
    else:
        assert errors == list(annotations[:count])


def test_a_summary_that_is_too_long_is_cut_at_a_line_and_says_so() -> None:
    text = "".join(f"- line {number} ×2\n" for number in range(90_000))
    assert len(text.encode()) > SUMMARY_LIMIT_BYTES
    for taken in (0, 1, 500_000, SUMMARY_LIMIT_BYTES - 400):
        fitting = fitting_summary(text, taken_bytes=taken)
        assert SUMMARY_LIMIT_BYTES - 200 < taken + len(fitting.encode()) <= SUMMARY_LIMIT_BYTES
        kept, _, said = fitting.partition("\n\n_")
        assert text.startswith(f"{kept}\n")
        assert "The rest is left out" in said
    assert fitting_summary(text, taken_bytes=SUMMARY_LIMIT_BYTES) == ""
    assert fitting_summary("short\n", taken_bytes=SUMMARY_LIMIT_BYTES - 6) == "short\n"


def test_what_a_worker_says_is_obeyed_nowhere(builders: ModuleType) -> None:
    evil = "::add-mask::a\n::stop-commands::b ##[add-mask]c %0A::set-output name=x::y ]]> \x1b[2J\u202e"
    said = Attribution(worker=evil, engine=evil, target=evil, fix=evil)
    bad = cell(VerdictKind.DUPLICATE, summary=evil, operation=evil, code=evil, attribution=said)
    told = run(bad, title=evil, scenario=evil, notes=(evil,), origin=Origin(file=evil))
    lines = [each.command for each in annotations_of(told)]
    assert [obeyed(line)[0] for line in "\n".join(lines).splitlines() if obeyed(line)] == ["error"]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", "".join(lines))
    markdown = summary_markdown(told)
    assert not [line for line in markdown.splitlines() if line.lstrip().startswith("::")]
