"""SARIF 2.1.0: findings for code scanning, each at the line of the scenario that it is about."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Iterator
from urllib.parse import quote

from ackgap.model.event import Json
from ackgap.model.verdict import Colour, VerdictKind
from ackgap.report.derived import rate_text
from ackgap.report.findings import GAP_CLOSED, Problem, problems_of
from ackgap.report.headline import headline
from ackgap.report.plain import plain, plain_json, replay_command
from ackgap.report.rules import Rule, rule_of
from ackgap.report.store import Run
from ackgap.scenario.words import a_few

__all__ = ["sarif_json"]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "%SRCROOT%"
_NAMED = 5
"""How many cells a message names; all of them are among the result's properties."""
_MARKUP = re.compile(r"([\\\[\]])")
_CLOSED = Rule(
    code=GAP_CLOSED,
    kind=VerdictKind.OK,
    means="A cell is exactly once that the scenario declares not to be.",
    remedy="Remove its [[known_gap]] from the scenario.",
)


def sarif_json(run: Run) -> str:
    """Return the findings of a run as SARIF: one result for each kind, operation and variant, with all of its cells.

    Red is an error; amber, and what proves nothing, a warning; what a known gap declares is there as suppressed.
    Remarks are left out: nothing follows from them.
    """
    problems = problems_of(run)
    rules = {rule.code: rule for rule in map(_rule, problems)}
    places = {code: place for place, code in enumerate(rules)}
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "ackgap",
                        "version": run.info.versions.get("ackgap", "unknown") or "unknown",
                        "rules": [_descriptor(rule) for rule in rules.values()],
                    }
                },
                "automationDetails": {"id": f"ackgap/{run.info.scenario}/"},
                "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
                "invocations": [_invocation(run)],
                "results": [_result(run, problem, places[problem.finding.code]) for problem in problems],
                "properties": {"headline": headline(run), "cells": len(run.cells), "scenario": run.info.scenario},
            }
        ],
    }
    return json.dumps(plain_json(document), indent=1, allow_nan=False) + "\n"


def _rule(problem: Problem) -> Rule:
    return _CLOSED if problem.finding.code == GAP_CLOSED else rule_of(problem.finding)


def _descriptor(rule: Rule) -> Json:
    level = _level(rule.kind)
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.code.split("_")),
        "shortDescription": {"text": _literal(rule.means)},
        "fullDescription": {"text": _literal(f"{rule.means} Verdict: {rule.kind.value}.")},
        "help": {
            "text": _literal(f"{rule.means}\n\n{rule.remedy}"),
            "markdown": _literal(f"{rule.means}\n\n**What to do.** {rule.remedy}", markdown=True),
        },
        "defaultConfiguration": {"level": level},
        "properties": {
            "tags": ["crash-testing", "exactly-once", rule.kind.value],
            "problem.severity": level,
            "precision": "very-high",
        },
    }


def _level(kind: VerdictKind) -> str:
    return "error" if kind.colour in {Colour.RED, Colour.GREEN} else "warning"


def _invocation(run: Run) -> Json:
    invocation: dict[str, Json] = {"executionSuccessful": not run.info.interrupted}
    if run.info.started_at:
        invocation["startTimeUtc"] = _utc(run.info.started_at)
    if run.info.interrupted:
        text = f"The run ended before its time: {len(run.cells)} of {run.info.planned_cells} cells."
        invocation["toolExecutionNotifications"] = [{"level": "error", "message": {"text": text}}]
    return {name: value for name, value in invocation.items() if value is not None}


def _utc(text: str) -> str | None:
    try:
        moment = dt.datetime.fromisoformat(text).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _result(run: Run, problem: Problem, rule: int) -> Json:
    print_ = hashlib.sha256("\0".join([run.info.scenario, *problem.identity]).encode("utf-8", "replace")).hexdigest()
    result: dict[str, Json] = {
        "ruleId": problem.finding.code,
        "ruleIndex": rule,
        "level": _level(problem.kind),
        "message": {"text": _literal("\n".join(map(plain, _message(run, problem))))},
        "locations": [_location(run, problem)],
        "occurrenceCount": len(problem.cells),
        # The second is what GitHub tells alerts apart by: all findings of a variant may stand on one line.
        "partialFingerprints": {"ackgapFinding/v1": print_, "primaryLocationLineHash": f"{print_[:16]}:1"},
        "properties": {
            "verdict": problem.kind.value,
            "variant": str(problem.variant),
            "operation": problem.finding.operation,
            "cells": [cell.cell for cell in problem.cells],
        },
    }
    if problem.known:
        result["suppressions"] = [
            {"kind": "external", "status": "accepted", "justification": f"Known gap. {problem.known}"}
        ]
    return result


def _location(run: Run, problem: Problem) -> Json:
    origin = run.info.origin
    location: dict[str, Json] = {"logicalLocations": [{"fullyQualifiedName": problem.cells[0].cell}]}
    if origin.file:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": quote(origin.file), "uriBaseId": _ROOT},
            "region": {"startLine": origin.line(problem.variant, problem.finding.operation)},
        }
    return location


def _message(run: Run, problem: Problem) -> Iterator[str]:
    finding = problem.finding
    yield finding.summary.rstrip(".") + "."
    names = [f"{cell.cell}{f' in {rate}' if (rate := rate_text(cell)) else ''}" for cell in problem.cells]
    yield f"{len(names)} cell{'' if len(names) == 1 else 's'}: {a_few(names, _NAMED)}."
    if finding.attribution is not None:
        for side, said in finding.attribution.sides:
            yield f"{side}: {said}"
    yield f"again: {replay_command(_prefix(run), problem.cells[0].cell)}"


def _prefix(run: Run) -> str:
    """Return the beginning of the command that runs a cell again, without a directory that only one machine has."""
    prefix = run.info.replay_prefix
    return "ackgap replay DIR" if any(word.lstrip("'\"").startswith("/") for word in prefix.split()) else prefix


def _literal(text: str, *, markdown: bool = False) -> str:
    """Return a text in which neither a placeholder nor a link is read."""
    doubled = text.replace("{", "{{").replace("}", "}}")
    return doubled if markdown else _MARKUP.sub(r"\\\1", doubled)
