"""Schedules of several lives: told to end, taken over twice, two recoveries at once, another release or order."""

from __future__ import annotations

from collections import Counter

AGENT = """
import json, os, signal, sys, urllib.request
from pathlib import Path

def post(path, body):
    headers = {"Content-Type": "application/json"}
    if os.environ.get("KEY"):
        headers["Idempotency-Key"] = os.environ["KEY"]
    request = urllib.request.Request(os.environ["TICKETS_URL"] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

def put_down(name, value):
    own = Path(f"{name}.{os.getpid()}")  # two of us may write at once
    own.write_text(json.dumps(value))
    os.replace(own, name)

def last_words(*_):
    put_down("last-words", 1)
    sys.exit(int(os.environ["LAST_WORDS"]))

if "LAST_WORDS" in os.environ:
    signal.signal(signal.SIGTERM, last_words)
if not Path(os.environ.get("DONE", "done")).exists():
    ticket = post("/tickets", {"partner_id": "4471", "kind": "review", "title": "Review"})
    put_down(os.environ.get("DONE", "done"), ticket)
"""
SCENARIO = """
name = "lives"
[worker]
command = "{python} agent.py"
env = { TICKETS_URL = "{tickets.url}" }
[targets.tickets]
profile = "case-management"
protection = "idempotency-key"
[axes.key.values.none]
[axes.key.values.stable]
env = { KEY = "review-4471" }
[releases.renamed]
env = { DONE = "finished" }
"""
BOTH = """
import json, os, threading, urllib.request
from pathlib import Path

def post(title):
    body = json.dumps({"partner_id": "4471", "kind": title, "title": title}).encode()
    request = urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

def put_down(name):
    fresh = Path(f"{name}.new")
    fresh.write_text("1")
    os.replace(fresh, name)

if not Path("cursor").exists():
    if not Path("result").exists():
        post("first")
    threads = [threading.Thread(target=put_down, args=(name,)) for name in ("result", "cursor")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    post("second")
"""


def kinds(outcome, cell: str) -> Counter:
    return Counter(event["kind"] for event in outcome.history(cell))


def run(project, *schedules: str, scenario: str = SCENARIO, agent: str = AGENT, more: tuple[str, ...] = ()):
    project.write("agent.py", agent)
    project.write("scenario.toml", scenario)
    named = [part for schedule in schedules for part in ("--schedule", schedule)]
    outcome = project.ackgap("run", "--quiet", "scenario.toml", *named, *more)
    assert outcome.status in (0, 1), outcome.err
    return outcome


def ends(outcome, cell: str) -> list[tuple[int, int | None, int | None]]:
    found = [event for event in outcome.history(cell) if event["kind"] == "incarnation_ended"]
    return [(event["incarnation"], event["exit_code"], event["signal"]) for event in found]


def test_a_worker_without_a_handler_ends_by_sigterm_where_it_stands(project):
    outcome = run(
        project, "term@tickets.create#1:sending", "term@tickets.create#1:applied", more=("--only", "key=none")
    )
    first, second = (f"term@tickets.create#1:{phase},for=5s@key=none" for phase in ("sending", "applied"))
    assert outcome.verdicts[first] == "ok"
    assert outcome.verdicts[second] == "duplicate"
    assert ends(outcome, first) == [(1, None, 15), (2, 0, None)]
    assert kinds(outcome, first)["client_gave_up"] == 0


def test_a_handler_has_its_grace_and_another_life_follows_whatever_it_exits_with(project):
    scenario = SCENARIO.replace('"{tickets.url}" }', '"{tickets.url}", LAST_WORDS = "0" }')
    schedule = "term@tickets.create#1:sending"
    outcome = run(project, schedule, scenario=scenario, more=("--only", "key=stable"))
    cell = f"{schedule},for=5s@key=stable"
    assert outcome.verdicts[cell] == "ok"
    assert ends(outcome, cell) == [(1, 0, None), (2, 0, None)]
    written = [event for event in outcome.history(cell) if event.get("name") == "file.last-words.replace"]
    assert {event["incarnation"] for event in written} <= {1}


def test_a_worker_that_ignores_sigterm_is_killed_after_its_grace(project):
    agent = "import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: time.sleep(60))\n" + AGENT
    schedule = "term@tickets.create#1:sending,for=0.2s"
    outcome = run(project, schedule, agent=agent, more=("--only", "key=stable"))
    assert outcome.verdicts[f"{schedule}@key=stable"] == "ok"
    assert ends(outcome, f"{schedule}@key=stable") == [(1, None, 9), (2, 0, None)]


def test_two_recover_at_once_in_turn_and_the_same_way_each_time(project):
    schedule = "kill@tickets.create#1:sending,heirs=2"
    outcome = run(project, schedule)
    assert outcome.verdicts[f"{schedule}@key=none"] == "duplicate"
    assert outcome.verdicts[f"{schedule}@key=stable"] == "ok"
    cell = f"{schedule}@key=stable"
    passed = [
        (event["incarnation"], event["name"], event["phase"])
        for event in outcome.history(cell)
        if event["kind"] == "boundary_reached" and event["incarnation"] > 1
    ]
    calls = [life for life, name, _ in passed if name == "tickets.create"]
    assert calls == [2, 3, 2, 3, 2, 3, 2]
    # The service is still busy with the first when the second comes: that worker fails, and the work is done.
    decided = [event["decision"] for event in outcome.history(cell) if event["kind"] == "attempt_answered"]
    assert decided == ["applied", "conflict"]
    assert kinds(outcome, cell)["incarnation_started"] == 3
    assert "zombie" not in {finding["code"] for finding in outcome.cells[cell]["findings"]}


def test_what_goes_with_the_death_of_one_of_several_heirs_holds_for_those_that_follow(project):
    at = "tickets.create#1:sending"
    schedule = f"kill@{at},heirs=2;2.kill@{at},release=renamed;3.kill@{at}"
    outcome = run(project, schedule, more=("--only", "key=none"))
    cell = f"{schedule}@key=none"
    assert outcome.verdicts[cell] == "ok"
    written = {
        (event["incarnation"], event["name"])
        for event in outcome.history(cell)
        if event["kind"] == "boundary_reached" and event["name"].endswith(".replace")
    }
    assert written == {(4, "file.finished.replace")}


def test_a_recovery_is_paused_as_well_and_taken_over(project):
    schedule = "kill@tickets.create#1:received;2.pause@tickets.create#1:received"
    outcome = run(project, schedule, more=("--only", "key=none"))
    cell = f"{schedule}@key=none"
    assert outcome.verdicts[cell] == "duplicate"
    assert {finding["code"] for finding in outcome.cells[cell]["findings"]} >= {"duplicate", "zombie"}
    assert [life for life, *_ in ends(outcome, cell)] == [1, 3, 2]


def test_whoever_takes_over_from_a_paused_worker_is_killed_as_well(project):
    schedule = "pause@tickets.create#1:received;2.kill@tickets.create#1:applied"
    outcome = run(project, schedule)
    assert outcome.verdicts[f"{schedule}@key=stable"] == "ok"
    assert outcome.verdicts[f"{schedule}@key=none"] == "duplicate"
    assert [life for life, *_ in ends(outcome, f"{schedule}@key=none")] == [2, 3, 1]
    assert len([e for e in outcome.history(f"{schedule}@key=none") if e["kind"] == "effect_applied"]) == 3


def test_another_release_that_looks_elsewhere_does_it_again(project):
    schedules = ("kill@file.done.replace#1:committed", "kill@file.done.replace#1:committed,release=renamed")
    outcome = run(project, *schedules, more=("--only", "key=none"))
    assert outcome.verdicts["file.done.replace#1:committed@key=none"] == "ok"
    assert outcome.verdicts[f"{schedules[1]}@key=none"] == "duplicate"


def test_the_files_of_a_release_are_laid_over_those_of_the_worker(project):
    project.write("v2/agent.py", AGENT.replace('if not Path(os.environ.get("DONE", "done")).exists():', "if False:"))
    scenario = SCENARIO.replace('env = { DONE = "finished" }', 'directory = "v2"')
    outcome = run(
        project, "kill@tickets.create#1:sending,release=renamed", scenario=scenario, more=("--only", "key=none")
    )
    assert outcome.verdicts["kill@tickets.create#1:sending,release=renamed@key=none"] == "lost"


def test_a_release_that_does_not_exist_is_named(project):
    project.write("agent.py", AGENT)
    project.write("scenario.toml", SCENARIO)
    outcome = project.ackgap("run", "scenario.toml", "--schedule", "kill@tickets.create#1:sending,release=renmed")
    assert outcome.status == 2
    assert "There is no release 'renmed'" in outcome.err
    assert "renamed" in outcome.err


def test_a_call_is_spoiled_and_the_same_life_is_killed_later(project):
    schedule = "lose@tickets.create#1:applied;2.kill@tickets.create#1:applied"
    outcome = run(project, schedule)
    assert outcome.verdicts[f"{schedule}@key=stable"] == "ok"
    assert outcome.verdicts[f"{schedule}@key=none"] == "duplicate"
    struck = [event["fault"] for event in outcome.history(f"{schedule}@key=none") if event["kind"] == "fault_injected"]
    assert struck == schedule.split(";")


def test_of_two_writes_at_once_the_later_one_lands_first_and_the_worker_dies_in_between(project):
    scenario = SCENARIO.partition("[axes")[0]
    held = "hold@file.result.replace#1:committing,until=file.cursor.replace#1"
    out_of_order = f"{held};kill@file.cursor.replace#1:committed"
    # On a busy machine the second thread may have landed its write before the first has come to its own.
    one_ahead = "import time\n" + BOTH.replace("thread.start()", "thread.start(), time.sleep(0.5)")
    outcome = run(project, held, out_of_order, scenario=scenario, agent=one_ahead)
    assert outcome.verdicts[f"{held}@default"] == "ok"
    assert outcome.verdicts[f"{out_of_order}@default"] == "lost"
    landed = [
        event["name"]
        for event in outcome.history(f"{held}@default")
        if event["kind"] == "boundary_reached" and event["phase"] == "committed" and event["name"].endswith(".replace")
    ]
    assert landed == ["file.cursor.replace", "file.result.replace"]


def test_an_order_that_the_worker_does_not_allow_proves_nothing(project):
    scenario = SCENARIO.partition("[axes")[0]
    one_by_one = BOTH.replace("thread.start()", "thread.run()").replace("thread.join()", "pass")
    between = "file.result.replace#1:committed"
    assert run(project, between, scenario=scenario, agent=one_by_one).verdicts[f"{between}@default"] == "ok"
    held = "hold@file.result.replace#1:committing,until=file.cursor.replace#1"
    project.write("agent.py", one_by_one)
    project.write("scenario.toml", scenario)
    outcome = project.ackgap("run", "--quiet", "scenario.toml", "--schedule", held)
    assert outcome.status == 3
    (finding,) = outcome.cells[f"{held}@default"]["findings"]
    assert finding["code"] == "order_impossible"
