"""Cells of a scenario.toml as tests: named, selected and repeated like others, run once, and told in a few lines."""

from __future__ import annotations

import json
import re

import pytest

pytestmark = pytest.mark.slow

APPLIED = "tickets.create#1:applied@default"
SENDING = "tickets.create#1:sending@default"
UNCOVERED = """
[[known_gap]]
point = "mail.*"
verdict = "lost"
reason = "gone"
owner = "eve"
"""
RED = {
    APPLIED,
    "tickets.create#1:returned@default",
    "file.state.json.new.write#1:committing@default",
    "file.state.json.new.write#1:committed@default",
    "file.state.json.replace#1:committing@default",
}
GREEN = {
    "undisturbed@default",
    SENDING,
    "tickets.create#1:received@default",
    "file.state.json.replace#1:committed@default",
}


@pytest.fixture(scope="module")
def listed(user_project):
    """The scenario is there, and its cells have been listed for the first time."""
    user_project.scenario("duplicate-broken", more=UNCOVERED)
    return user_project.pytest("--collect-only", "-q", "-q", "-p", "no:ackgap"), user_project.pytest("--collect-only")


@pytest.fixture(scope="module")
def ran(user_project, listed):
    """The whole scenario has run once."""
    return user_project.pytest("-v", "--durations=0")


def cells(project) -> list[str]:
    return [json.loads(line)["cell"] for line in (project.path / "reports/agent/cells.jsonl").read_text().splitlines()]


def test_without_the_plugin_a_scenario_is_no_test(listed):
    without, _ = listed
    assert without.status == 5, without.out


def test_cells_that_are_not_known_are_learned_while_collecting_and_the_terminal_says_so(listed):
    _, collected = listed
    assert collected.status == 0, collected.out
    assert "9 tests collected" in collected.out
    assert "agent/scenario.toml: running 1 variant undisturbed, each twice" in collected.out


def test_every_cell_is_a_test_that_is_named_after_it(ran):
    assert ran.status == 1, ran.out
    assert {name for name, outcome in ran.outcomes.items() if outcome == "FAILED"} == RED
    assert {name for name, outcome in ran.outcomes.items() if outcome == "PASSED"} == GREEN
    assert "running 1 variant undisturbed" not in ran.out.partition("FAILURES")[0].partition("collected")[0]


def test_a_failure_says_what_happened_twice_where_why_and_how_to_see_it_again(ran):
    text = ran.out.partition("FAILURES")[2]
    first = text[: text.index("\n____", text.index("____ duplicate-broken"))]
    for said in (
        r"duplicate-broken: tickets\.create#1:applied@default",
        r"^duplicate: Two tickets for kind review, partner_id 4471$",
        r"^  killed at  tickets\.create#1:applied@default$",
        r"^  happened   T-0001 in life 1, T-0002 in life 2$",
        r"^  worker   \* sent no idempotency key$",
        r"^  fix        \S",
        r"^  again      ackgap replay reports/agent 'tickets\.create#1:applied@default'$",
        r"^  scenario   agent/scenario\.toml$",
    ):
        assert re.search(said, first, re.MULTILINE), f"{said}\n{first}"
    assert "Traceback" not in ran.out
    assert "Error" not in first


def test_of_cells_that_fail_for_the_same_reason_only_the_first_says_why(ran):
    told = ran.out.partition("short test summary info")[0]  # which in CI has all of it again
    assert told.count("sent no idempotency key") == 1
    assert told.count("why        as at tickets.create#1:applied@default") == len(RED) - 1


def test_a_second_collection_learns_nothing_and_imports_nothing_heavy(user_project, ran):
    user_project.write(
        "probe.py",
        "import sys\n\ndef pytest_unconfigure():\n"
        "    heavy = ('pydantic', 'psutil', 'rich', 'h11', 'httpx', 'asyncio', 'ackgap.matrix_run', 'ackgap.session')\n"
        "    print('heavy:', [name for name in heavy if name in sys.modules])\n",
    )
    # Other plugins of the environment import what they like; they are left out, so that only ours is seen.
    arguments = ("-q", "--collect-only", "-p", "probe", "-p", "no:anyio", "-p", "no:hypothesispytest", "-s")
    found = user_project.pytest(*arguments, "-p", "no:langsmith_plugin", "-p", "no:xdist")
    assert "9 tests collected" in found.out, found.out
    assert "heavy: []" in found.out
    assert "undisturbed, each twice" not in found.out


def test_one_cell_by_its_id_runs_that_cell_alone_and_leaves_the_other_results_in_place(user_project, ran):
    before = cells(user_project)
    found = user_project.pytest("-v", f"agent/scenario.toml::{SENDING}")
    assert found.outcomes == {SENDING: "PASSED"}, found.out
    assert cells(user_project)[len(before) :] == [SENDING]
    summary = (user_project.path / "reports/agent/summary.md").read_text()
    assert "duplicate **5**" in summary


def test_cells_are_selected_by_words_of_their_names_and_run_as_selected(user_project, ran):
    before = cells(user_project)
    found = user_project.pytest("-v", "-k", "tickets and (received or returned)")
    assert found.outcomes == {
        "tickets.create#1:received@default": "PASSED",
        "tickets.create#1:returned@default": "FAILED",
    }
    assert sorted(cells(user_project)[len(before) :]) == sorted(found.outcomes)


def test_the_last_failed_cells_are_repeated_by_workers_of_xdist_into_one_directory(user_project, ran):
    before = cells(user_project)
    found = user_project.pytest("--lf", "-n", "2", "-rA")
    assert {name for name, outcome in found.outcomes.items() if outcome == "FAILED"} == RED, found.out
    assert sorted(cells(user_project)[len(before) :]) == sorted(RED)
    assert found.out.count("ackgap: agent/scenario.toml: a known gap covers no cell: mail.*") == 1
    assert len(re.findall(r"^ackgap: reports/agent/report.html$", found.out, re.MULTILINE)) == 1


def test_after_the_first_failure_nothing_more_is_begun_with_exitfirst(user_project, ran):
    before = cells(user_project)
    found = user_project.pytest("-v", "-x", "--ackgap-jobs", "1")
    assert list(found.outcomes.values()).count("FAILED") == 1, found.out
    assert APPLIED in cells(user_project)[len(before) :]
    assert len(cells(user_project)) - len(before) == len(found.outcomes)


def test_a_red_verdict_stands_when_the_test_is_rerun(user_project, ran):
    before = cells(user_project)
    found = user_project.pytest("-v", "--reruns", "2", "--timeout", "120", f"agent/scenario.toml::{APPLIED}")
    assert found.status == 1, found.out
    assert "1 failed, 2 rerun" in found.out
    assert cells(user_project)[len(before) :] == [APPLIED]


def test_cells_are_learned_anew_once_the_worker_has_changed(user_project, ran):
    worker = user_project.path / "agent" / "worker.py"
    worker.write_text(f"{worker.read_text()}\n# another worker\n")
    found = user_project.pytest("--collect-only", "-q", "-v")
    assert "running 1 variant undisturbed, each twice" in found.out
