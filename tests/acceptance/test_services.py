"""Workers with a real server beside them, and workers that are servers themselves; nothing is left of any of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from needs import need, needed

from ackgap.execute.services.postgres import find_binaries

pytestmark = pytest.mark.slow

LIMIT_S = 60.0

JOURNAL = """
import json, os, urllib.request
import psycopg

db = psycopg.connect(os.environ["DATABASE_URL"])
db.execute("CREATE TABLE IF NOT EXISTS journal (step text PRIMARY KEY, result text)")
db.commit()

def post(path, body):
    headers = {"Content-Type": "application/json"}
    if os.environ.get("KEY"):
        headers["Idempotency-Key"] = os.environ["KEY"]
    request = urllib.request.Request(os.environ["TICKETS_URL"] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

def once(step, action):
    if db.execute("SELECT result FROM journal WHERE step = %s", (step,)).fetchone() is None:
        result = action()
        db.execute("INSERT INTO journal VALUES (%s, %s)", (step, json.dumps(result)))
        db.commit()

once("ticket", lambda: post("/tickets", {"partner_id": "4471", "kind": "review", "title": "t"}))
"""
JOURNAL_SCENARIO = """
name = "journal"
[worker]
command = "{python} worker.py"
env = { TICKETS_URL = "{tickets.url}", DATABASE_URL = "{db.url}" }
[targets.tickets]
profile = "case-management"
[services.db]
kind = "postgres"
[axes.key.values.none]
[axes.key.values.stable]
env = { KEY = "partner-4471" }
protections = { tickets = "idempotency-key" }
"""
SERVER = """
import json, os, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

def post(path, body):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["TICKETS_URL"] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

def work():
    done = Path("done.json")
    if not done.exists():
        result = post("/tickets", {"partner_id": "4471", "kind": "review", "title": "t"})
        Path("done.new").write_text(json.dumps(result))
        Path("done.new").replace(done)

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        work()
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
LATE_SERVER = (
    SERVER.replace("        work()\n", "")
    .replace(
        "        self.end_headers()\n",
        "        self.end_headers()\n        self.connection.shutdown(1)\n        work()  # after the answer\n",
    )
    .replace("ThreadingHTTPServer((", "if Path('up').exists(): work()\nPath('up').touch()\nThreadingHTTPServer((")
)

CLIENT = """
import sys, time, urllib.request

for attempt in range(400):
    try:
        urllib.request.urlopen(urllib.request.Request(sys.argv[1], b"", method="POST")).read()
        break
    except OSError:
        time.sleep(0.05)  # the server is down; a user would press the button again
else:
    sys.exit("nobody is there")
"""
SERVER_SCENARIO = """
name = "served"
[worker]
command = "{python} worker.py"
env = { TICKETS_URL = "{tickets.url}", PORT = "{worker.port}" }
[client]
command = "{python} client.py http://127.0.0.1:{worker.port}/"
ready_when = { port = true }
[targets.tickets]
profile = "case-management"
"""


@pytest.fixture
def postgres() -> None:
    need("psycopg", hint="pip install 'psycopg[binary]'")
    with needed():
        find_binaries()


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the run keeps what nobody needs after it; fails if anything is left there, or runs from there."""
    directory = Path("/tmp") / f"g{os.getpid()}"
    directory.mkdir()
    monkeypatch.setenv("TMPDIR", str(directory))
    yield directory
    for path in directory.iterdir():
        path.unlink() if path.is_file() else None
    directory.rmdir()


def left_over(ground: Path) -> list[str]:
    """Return processes that work below a directory, or speak of it, and what is in it."""
    found = [str(path) for path in ground.glob("ackgap-*")]
    for process in psutil.process_iter():
        try:
            words = [process.cwd(), *process.cmdline()]
            if process.status() != psutil.STATUS_ZOMBIE and any(str(ground) in word for word in words):
                found.append(" ".join(words))
        except psutil.Error:
            continue
    return found


def until(condition: Callable[[], bool], what: str) -> None:
    ends_s = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < ends_s, f"never came about: {what}"
        time.sleep(0.02)


def by_point(outcome, variant: str) -> dict[str, str]:
    return {
        cell.partition("@")[0]: verdict for cell, verdict in outcome.verdicts.items() if cell.endswith(f"@{variant}")
    }


def test_a_journal_in_postgres_duplicates_in_the_gap_unless_there_is_a_key(project, postgres, ground):
    project.write("worker.py", JOURNAL)
    project.write("scenario.toml", JOURNAL_SCENARIO)
    outcome = project.ackgap("run", "--quiet", "scenario.toml")
    assert outcome.status == 1, outcome.err
    bare = by_point(outcome, "key=none")
    assert bare == {
        "undisturbed": "ok",
        "pg.create_journal.commit#1:committing": "ok",
        "pg.create_journal.commit#1:committed": "ok",
        "tickets.create#1:sending": "ok",
        "tickets.create#1:received": "ok",
        "tickets.create#1:applied": "duplicate",
        "tickets.create#1:returned": "duplicate",
        "pg.journal.commit#1:committing": "duplicate",
        "pg.journal.commit#1:committed": "ok",
    }
    assert by_point(outcome, "key=stable") == dict.fromkeys(bare, "ok")
    digests = {
        event["phase"]: event["store_digest"]
        for event in outcome.history("undisturbed@key=none")
        if event.get("name") == "pg.journal.commit"
    }
    assert digests["committing"] != digests["committed"]
    assert left_over(ground) == []


def test_a_worker_that_no_hook_looks_into_is_settled_by_the_digest_of_its_database(project, postgres, ground):
    project.write("worker.py", JOURNAL)
    scenario = JOURNAL_SCENARIO.replace("[targets", "python_injector = false\n[targets")
    project.write("scenario.toml", scenario)
    outcome = project.ackgap("run", "--quiet", "scenario.toml", "--only", "key=none")
    assert by_point(outcome, "key=none") == {
        "undisturbed": "ok",
        "tickets.create#1:received": "ok",
        "tickets.create#1:applied": "duplicate",
    }
    struck = [one for one in outcome.history("tickets.create#1:applied@key=none") if one["kind"] == "fault_injected"]
    assert [one["settling"] for one in struck] == ["quiet-observed"]


def test_a_worker_that_is_a_server_is_killed_and_restarted_while_its_client_waits(project, ground):
    project.write("worker.py", SERVER)
    project.write("client.py", CLIENT)
    project.write("scenario.toml", SERVER_SCENARIO)
    outcome = project.ackgap("run", "--quiet", "scenario.toml")
    assert outcome.status == 1, outcome.err
    verdicts = by_point(outcome, "default")
    assert verdicts["tickets.create#1:received"] == "ok"
    assert verdicts["tickets.create#1:applied"] == verdicts["tickets.create#1:returned"] == "duplicate"
    assert verdicts["file.done.json.replace#1:committed"] == "ok"
    ended = [one for one in outcome.history("undisturbed@default") if one["kind"] == "work_finished"]
    assert [one["how"] for one in ended] == ["the client exited with status 0"]
    assert left_over(ground) == []


@pytest.mark.parametrize("computes_s", [0.0, 0.6])
def test_what_a_server_writes_and_repeats_after_its_client_was_served_is_seen(project, ground, computes_s):
    # Before it acts it may compute for longer than any pause that would be taken for its end.
    compute = f"import time; began = time.process_time()\n    while time.process_time() - began < {computes_s}: pass\n"
    project.write("worker.py", LATE_SERVER.replace("def work():\n", f"def work():\n    {compute}"))
    project.write("client.py", CLIENT)
    project.write("scenario.toml", SERVER_SCENARIO)
    outcome = project.ackgap("run", "--quiet", "scenario.toml", "--point", "file.done.json.replace#1:*")
    assert by_point(outcome, "default") == {
        "undisturbed": "ok",
        "file.done.json.replace#1:committing": "duplicate",
        "file.done.json.replace#1:committed": "ok",
    }


def test_a_write_of_a_server_that_has_begun_lands_before_the_server_is_ended(project, ground):
    # The commit takes its time without computing, as one does that goes over a network.
    keep = (
        "def keep():\n"
        "    import sqlite3, threading\n"
        "    db = sqlite3.connect('kept.db')\n"
        "    db.execute('CREATE TABLE IF NOT EXISTS kept (number)')\n"
        "    db.set_trace_callback(lambda text: text == 'COMMIT' and threading.Event().wait(1.5))\n"
        "    db.execute('INSERT INTO kept VALUES (1)')\n"
        "    db.commit()\n"
    )
    worker = LATE_SERVER.replace("class Handler", f"{keep}class Handler").replace("work()  #", "work(); keep()  #")
    project.write("worker.py", worker)
    project.write("client.py", CLIENT)
    project.write("scenario.toml", SERVER_SCENARIO)
    outcome = project.ackgap("run", "--quiet", "scenario.toml", "--point", "tickets.create#1:received")
    assert by_point(outcome, "default")["undisturbed"] == "ok", outcome.err
    reached = [one for one in outcome.history("undisturbed@default") if one["kind"] == "boundary_reached"]
    phases = [one["phase"] for one in reached if one["name"].startswith("sqlite.kept")]
    assert phases[-2:] == ["committing", "committed"]


def test_calls_of_the_client_are_its_own_and_no_crash_points(project, ground):
    client = CLIENT + (
        "import json, os\n"
        'body = json.dumps({"channel": "ops", "text": "done"}).encode()\n'
        'headers = {"Content-Type": "application/json"}\n'
        'urllib.request.urlopen(urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", '
        'json.dumps({"partner_id": "1", "kind": "client", "title": "t"}).encode(), headers)).read()\n'
    )
    project.write("worker.py", SERVER)
    project.write("client.py", client)
    project.write("scenario.toml", SERVER_SCENARIO)
    outcome = project.ackgap("run", "--quiet", "scenario.toml", "--point", "tickets.*:received")
    assert by_point(outcome, "default") == {"undisturbed": "ok", "tickets.create#1:received": "ok"}
    effects = [one for one in outcome.history("undisturbed@default") if one["kind"] == "effect_applied"]
    assert sorted(one["incarnation"] for one in effects) == [0, 1]


def test_a_client_that_fails_means_stuck_with_its_last_lines(project, ground):
    project.write("worker.py", SERVER)
    project.write("client.py", CLIENT)
    # Alone it would do; after a crash it gives up at once.
    impatient = CLIENT.replace("range(400)", "range(1)").replace("time.sleep(0.05)", "print('oh no')")
    project.write("client.py", impatient)
    project.write("scenario.toml", SERVER_SCENARIO)
    outcome = project.ackgap("run", "--quiet", "scenario.toml", "--point", "tickets.create#1:received")
    assert by_point(outcome, "default")["tickets.create#1:received"] == "stuck"
    cell = outcome.history("tickets.create#1:received@default")
    (gave_up,) = [one for one in cell if one["kind"] == "gave_up"]
    assert gave_up["reason"] == "client_failed"
    assert "oh no" in gave_up["text"]
    assert "nobody is there" in gave_up["text"]
    project.write("client.py", "raise SystemExit('wrong from the start')")
    broken = project.ackgap("run", "--quiet", "scenario.toml", out="broken")
    assert broken.status == 2
    assert "wrong from the start" in broken.err


def test_prepared_state_is_there_before_the_first_life_of_every_cell(project, postgres, ground):
    project.write("worker.py", JOURNAL)
    seed = (
        "import os, psycopg\n"
        'with psycopg.connect(os.environ["DATABASE_URL"]) as db:\n'
        '    db.execute("CREATE TABLE journal (step text PRIMARY KEY, result text)")\n'
        "    db.execute(\"INSERT INTO journal VALUES ('other', '{}')\")\n"
    )
    project.write("seed.py", seed)
    prepare = '[prepare]\ncommands = ["{python} seed.py", "test -f worker.py"]\n'
    project.write("scenario.toml", JOURNAL_SCENARIO + prepare)
    outcome = project.ackgap("run", "--quiet", "scenario.toml", "--only", "key=none", "--point", "pg.*")
    # CREATE TABLE IF NOT EXISTS finds the table there.
    assert by_point(outcome, "key=none")["pg.journal.commit#1:committing"] == "duplicate"
    project.write("scenario.toml", JOURNAL_SCENARIO + '[prepare]\ncommands = ["false"]\n')
    refused = project.ackgap("run", "--quiet", "scenario.toml", out="refused")
    assert refused.status == 3
    assert "a command of [prepare] failed with exit status 1" in refused.err


def test_nothing_is_left_of_a_killed_harness(project, postgres, ground):
    project.write("worker.py", JOURNAL)
    project.write("scenario.toml", JOURNAL_SCENARIO)
    command = [sys.executable, "-m", "ackgap", "run", "scenario.toml", "--out", "out", "--jobs", "2"]
    harness = subprocess.Popen(command, cwd=project.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: any("postgres" in words for words in left_over(ground)), "a server is up")
        family = psutil.Process(harness.pid).children(recursive=True)
    finally:
        harness.send_signal(signal.SIGKILL)
        harness.wait()
    until(lambda: not any(member.is_running() for member in family), "everything has ended with the harness")
    until(lambda: left_over(ground) == [], "its directories are gone")
