"""Faults that strike a worker in the background, after the command that has sent it there is gone."""

from __future__ import annotations

import pytest

AGENT = """
import json, os, signal, time, urllib.request

def post(path):
    request = urllib.request.Request(os.environ["TICKETS_URL"] + path, b"{}", {"Content-Type": "application/json"})
    urllib.request.urlopen(request).read()

def told(number, frame):
    if os.environ["ON_TERM"] == "leave":
        os._exit(0)

post("/before")
gone, alive = os.pipe()
if os.fork():
    os._exit(0)
os.close(alive)
os.setsid()
os.read(gone, 1)  # the end of the pipe: the parent is gone
time.sleep(0.1)  # and whoever waits for it knows that
if os.environ["ON_TERM"] != "die":
    signal.signal(signal.SIGTERM, told)
post("/tickets")
"""

SENDING = "tickets.POST/tickets#1:sending"
RECEIVED = "tickets.POST/tickets#1:received"


def _run(project, *schedules, on_term="die"):
    project.write("agent.py", AGENT)
    each = [word for text in schedules for word in ("--schedule", text)]
    return project.run_worker(
        "python agent.py", "--env", f"ON_TERM={on_term}", "--life", "10", "--expect", "tickets.POST/before=2", *each
    )


def _lives(history):
    return [(event["incarnation"], event["by_harness"]) for event in history if event["kind"] == "incarnation_ended"]


def _tickets(history):
    return [event for event in history if event["kind"] == "effect_applied" and "/tickets" in event["operation"]]


@pytest.mark.parametrize("on_term", ["die", "leave", "stay"])
def test_what_is_left_of_a_life_is_told_to_end_and_another_one_follows(project, on_term):
    outcome = _run(project, f"term@{RECEIVED},for=1s", on_term=on_term)
    history = outcome.history(f"term@{RECEIVED},for=1s@default")
    assert _lives(history) == [(1, True), (2, False)]
    assert len(_tickets(history)) == (2 if on_term == "stay" else 1)
    assert not [event for event in history if event["kind"] == "gave_up"]


def test_what_is_left_of_a_life_is_stopped_while_another_takes_over_and_wakes_up(project):
    outcome = _run(project, f"pause@{SENDING}")
    history = outcome.history(f"pause@{SENDING}@default")
    assert _lives(history) == [(2, False), (1, False)]
    assert [ticket["incarnation"] for ticket in _tickets(history)] == [2, 1]
    assert outcome.verdicts[f"pause@{SENDING}@default"] == "duplicate"


def test_one_of_two_heirs_in_the_background_is_stopped_while_the_other_goes_on(project):
    schedule = f"kill@{SENDING},heirs=2;2.pause@{SENDING}"
    history = _run(project, schedule).history(f"{schedule}@default")
    assert _lives(history) == [(1, True), (3, False), (2, False)]
    assert [ticket["incarnation"] for ticket in _tickets(history)] == [3, 2]
