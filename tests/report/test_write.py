from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

from ackgap.errors import ResultsInvalid
from ackgap.model.event import Json
from ackgap.model.matrix import CellResult
from ackgap.model.verdict import VerdictKind
from ackgap.report.plain import plain, plain_block, plain_json, shortened
from ackgap.report.store import read_run
from ackgap.report.write import HTML_FILE, JUNIT_FILE, SUMMARY_FILE, write_reports

REPORTS = (HTML_FILE, JUNIT_FILE, SUMMARY_FILE)
HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> "
    "\x1b[2J\u202eevil\u2066 `|` $(rm) ]]> &amp;\ufffe\x00"
)


def test_reports_made_again_from_the_files_equal_the_first(partner_review: Path, tmp_path: Path) -> None:
    for name in ("run.json", "cells.jsonl", "histories.jsonl"):
        shutil.copy(partner_review / name, tmp_path / name)
    write_reports(tmp_path)
    for name in REPORTS:
        assert (tmp_path / name).read_bytes() == (partner_review / name).read_bytes(), name


@pytest.mark.slow
def test_the_order_in_which_cells_finished_does_not_change_the_reports(
    builders: ModuleType, partner_review: Path, tmp_path: Path
) -> None:
    write_reports(builders.write(tmp_path / "run", cells=builders.results()[::-1]))
    for name in REPORTS:
        assert (tmp_path / "run" / name).read_bytes() == (partner_review / name).read_bytes(), name


def test_a_directory_without_results_gets_no_reports(tmp_path: Path) -> None:
    with pytest.raises(ResultsInvalid):
        write_reports(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_cells_still_has_reports(builders: ModuleType, tmp_path: Path) -> None:
    write_reports(builders.write(tmp_path / "run", cells=[]))
    assert "No cell was run" in (tmp_path / "run" / SUMMARY_FILE).read_text(encoding="utf-8")


def test_junit_has_a_case_a_cell_and_a_failure_a_red_one(partner_review: Path) -> None:
    root = ET.fromstring((partner_review / JUNIT_FILE).read_text(encoding="utf-8"))
    (suite,) = root.iter("testsuite")
    cases = list(root.iter("testcase"))
    failures = list(root.iter("failure"))
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("288", "61", "0")
    assert (len(cases), len(failures)) == (288, 61)
    assert failures[0].get("message") == "Two tickets for partner 4471"
    assert "again: ackgap replay reports/partner-review" in (failures[0].text or "")
    assert "fix: Choose the key" in (failures[0].text or "")


def test_junit_counts_a_cell_that_proves_nothing_as_an_error(builders: ModuleType, tmp_path: Path) -> None:
    grey = builders.with_finding(builders.results()[1], VerdictKind.INCONCLUSIVE, "the kill did not land")
    write_reports(builders.write(tmp_path / "run", cells=[grey]))
    root = ET.fromstring((tmp_path / "run" / JUNIT_FILE).read_text(encoding="utf-8"))
    (error,) = root.iter("error")
    assert error.get("message") == "the kill did not land"


def test_the_summary_is_a_table_with_the_gap_marked_and_every_red_kind(partner_review: Path) -> None:
    lines = (partner_review / SUMMARY_FILE).read_text(encoding="utf-8").splitlines()
    assert lines[2] == "**A crash after the ticket is created makes a second one in 10 of 12 variants.**"
    widths = {line.count("|") for line in lines if line.startswith("|")}
    assert widths == {14}
    (row,) = [line for line in lines if line.startswith("| ┃ `tickets.create#1:applied` |")]
    assert row.split(" | ")[1:] == [*["**×2**"] * 5, "✓", *["**×2**"] * 5, "✓ |"]
    assert any("again: `ackgap replay reports/partner-review" in line for line in lines)


class _Scripts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def hostile_cells(builders: ModuleType) -> list[CellResult]:
    def poison(value: Json) -> Json:
        if isinstance(value, dict):
            return {key: poison(item) for key, item in value.items()} | {HOSTILE: HOSTILE}
        if isinstance(value, list):
            return [poison(item) for item in value]
        return HOSTILE if isinstance(value, str) else value

    cells = []
    for result in builders.results()[:40]:
        history = tuple(
            dict(event) | {name: poison(event[name]) for name in ("payload", "content", "path", "key") if name in event}
            for event in result.history
        )
        finding = builders.with_finding(result, VerdictKind.DUPLICATE, HOSTILE, HOSTILE)
        cells.append(replace(finding, history=history))
    return cells


def test_hostile_content_stays_text_in_every_report(builders: ModuleType, tmp_path: Path) -> None:
    directory = builders.write(
        tmp_path / "run", cells=hostile_cells(builders), title=HOSTILE, about=HOSTILE, notes=(HOSTILE,)
    )
    write_reports(directory)
    for name in REPORTS:
        text = (directory / name).read_text(encoding="utf-8")
        assert not re.search("[\x00\x1b\u202e\u2066\ufffe]", text), name
    page = _Scripts()
    page.feed((directory / HTML_FILE).read_text(encoding="utf-8"))
    kinds = [attributes.get("type") for tag, attributes in page.tags if tag == "script"]
    assert kinds == ["application/json", None, *["text/plain"] * 40]
    assert not [tag for tag, _ in page.tags if tag == "img"]
    ET.fromstring((directory / JUNIT_FILE).read_text(encoding="utf-8"))
    summary = (directory / SUMMARY_FILE).read_text(encoding="utf-8")
    assert "<script>" not in re.sub("(`+).*?\\1", "", summary)


def test_the_page_loads_nothing(partner_review: Path) -> None:
    text = (partner_review / HTML_FILE).read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    page = _Scripts()
    page.feed(text)
    for tag, attributes in page.tags:
        assert "src" not in attributes, tag
        if tag == "link":
            assert attributes["href"] == "data:,"
    assert "@import" not in text
    assert "url(" not in text


def test_unsafe_characters_become_visible_escapes() -> None:
    assert plain("a\x1b[31m\r\nb\u202ec\ud800") == "a\\x1b[31m b\\u202ec\\ud800"
    assert plain_block("a\nb\tc\x07") == "a\nb\tc\\x07"
    assert plain_json({"k\x1b": ["\u2067", 1, None]}) == {"k\\x1b": ["\\u2067", 1, None]}


def test_long_names_are_cut_in_the_middle() -> None:
    assert shortened("langgraph.put_writes.file_ticket#1", 20) == "langgr…file_ticket#1"
    assert len(shortened("x" * 99, 20)) == 20


def test_a_history_may_hold_a_megabyte(builders: ModuleType, tmp_path: Path) -> None:
    result = builders.results()[1]
    big = replace(
        result, history=(*result.history, {"kind": "note", "seq": 999, "at_s": 1.0, "code": "x", "text": "y" * 2**20})
    )
    directory = builders.write(tmp_path / "run", cells=[big])
    write_reports(directory)
    assert json.loads((directory / "histories.jsonl").read_text())["history"][-1]["seq"] == 999
    assert len(read_run(directory).history_json(big.cell)) == len(big.history)


def test_every_character_that_is_escaped_is_suspected_in_json() -> None:
    from ackgap.report.packing import _SUSPECT

    escaped = [chr(code) for code in range(0x110000) if plain_block(chr(code)) != chr(code)]
    assert len(escaped) > 2000
    assert [character for character in escaped if not _SUSPECT.search(json.dumps(character))] == []
