"""Known gaps of a scenario in pytest: expected failures with reason and owner; failures once they close or change."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

GAPS = """
[[known_gap]]
point = ["tickets.create#1:*"]
verdict = "duplicate"
reason = "no key yet"
owner = "ada"

[[known_gap]]
cell = "file.state.json.replace#1:committing@*"
verdict = "lost"
reason = "it was so"
owner = "bob"

[[known_gap]]
point = "mail.*"
verdict = "lost"
reason = "gone"
owner = "eve"
"""


@pytest.fixture(scope="module")
def ran(user_project):
    user_project.scenario("duplicate-broken", more=GAPS)
    return user_project.pytest("-rA", randomly=True)


def test_cells_run_in_whatever_order_another_plugin_puts_them(ran):
    assert "Using --randomly-seed" in ran.out
    assert len(ran.outcomes) == 9


def test_a_gap_that_is_as_declared_is_an_expected_failure_with_owner_and_reason(ran):
    assert "tickets.create#1:applied@default - known gap, ada: no key yet" in ran.out
    assert ran.outcomes["tickets.create#1:applied@default"] == "XFAIL"


def test_a_gap_that_closes_or_changes_is_a_failure(ran):
    assert ran.status == 1
    assert ran.outcomes["tickets.create#1:sending@default"] == "FAILED"
    assert (
        "tickets.create#1:sending@default: the known gap is closed: it was declared duplicate and is exactly once"
        in (ran.out)
    )
    assert ran.outcomes["file.state.json.replace#1:committing@default"] == "FAILED"
    assert "the known gap has changed: it was declared lost and is duplicate. bob: it was so" in ran.out


def test_a_gap_that_covers_no_cell_is_named_at_the_end(ran):
    assert ran.out.count("agent/scenario.toml: a known gap covers no cell: mail.*") == 1


def test_runxfail_fails_on_known_gaps_too(user_project, ran):
    found = user_project.pytest("-v", "--runxfail", "agent/scenario.toml::tickets.create#1:applied@default")
    assert found.outcomes == {"tickets.create#1:applied@default": "FAILED"}
