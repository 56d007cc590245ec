"""A worker for each official client, in the matrix: its verdicts, and whom they are laid at the door of.

What the verdicts should be is in an `expected.json` beside each scenario, checked by hand: its README says why.
"""

from __future__ import annotations

import importlib.util
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ackgap.matrix_run import MatrixRun, run_matrix

SCENARIOS = Path(__file__).parents[2] / "scenarios"
NAMES = [
    "stripe-charge",
    *(f"clients/{path.parent.name}" for path in sorted(SCENARIOS.glob("clients/*/scenario.toml"))),
]
PAIRS = [
    ("stripe-charge", "stripe.charges.create", ("wording=fixed", "key=fresh,stable")),
    ("clients/sqs", "sqs.messages.send", ("id=fresh,stable",)),
    ("clients/dynamodb", "dynamodb.transactions.write", ("write=token-made-up,token-own",)),
]
"""Scenario, operation that is killed once it is applied, a broken and a fixed variant."""


def needs_its_client(name: str) -> None:
    worker = tomllib.loads((SCENARIOS / name / "scenario.toml").read_text())["worker"]
    missing = [module for module in worker["requires"] if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: {worker['requires_hint']}")


def run(name: str, path: Path, **options: Any) -> MatrixRun:
    needs_its_client(name)
    return run_matrix(SCENARIOS / name, root=path, directory=path / "out", warm=True, **options)


def expected(name: str) -> dict[str, str]:
    verdicts: dict[str, str] = json.loads((SCENARIOS / name / "expected.json").read_text())
    return verdicts


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_verdicts_of_a_worker_on_an_official_client(name, tmp_path):
    assert run(name, tmp_path, slice_name="story").verdicts == expected(name)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "operation", "only"), PAIRS, ids=[name for name, *_ in PAIRS])
def test_a_key_that_each_life_makes_anew_is_the_worker_s_fault_and_the_fixed_worker_has_none(
    name, operation, only, tmp_path
):
    found = run(name, tmp_path, only=only, schedules=[f"{operation}#1:applied"])
    known = expected(name)
    assert {cell: known.get(cell, verdict) for cell, verdict in found.verdicts.items()} == found.verdicts
    broken, fixed = sorted((cell for cell in found.cells if cell.schedule.faults), key=lambda cell: cell.verdict.kind)
    assert (broken.verdict.kind, fixed.verdict.kind) == ("duplicate", "ok")
    assert "unstable_key" in [finding.code for finding in broken.findings]
    assert "unstable_key" not in [finding.code for finding in fixed.findings]
    (duplicate,) = [finding for finding in broken.findings if finding.code == "duplicate"]
    attribution = duplicate.attribution
    assert attribution is not None
    assert (attribution.key_sent, attribution.key_stable, attribution.target_honours_keys) == (True, False, True)
    assert attribution.preventable_by == ("worker",)
    assert attribution.worker == "sent another idempotency key each time"  # and the same payload


@pytest.mark.parametrize("name", NAMES)
def test_each_scenario_has_a_worker_that_fails_and_one_that_gets_through_the_same_kill(name):
    by_kill: dict[str, set[str]] = {}
    for cell, verdict in expected(name).items():
        by_kill.setdefault(cell.rpartition("@")[0], set()).add(verdict)
    assert by_kill.pop("undisturbed") == {"ok"}
    assert any("ok" in verdicts and verdicts & {"duplicate", "stuck"} for verdicts in by_kill.values())


def test_what_a_client_does_by_itself_makes_the_difference_between_a_lost_answer_and_a_restart():
    """Read from the files, which a slow test compares with runs."""
    dynamodb = expected("clients/dynamodb")
    assert dynamodb["lose@dynamodb.transactions.write#1:applied@write=token-made-up"] == "ok"
    assert dynamodb["dynamodb.transactions.write#1:applied@write=token-made-up"] == "duplicate"
    assert expected("clients/sqs")["lose@sqs.messages.send#1:applied@id=standard"] == "duplicate"
    assert expected("clients/s3")["lose@s3.objects.put#1:applied@write=if-none-match"] == "stuck"
    for name, call, broken in (
        ("openai", "model.responses", "journal=forgets"),
        ("anthropic", "model.messages", "key=tool-use-id"),
    ):
        verdicts = expected(f"clients/{name}")
        assert verdicts[f"lose@{call}#2:applied@{broken},answer=stream"] == "ok"
        assert verdicts[f"lose@{call}#2:stream_half@{broken},answer=stream"] == "duplicate"


def test_stripe_s_window_and_rewording_come_out_as_they_must():
    verdicts = expected("stripe-charge")
    after = "stripe.charges.create#1:applied"
    later = f"kill@{after},down=3d"
    assert verdicts[f"{after}@key=stable,wording=fixed"] == "ok"
    assert verdicts[f"{later}@key=stable,wording=fixed"] == "duplicate"
    assert verdicts[f"{after}@key=stable,wording=model"] == "stuck"
    assert verdicts[f"{after}@key=stable-asks,wording=model"] == "in_doubt"
    assert verdicts[f"{after}@key=fresh,wording=model"] == "duplicate"
