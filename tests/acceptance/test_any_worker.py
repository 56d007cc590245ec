"""`ackgap run --worker`: the duplicate is found in unchanged agents, whatever they are written in."""

from __future__ import annotations

import shutil

import pytest

POST = """
import json, os, sys, urllib.request

def post(path, body, key=None):
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Idempotency-Key"] = key
    request = urllib.request.Request(os.environ["TICKETS_URL"] + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)
"""

DURABLE = {("ticket.replace", "committed"), ("told.replace", "committed")}
"""From when on the shell agent knows what it has done."""


def test_finds_the_duplicate_in_a_shell_agent_with_curl(project, agents, program):
    program("curl", "apt-get install curl")
    program("cc", "apt-get install gcc libc6-dev")
    shutil.copy(agents / "shell" / "agent.sh", project.path)
    outcome = project.run_worker("sh agent.sh")
    assert outcome.status == 1
    wire = {cell: verdict for cell, verdict in outcome.verdicts.items() if not cell.startswith("file.")}
    assert wire == {
        "undisturbed@default": "ok",
        "tickets.POST/tickets#1:received@default": "ok",
        "tickets.POST/tickets#1:applied@default": "duplicate",
        "tickets.POST/messages#1:received@default": "ok",
        "tickets.POST/messages#1:applied@default": "duplicate",
    }
    recorded = {cell: verdict for cell, verdict in outcome.verdicts.items() if cell not in wire}
    assert recorded == {
        f"file.{name}#1:{phase}@default": "ok" if (name, phase) in DURABLE else "duplicate"
        for name in ("ticket.new.write", "ticket.replace", "told.new.write", "told.replace")
        for phase in ("committing", "committed")
    }


def test_finds_the_duplicate_in_a_node_agent(project, agents, program):
    program("node", "apt-get install nodejs")
    shutil.copy(agents / "node" / "agent.mjs", project.path)
    outcome = project.run_worker("node agent.mjs", "--point", "*POST/tickets*")
    assert outcome.status == 1
    assert outcome.verdicts["tickets.POST/tickets#1:applied@default"] == "duplicate"
    assert outcome.verdicts["tickets.POST/tickets#1:received@default"] == "ok"


def test_finds_the_duplicate_between_the_return_and_the_journal_of_a_python_agent(project, agents):
    shutil.copy(agents / "python" / "agent.py", project.path)
    outcome = project.run_worker("python agent.py", "--point", "*POST/tickets*", "--point", "file.*#1:*")
    assert outcome.status == 1
    verdicts = {cell.partition("@")[0]: verdict for cell, verdict in outcome.verdicts.items()}
    assert verdicts["tickets.POST/tickets#1:sending"] == "ok"
    assert verdicts["tickets.POST/tickets#1:applied"] == "duplicate"
    assert verdicts["tickets.POST/tickets#1:returned"] == "duplicate"
    assert verdicts["file.state.json.replace#1:committing"] == "duplicate"
    assert verdicts["file.state.json.replace#1:committed"] == "ok"


@pytest.mark.slow
def test_a_described_target_says_what_the_duplicate_is_and_honours_a_stable_key(project):
    project.write("agent.py", POST + 'post("/tickets", {"partner_id": "4471", "kind": "x", "title": "t"}, key="k-1")\n')
    bare = project.run_worker("python agent.py", target="tickets=case-management")
    assert bare.verdicts["tickets.create#1:applied@default"] == "duplicate"
    assert "Two tickets" in bare.out
    scenario = """
name = "keyed"
[worker]
command = "python agent.py"
env = { TICKETS_URL = "{tickets.url}" }
[targets.tickets]
profile = "case-management"
protection = "idempotency-key"
"""
    project.write("scenario.toml", scenario)
    keyed = project.ackgap("run", "scenario.toml", out="keyed")
    assert keyed.status == 0
    assert set(keyed.verdicts.values()) == {"ok"}


def test_the_printed_replay_command_shows_the_same_again(project, agents):
    import re
    import shlex

    shutil.copy(agents / "python" / "agent.py", project.path)
    outcome = project.run_worker("python agent.py", "--point", "*POST/tickets*:applied")
    command = re.search(r"again +ackgap (replay .+)", outcome.out)
    assert command is not None
    again = project.ackgap(*shlex.split(command[1]))
    assert again.status == 1
    assert "Reproduced: duplicate" in again.out


def test_another_command_can_resume(project):
    project.write("start.py", POST + 'post("/tickets", {"a": 1})\n')
    project.write("resume.py", POST + 'print("looked, and it is there")\n')
    outcome = project.run_worker(
        "python start.py", "--resume-command", "python resume.py", "--point", "*:applied", "--point", "*:received"
    )
    assert outcome.verdicts["tickets.POST/tickets#1:applied@default"] == "ok"
    assert outcome.verdicts["tickets.POST/tickets#1:received@default"] == "lost"


KEY_REMOVED = """
import json, os, sys, urllib.request, uuid

if os.environ.pop("BARE", None):  # a launcher that starts the real worker without its environment
    os.execv(sys.executable, [sys.executable, "-I", "agent.py"])
if not os.path.exists("done"):
    if not os.path.exists("key"):
        open("key.new", "w").write(uuid.uuid4().hex)
        os.replace("key.new", "key")
    body = json.dumps({"partner_id": "9", "kind": "review", "title": "Q3"}).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": open("key").read()}
    urllib.request.urlopen(urllib.request.Request(os.environ["DESK"] + "/tickets", body, headers), timeout=20).read()
    os.remove("key")
    open("done", "w").write("x")
"""
WITH_KEYS = ("--protection", "desk=idempotency-key", "--env", "DESK={desk.url}")


def test_a_key_that_is_gone_before_the_step_is_recorded_is_made_anew(project):
    project.write("agent.py", KEY_REMOVED)
    outcome = project.ackgap("run", "--worker", "python agent.py", "--target", "desk=case-management", *WITH_KEYS)
    red = {cell: verdict for cell, verdict in outcome.verdicts.items() if verdict != "ok"}
    assert red == {"file.key.remove#1:committed@default": "duplicate"}


def test_an_interpreter_that_has_lost_its_hooks_by_the_way_is_said_to_be_unseen(project):
    project.write("agent.py", KEY_REMOVED)
    outcome = project.ackgap(
        "run", "--worker", "python agent.py", "--target", "desk=case-management", *WITH_KEYS, "--env", "BARE=1"
    )
    assert set(outcome.verdicts.values()) == {"ok"}, "its durable writes are no points"
    assert "calls a target, and the python injector has not come up in it" in " ".join(outcome.out.split())


def test_each_cell_starts_from_fresh_state(project):
    """The second probe would do nothing if it found the journal of the first, and so would every cell."""
    project.write(
        "agent.py",
        POST
        + """
if os.path.exists("done"):
    sys.exit(0)
post("/tickets", {"a": 1})
open("done", "w").close()
""",
    )
    outcome = project.run_worker("python agent.py", "--point", "*:received", "--point", "*:applied")
    assert outcome.verdicts["undisturbed@default"] == "ok"
    assert outcome.verdicts["tickets.POST/tickets#1:received@default"] == "ok"
    assert not (project.path / "done").exists()


@pytest.mark.slow
def test_state_outside_the_directory_is_an_error_until_it_is_named(project, tmp_path):
    state = tmp_path / "elsewhere" / "state.json"
    state.parent.mkdir()
    project.write(
        "agent.py",
        POST
        + f"""
if not os.path.exists({str(state)!r}):
    post("/tickets", {{"a": 1}})
    with open({str(state)!r}, "w") as file:
        file.write("done")
""",
    )
    refused = project.run_worker("python agent.py")
    assert refused.status == 2
    assert str(state) in refused.err
    assert "--state" in refused.err
    state.unlink(missing_ok=True)
    named = project.run_worker(
        "python agent.py", "--state", str(state), "--point", "*:received", "--point", "*:applied"
    )
    assert named.verdicts["tickets.POST/tickets#1:applied@default"] == "duplicate"
    assert named.verdicts["tickets.POST/tickets#1:received@default"] == "ok"
    assert not state.exists()


@pytest.mark.slow
def test_a_reset_command_clears_what_ackgap_cannot_see(project, tmp_path):
    state = tmp_path / "hidden"
    project.write(
        "agent.sh",
        f"""
[ -e {state} ] && exit 0
curl -sSf -X POST "$TICKETS_URL/tickets" -H 'Content-Type: application/json' -d '{{"a": 1}}' && touch {state}
""",
    )
    outcome = project.run_worker("sh agent.sh", "--reset", f"rm -f {state}")
    assert outcome.verdicts["tickets.POST/tickets#1:received@default"] == "ok"
    assert outcome.verdicts["tickets.POST/tickets#1:applied@default"] == "duplicate"


@pytest.mark.slow
def test_the_user_s_own_command_can_say_that_a_worker_which_never_ends_is_finished(project):
    project.write(
        "agent.py",
        POST
        + """
import time
if not os.path.exists("done"):
    post("/tickets", {"a": 1})
    open("done", "w").close()
while True:
    time.sleep(0.05)
""",
    )
    outcome = project.run_worker(
        "python agent.py", "--finished-when", "test -e done", "--point", "*:received", "--point", "*:applied"
    )
    assert outcome.verdicts == {
        "undisturbed@default": "ok",
        "tickets.POST/tickets#1:received@default": "ok",
        "tickets.POST/tickets#1:applied@default": "duplicate",
    }


@pytest.mark.slow
def test_a_worker_that_surfaces_its_doubt_is_amber_and_passes(project):
    project.write(
        "agent.py",
        POST
        + """
if os.path.exists("intent") and not os.path.exists("done"):
    sys.exit("UNKNOWN OUTCOME: ask a human whether the ticket exists")
if not os.path.exists("done"):
    open("intent", "w").close()
    post("/tickets", {"a": 1})
    open("done", "w").close()
""",
    )
    outcome = project.run_worker("python agent.py", "--in-doubt-when", "UNKNOWN OUTCOME", "--point", "*:applied")
    assert outcome.verdicts["tickets.POST/tickets#1:applied@default"] == "in_doubt"
    assert outcome.status == 0


@pytest.mark.slow
def test_learned_identity_is_shown_and_can_be_overridden(project):
    project.write("agent.py", POST + 'post("/search", {"q": "x"})\npost("/tickets", {"a": 1})\n')
    assumed = project.run_worker("python agent.py", "--point", "*search*:applied")
    assert assumed.verdicts["tickets.POST/search#1:applied@default"] == "duplicate"
    assert "assumed" in assumed.out
    told = project.run_worker("python agent.py", "--read", "tickets.POST/search", "--point", "*:applied", out="told")
    assert "tickets.POST/search#1:applied@default" not in told.verdicts
    twice = project.run_worker(
        "python agent.py",
        "--read",
        "*search",
        "--expect",
        "tickets.POST/tickets=2",
        "--point",
        "*tickets#1:applied",
        out="twice",
    )
    assert twice.verdicts["undisturbed@default"] == "lost"
    assert twice.verdicts["tickets.POST/tickets#1:applied@default"] == "ok"
