"""Several operations behind one address: points have the names of what was meant, and none that nobody could know."""

from __future__ import annotations

import pytest

PROFILE = """
name = "desk"
title = "Two writes and a read at one address"
about = "For tests."
default_protection = "none"
[[sources]]
claim = "made up"
date = "2026-11-29"
grade = "invented"
[[operations]]
name = "create"
method = "POST"
path = "/api"
match = { "body.action" = "create" }
does = "create"
collection = "tickets"
effect = true
identity = ["body.ref"]
[[operations]]
name = "notify"
method = "POST"
path = "/api"
match = { "body.action" = "notify" }
does = "create"
collection = "notices"
effect = true
identity = ["body.ref"]
[[operations]]
name = "find"
method = "POST"
path = "/api"
match = { "body.action" = "find" }
does = "list"
collection = "tickets"
[protections.none]
title = "none"
"""
CALL = """
import json, os, threading, urllib.request

def call(action, ref):
    body = json.dumps({"action": action, "ref": ref}).encode()
    headers = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(os.environ["TICKETS_URL"] + "/api", body, headers)) as answer:
        return json.load(answer)

"""
SCENARIO = """
name = "one-address"
[worker]
command = "python agent.py"
env = { TICKETS_URL = "{tickets.url}" }
[targets.tickets]
profile = "desk.toml"
"""


def points(outcome) -> set[str]:
    return {cell.partition("@")[0] for cell in outcome.verdicts} - {"undisturbed"}


def scenario(project, worker):
    project.write("desk.toml", PROFILE)
    project.write("scenario.toml", SCENARIO)
    project.write("agent.py", CALL + worker)


@pytest.mark.slow
def test_each_call_has_its_own_points_but_none_before_it_could_be_told_and_reads_have_none(project):
    scenario(project, 'call("find", "7")\ncall("create", "7")\ncall("find", "7")\ncall("notify", "7")\n')
    outcome = project.ackgap("run", "scenario.toml", "--quiet")
    assert outcome.status == 1, outcome.out + outcome.err
    expected = {
        f"tickets.{name}#1:{phase}": verdict
        for name in ("create", "notify")
        for phase, verdict in (("received", "ok"), ("applied", "duplicate"), ("returned", "duplicate"))
    }
    # Whoever dies after the first call and has no journal makes that call again.
    expected["tickets.notify#1:received"] = "duplicate"
    found = {cell.partition("@")[0]: verdict for cell, verdict in outcome.verdicts.items()}
    assert found == expected | {"undisturbed": "ok"}


@pytest.mark.slow
def test_calls_that_run_at_once_have_no_point_at_which_they_have_returned(project):
    scenario(
        project,
        """
threads = [threading.Thread(target=call, args=("create", str(number))) for number in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
""",
    )
    outcome = project.ackgap("run", "scenario.toml", "--quiet")
    found = points(outcome)
    assert {"tickets.create#1:received", "tickets.create#1:applied"} <= found, outcome.out + outcome.err
    assert not [point for point in found if point.endswith((":sending", ":returned"))]
