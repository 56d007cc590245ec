"""The marker, and the fixtures crash_cell, crash_matrix and ackgap_target, as a user's tests meet them."""

from __future__ import annotations

import json
import re

import pytest

pytestmark = pytest.mark.slow

TESTS = """
import json
import urllib.request

import pytest

FIRST = []


@pytest.mark.crash_matrix("agent", points=["tickets.create#1:sending", "*:applied"])
def test_asserted_for_it():
    FIRST.append("called")


@pytest.mark.crash_matrix("agent", points=["tickets.create#1:applied"])
def test_looks_itself(crash_cell):
    if crash_cell.row == "undisturbed":
        return
    assert (crash_cell.cell, crash_cell.verdict) == ("tickets.create#1:applied@default", "duplicate")
    assert [effect.incarnation for effect in crash_cell.history.effects] == [1, 2]
    assert crash_cell.effects == {"tickets.create": 2}
    with pytest.raises(AssertionError, match="Two tickets"):
        crash_cell.assert_exactly_once()
    crash_cell.assert_exactly_once(allow=["duplicate"])


@pytest.mark.crash_matrix("agent", points=["tickets.create#1:applied"], allow=["duplicate"])
class TestOfAClass:
    @pytest.mark.parametrize("number", [1, 2])
    def test_beside_other_parameters(self, number): ...


def test_without_a_marker(crash_cell): ...


@pytest.mark.skip(reason="not now")
@pytest.mark.crash_matrix("no such scenario")
def test_skipped(): ...


def test_of_a_matrix(crash_matrix):
    crash_matrix("agent", points=["tickets.create#1:applied"]).assert_exactly_once()
"""
TARGETS = """
import json
import urllib.request

import pytest


def post(url, body, **headers):
    data = json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


TICKET = {"partner_id": "4471", "kind": "review", "title": "Review"}


def test_a_ledger_tells_what_reached_the_service(ackgap_target):
    desk = ackgap_target("case-management", name="desk", protection="none")
    assert desk.env["DESK_URL"] == desk.url
    post(f"{desk.url}/tickets", TICKET)
    assert (len(desk.attempts), len(desk.effects), desk.repeated) == (1, 1, ())
    post(f"{desk.url}/tickets", TICKET)
    (again,) = desk.repeated
    assert "desk.create" in again
    desk.reset()
    assert desk.effects == ()
    assert desk.ledger["totals"]["attempts"] == 0


def test_a_key_is_forgotten_once_its_time_is_over(ackgap_target):
    desk = ackgap_target("case-management", protection="idempotency-key")
    for _ in range(2):
        post(f"{desk.url}/tickets", TICKET, **{"Idempotency-Key": "one"})
    assert len(desk.effects) == 1
    desk.forward("100d")
    post(f"{desk.url}/tickets", TICKET, **{"Idempotency-Key": "one"})
    assert len(desk.effects) == 2


def test_two_at_once(ackgap_target):
    one, two = ackgap_target("any", name="one"), ackgap_target("any", name="two")
    assert one.url != two.url
    one.stop()
    with pytest.raises(OSError):
        post(one.url, {})


def test_a_mistake_is_told(ackgap_target):
    with pytest.raises(Exception, match="did you mean 'stripe'"):
        ackgap_target("strip")
"""


@pytest.fixture(scope="module")
def ran(user_project):
    user_project.scenario("duplicate-broken")
    user_project.write("test_agent.py", TESTS)
    return user_project.pytest("-rA", "-v", "-p", "no:cacheprovider", "--reruns", "1", "test_agent.py")


def test_a_test_that_does_not_look_at_its_cell_fails_with_it(ran):
    assert ran.outcomes["test_asserted_for_it[tickets.create#1:sending@default]"] == "PASSED"
    assert ran.outcomes["test_asserted_for_it[tickets.create#1:applied@default]"] == "FAILED"
    text = ran.out.partition("FAILURES")[2]
    assert "duplicate: Two tickets for kind review, partner_id 4471" in text
    assert "Traceback" not in text


def test_a_test_that_asks_for_its_cell_sees_verdict_effects_and_history(ran):
    assert ran.outcomes["test_looks_itself[tickets.create#1:applied@default]"] == "PASSED", ran.out


def test_a_marker_of_a_class_goes_with_other_parameters_and_lets_verdicts_pass(ran):
    names = [name for name in ran.outcomes if "test_beside_other_parameters" in name and "applied" in name]
    assert len(names) == 2
    assert {ran.outcomes[name] for name in names} == {"PASSED"}


def test_cells_that_several_tests_are_about_run_once_and_stay_red_when_rerun(ran, user_project):
    lines = (user_project.path / "reports/agent/cells.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["cell"] for line in lines) == [
        "tickets.create#1:applied@default",
        "tickets.create#1:sending@default",
        "undisturbed@default",
    ]


def test_the_fixture_alone_says_that_a_marker_is_missing(ran):
    assert "crash_cell needs to be told of which scenario" in ran.out


def test_a_skipped_test_has_nothing_learned(ran):
    assert "1 skipped" in ran.out
    assert "no such scenario" not in ran.out.partition("short test summary")[0]


def test_a_red_matrix_is_not_run_again_when_its_test_is_rerun(ran):
    assert ran.outcomes["test_of_a_matrix"] == "FAILED"
    assert len(re.findall(r"^ackgap: agent: running 1 variant undisturbed", ran.out, re.MULTILINE)) == 1


def test_fake_services_alone(user_project):
    user_project.write("test_targets.py", TARGETS)
    found = user_project.pytest("-q", "test_targets.py", "--timeout", "60")
    assert "4 passed" in found.out, found.out


MISTAKES = {
    '"nowhere"': "There is no scenario 'nowhere'",
    "": "the marker names no scenario",
    '"agent", point=["a"]': "write points=...",
    '"agent", slice_name="demo"': "the scenario has no slice 'demo'",
}


def test_a_mistake_in_a_marker_is_an_error_of_the_collection_in_words(user_project):
    for number, marker in enumerate(MISTAKES):
        text = f"import pytest\n\n\n@pytest.mark.crash_matrix({marker})\ndef test_it(): ...\n"
        user_project.write(f"mistakes/test_mistake_{number}.py", text)
    found = user_project.pytest("-q", "--import-mode=importlib", "mistakes")
    assert found.status == 2, found.out
    assert [said for said in MISTAKES.values() if said not in found.out] == []
    assert "4 errors" in found.out
    assert "Traceback" not in found.out
