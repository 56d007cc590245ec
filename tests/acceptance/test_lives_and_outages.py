"""A crash loop, and a service that is down when recovery begins: known answers, broken and correct."""

from __future__ import annotations

from needs import needed

from ackgap.execute.services.redis import find_redis

LOOP = """
import json, os, urllib.request
from pathlib import Path

TRIES, DONE = Path("tries"), Path("done")

def ask(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        os.environ["TICKETS_URL"] + path, data, {"Content-Type": "application/json"}, method=method
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

def put_down(path, text):
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    os.replace(fresh, path)

tries = int(TRIES.read_text()) if TRIES.exists() else 0
if tries >= int(os.environ.get("LIMIT", "99")):
    raise SystemExit(f"given up after {tries} tries")
if not DONE.exists():
    put_down(TRIES, str(tries + 1))
    if not (os.environ.get("LOOK") and ask("GET", "/tickets?partner_id=4471")["count"]):
        ask("POST", "/tickets", {"partner_id": "4471", "kind": "review", "title": "t"})
    put_down(DONE, "yes")
"""

QUEUE = """
import json, os, socket, urllib.request

def redis(*words):
    with socket.create_connection(("127.0.0.1", int(os.environ["REDIS_PORT"])), timeout=5) as connection:
        parts = "".join(f"${len(word)}\\r\\n{word}\\r\\n" for word in words)
        connection.sendall(f"*{len(words)}\\r\\n{parts}".encode())
        return connection.recv(4096).decode()

def post(path, body):
    headers = {"Content-Type": "application/json"}
    if os.environ.get("KEY"):
        headers["Idempotency-Key"] = os.environ["KEY"]
    request = urllib.request.Request(os.environ["TICKETS_URL"] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

try:
    filed = redis("GET", "ticket")
except OSError as error:
    if os.environ.get("SHRUG"):
        raise SystemExit(0)
    raise SystemExit(f"no memory: {error}")
if filed.startswith("$-1"):
    redis("SET", "begun", "yes")
    post("/tickets", {"partner_id": "4471", "kind": "review", "title": "t"})
    redis("SET", "ticket", "filed")
elif "filed" not in filed:
    raise SystemExit(f"what is this: {filed!r}")
"""
UNTIL_IT_IS_BACK = """
import time

while True:
    try:
        redis("PING")
        break
    except OSError:
        time.sleep(0.05)
"""
QUEUE_SCENARIO = """
name = "queue"
faults = ["kill,without=memory,for=20s"]
[worker]
command = "{python} worker.py"
env = { TICKETS_URL = "{tickets.url}", REDIS_PORT = "{memory.port}" }
[targets.tickets]
profile = "case-management"
[services.memory]
kind = "redis"
[axes.key.values.none]
[axes.key.values.stable]
env = { KEY = "partner-4471" }
protections = { tickets = "idempotency-key" }
"""


def _loop(project, *env, lives=3):
    project.write("agent.py", LOOP)
    settings = [word for text in env for word in ("--env", text)]
    return project.run_worker(
        "python agent.py",
        *settings,
        "--fault",
        f"kill,lives={lives}",
        "--point",
        "tickets.create#1:applied",
        target="tickets=case-management",
    )


def _verdicts(outcome):
    return {cell.removesuffix("@default"): verdict for cell, verdict in outcome.verdicts.items()}


def _kinds(outcome, cell):
    return [event["kind"] for event in outcome.history(cell)]


def test_a_crash_loop_files_once_in_each_of_its_lives(project):
    outcome = _loop(project)
    cell = "kill@tickets.create#1:applied,lives=3"
    assert _verdicts(outcome) == {"undisturbed": "ok", cell: "duplicate"}
    kinds = _kinds(outcome, f"{cell}@default")
    assert kinds.count("fault_injected") == 3
    assert kinds.count("effect_applied") == 4
    assert "killed in 3 lives" in outcome.out


def test_a_worker_that_looks_first_is_killed_only_as_often_as_it_comes_to_the_point(project):
    outcome = _loop(project, "LOOK=1")
    cell = "kill@tickets.create#1:applied,lives=3"
    assert _verdicts(outcome) == {"undisturbed": "ok", cell: "ok"}
    assert _kinds(outcome, f"{cell}@default").count("fault_injected") == 1
    assert _kinds(outcome, f"{cell}@default").count("effect_applied") == 1


def test_a_crash_loop_up_to_a_limit_of_the_workers_own_is_stuck_with_its_last_words(project):
    outcome = _loop(project, "LIMIT=2", "LOOK=1", lives=2)
    assert _verdicts(outcome)["kill@tickets.create#1:applied,lives=2"] == "ok"  # it looked in its second life
    outcome = _loop(project, "LIMIT=2", lives=2)
    assert _verdicts(outcome)["kill@tickets.create#1:applied,lives=2"] == "duplicate"
    ends = [one for one in outcome.history("kill@tickets.create#1:applied,lives=2@default") if one["kind"] == "gave_up"]
    assert [end["reason"] for end in ends] == ["crash_loop"]
    assert "given up after 2 tries" in ends[0]["text"]


def _redis():
    with needed():
        find_redis()


def _notes(outcome, cell):
    return [one["code"] for one in outcome.history(cell) if one["kind"] == "note" and one["code"].startswith("service")]


def test_a_service_that_is_down_when_recovery_begins_keeps_what_it_has_stored(project):
    _redis()
    project.write("worker.py", QUEUE)
    project.write("scenario.toml", QUEUE_SCENARIO)
    outcome = project.ackgap("run", "--quiet", "scenario.toml", "--point", "tickets.create#1:*")
    assert outcome.status == 1, outcome.err
    faults = "kill@tickets.create#1:{},without=memory,for=20s@key={}"
    for key, gap in (("none", "duplicate"), ("stable", "ok")):
        assert {
            phase: outcome.verdicts[faults.format(phase, key)]
            for phase in ("sending", "received", "applied", "returned")
        } == {"sending": "ok", "received": "ok", "applied": gap, "returned": gap}
    cell = faults.format("applied", "none")
    assert _notes(outcome, cell) == ["service_down", "service_up"]
    ends = [one["exit_code"] for one in outcome.history(cell) if one["kind"] == "incarnation_ended"]
    assert ends == [None, 1, 0]  # killed; without its memory; as before


def test_a_worker_that_takes_an_outage_for_the_end_of_its_work_has_lost_it(project):
    _redis()
    project.write("worker.py", QUEUE)
    project.write("scenario.toml", QUEUE_SCENARIO.replace("env = {", 'env = { SHRUG = "1",', 1))
    outcome = project.ackgap(
        "run", "--quiet", "scenario.toml", "--only", "key=none", "--point", "tickets.create#1:received"
    )
    cell = "kill@tickets.create#1:received,without=memory,for=20s@key=none"
    assert outcome.verdicts[cell] == "lost"
    assert _notes(outcome, cell) == ["service_down", "service_up"]


def test_a_service_that_comes_back_while_the_next_life_waits_is_found_again(project):
    _redis()
    waits = QUEUE.replace("try:\n    filed", f"{UNTIL_IT_IS_BACK}try:\n    filed")
    project.write("worker.py", waits)
    project.write("scenario.toml", QUEUE_SCENARIO.replace("for=20s", "for=0.5s"))
    outcome = project.ackgap(
        "run", "--quiet", "scenario.toml", "--only", "key=stable", "--point", "tickets.create#1:applied"
    )
    cell = "kill@tickets.create#1:applied,without=memory,for=0.5s@key=stable"
    assert outcome.verdicts[cell] == "ok"
    assert [one["incarnation"] for one in outcome.history(cell) if one["kind"] == "incarnation_started"] == [1, 2]


def test_a_service_that_the_scenario_does_not_have_cannot_be_stopped(project):
    project.write("agent.py", LOOP)
    for more, where in (
        (("--fault", "kill,without=memory"), "--fault"),
        (("--schedule", "kill@tickets.create#1:applied,without=memory"), "--schedule"),
    ):
        outcome = project.run_worker("python agent.py", *more)
        assert outcome.status == 2
        assert "no service 'memory'" in outcome.err
        assert where in outcome.err
    project.write("worker.py", QUEUE)
    project.write("scenario.toml", QUEUE_SCENARIO.replace("without=memory", "without=memry"))
    outcome = project.ackgap("run", "--quiet", "scenario.toml")
    assert outcome.status == 2
    assert "key faults.0" in outcome.err or "key faults[0]" in outcome.err
    assert "memory" in outcome.err
