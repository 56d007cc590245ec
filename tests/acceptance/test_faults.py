"""Faults that a service does to a call, without killing anyone: known answers for careless and careful workers."""

from __future__ import annotations

import pytest

AGENT = """
import json, os, pathlib, urllib.error, urllib.request

STATE = pathlib.Path("state.json")

def done():
    return json.loads(STATE.read_text()) if STATE.exists() else []

def note(step):
    fresh = STATE.with_suffix(".new")
    fresh.write_text(json.dumps([*done(), step]))
    os.replace(fresh, STATE)

def ask(method, path, body=None):
    headers = {"Content-Type": "application/json"}
    if os.environ.get("KEY"):
        headers["Idempotency-Key"] = os.environ["KEY"]
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(os.environ["TICKETS_URL"] + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=float(os.environ.get("PATIENCE_S", "1"))) as answer:
        return json.load(answer)

TICKET = {"partner_id": "4471", "kind": "review"}

def file_ticket():
    last = None
    for attempt in range(int(os.environ.get("ATTEMPTS", "3"))):
        if os.environ.get("LOOK") and ask("GET", "/tickets?partner_id=4471")["count"]:
            return
        try:
            ask("POST", "/tickets", TICKET)
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
            last = error
            print("failed:", error, flush=True)
    raise SystemExit(f"gave up: {last}")

if "ticket" not in done():
    file_ticket()
    note("ticket")
"""

EVERY_FAULT = ("lose", "reset", "fail,status=503", "fail,status=429", "slow,for=20s", "twice")
FAULTS = [word for fault in EVERY_FAULT for word in ("--fault", fault)]


def _run(project, *more, env=(), out="out"):
    settings = [word for text in env for word in ("--env", text)]
    return project.run_worker(
        "python agent.py", *more, *settings, "--point", "tickets.*", target="tickets=case-management", out=out
    )


def _verdicts(outcome):
    return {cell.removesuffix("@default"): verdict for cell, verdict in outcome.verdicts.items()}


def test_a_client_that_simply_asks_again_files_twice_whenever_the_effect_was_there_before_the_failure(project):
    project.write("agent.py", AGENT)
    outcome = _run(project, *FAULTS)
    assert outcome.status == 1
    assert _verdicts(outcome) == {
        "undisturbed": "ok",
        "lose@tickets.create#1:applied": "duplicate",
        "reset@tickets.create#1:received": "ok",
        "fail@tickets.create#1:received,status=503": "ok",
        "fail@tickets.create#1:applied,status=503": "duplicate",
        "fail@tickets.create#1:received,status=429": "ok",
        "slow@tickets.create#1:applied,for=20s": "duplicate",
        "twice@tickets.create#1:received": "duplicate",
    }
    assert "fault at" in outcome.out
    assert "answer lost" in outcome.out
    assert "answered 429" in outcome.out


def test_a_stable_key_makes_every_fault_of_the_service_harmless(project):
    project.write("agent.py", AGENT)
    keyed = ("--protection", "tickets=idempotency-key")
    outcome = _run(project, *FAULTS, *keyed, env=["KEY=ticket-4471"])
    assert set(_verdicts(outcome).values()) == {"ok"}
    assert len(outcome.verdicts) == 8
    assert outcome.status == 0


def test_looking_before_asking_again_helps_unless_lookups_are_behind(project):
    project.write("agent.py", AGENT)
    outcome = _run(project, "--fault", "lose", "--fault", "lose,stale=1h", env=["LOOK=1"])
    assert _verdicts(outcome) == {
        "undisturbed": "ok",
        "lose@tickets.create#1:applied": "ok",
        "lose@tickets.create#1:applied,stale=1h": "duplicate",
    }


@pytest.mark.slow
def test_lookups_that_are_behind_have_caught_up_after_a_long_downtime(project):
    project.write("agent.py", AGENT)
    outcome = _run(
        project,
        *("--fault", "kill,stale=1h", "--fault", "kill,down=2h,stale=1h", "--point", "*:applied"),
        env=["LOOK=1"],
    )
    verdicts = _verdicts(outcome)
    assert verdicts["kill@tickets.create#1:applied,stale=1h"] == "duplicate"
    assert verdicts["kill@tickets.create#1:applied,down=2h,stale=1h"] == "ok"


@pytest.mark.slow
def test_a_worker_that_gives_up_on_the_first_error_is_restarted_and_files_twice(project):
    project.write("agent.py", AGENT)
    outcome = _run(project, "--fault", "lose", "--fault", "reset", env=["ATTEMPTS=1"])
    assert _verdicts(outcome) == {
        "undisturbed": "ok",
        "lose@tickets.create#1:applied": "duplicate",
        "reset@tickets.create#1:received": "ok",
    }
    events = outcome.history("lose@tickets.create#1:applied@default")
    assert [event["kind"] for event in events].count("incarnation_started") == 2


@pytest.mark.slow
def test_a_patient_client_gets_the_late_answer_and_has_no_reason_to_ask_again(project):
    project.write("agent.py", AGENT)
    outcome = _run(project, "--fault", "slow,for=2s", env=["PATIENCE_S=30"])
    assert _verdicts(outcome)["slow@tickets.create#1:applied,for=2s"] == "ok"


@pytest.mark.slow
def test_a_cell_of_a_fault_is_replayed_by_its_name(project):
    project.write("agent.py", AGENT)
    outcome = _run(project, "--schedule", "fail@tickets.create#1:applied,status=429")
    cell = "fail@tickets.create#1:applied,status=429@default"
    assert outcome.verdicts[cell] == "duplicate"
    replayed = project.ackgap("replay", "out", cell)
    assert replayed.status == 1
    assert "duplicate" in replayed.out


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("explode", "'explode' is not a fault; write one of kill, term, pause, disconnect, oom, hold, lose, reset"),
        ("kill,status=500", "'status' is not an option of a fault of kind kill"),
        ("fail,status=200", "200 is no status of an error"),
        ("slow,for=2d", "no more than 3600 seconds"),
        ("lose,down=1h", "'down' is not an option of a fault of kind lose"),
    ],
)
def test_a_fault_that_does_not_exist_is_refused_in_one_sentence(project, fault, says):
    project.write("agent.py", AGENT)
    outcome = _run(project, "--fault", fault)
    assert outcome.status == 2
    assert says in outcome.err


def test_a_fault_at_a_point_where_it_cannot_strike_is_refused(project):
    project.write("agent.py", AGENT)
    outcome = _run(project, "--schedule", "lose@tickets.create#1:received")
    assert outcome.status == 2
    assert "strikes at applied" in outcome.err
