"""The traps that make such a tool lie, each sprung once on real processes."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

POST = """
import json, os, sys, time, urllib.request

def post(path, body, timeout=60):
    request = urllib.request.Request(
        os.environ["TICKETS_URL"] + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.load(answer)
"""

SCENARIO = """
name = "trap"
[worker]
command = "{command}"
env = {{ TICKETS_URL = "{{tickets.url}}", MODEL_URL = "{{model.url}}" }}
{worker}
[targets.tickets]
profile = "any"
[targets.model]
profile = "model"
[[targets.model.settings.script]]
when = {{ contains = "title" }}
say = ["Late invoice", "An invoice is late", "Invoice overdue"]
{more}
"""


def scenario(project, command, *, worker="", more=""):
    project.write("scenario.toml", SCENARIO.format(command=command, worker=worker, more=more))
    return "scenario.toml"


def events(history, kind, **values):
    found = [event for event in history if event["kind"] == kind]
    return [event for event in found if all(event[name] == value for name, value in values.items())]


def test_the_worker_died_after_its_call_returned_and_before_anything_was_written_down(project):
    """Literal proof of the gap: `returned`, death by signal 9, and a store that has not changed; the pair has."""
    project.write(
        "agent.py",
        POST + 'answer = post("/tickets", {"a": 1})\nwith open("state.json", "w") as f:\n    json.dump(answer, f)\n',
    )
    outcome = project.run_worker("python agent.py", "--point", "*:returned", "--point", "file.*:committed")

    before = outcome.history("tickets.POST/tickets#1:returned@default")
    (returned,) = events(before, "boundary_reached", incarnation=1, phase="returned")
    (fault,) = events(before, "fault_injected")
    (end,) = events(before, "incarnation_ended", incarnation=1)
    assert returned["seq"] < fault["seq"] < end["seq"]
    assert end["signal"] == 9
    assert returned["store_digest"] == fault["store_digest"] == end["store_digest"]
    assert not events(before, "boundary_reached", incarnation=1, phase="committed")

    after = outcome.history("file.state.json.write#1:committed@default")
    (committed,) = events(after, "boundary_reached", incarnation=1, phase="committed")
    (began,) = events(after, "boundary_reached", incarnation=1, phase="committing")
    (end,) = events(after, "incarnation_ended", incarnation=1)
    assert end["signal"] == 9
    assert committed["store_digest"] == end["store_digest"] != began["store_digest"]


def test_lives_have_different_process_ids_and_none_is_the_first_process(project):
    project.write("agent.py", POST + 'post("/tickets", {"a": 1})\n')
    outcome = project.run_worker("python agent.py", "--point", "*:applied")
    pids = [
        event["pid"]
        for event in events(outcome.history("tickets.POST/tickets#1:applied@default"), "incarnation_started")
    ]
    assert len(set(pids)) == len(pids) == 2
    assert 1 not in pids


@pytest.mark.slow
def test_a_reworded_repeat_at_an_undescribed_service_is_a_duplicate_with_other_content(project):
    project.write(
        "agent.py",
        POST
        + """
ask = urllib.request.Request(
    os.environ["MODEL_URL"] + "/v1/chat/completions",
    json.dumps({"model": "m", "messages": [{"role": "user", "content": "a title please"}]}).encode(),
    {"Content-Type": "application/json"},
)
title = json.load(urllib.request.urlopen(ask))["choices"][0]["message"]["content"]
post("/tickets", {"partner": "4471", "title": title})
""",
    )
    outcome = project.ackgap("run", scenario(project, "python agent.py"), "--point", "*:applied")
    assert outcome.verdicts["tickets.POST/tickets#1:applied@default"] == "duplicate"
    cell = next(
        json.loads(line)
        for line in (outcome.directory / "cells.jsonl").read_text().splitlines()
        if "tickets#1:applied" in line
    )
    assert [finding["code"] for finding in cell["findings"] if finding["kind"] == "duplicate"] == ["duplicate"]
    run = json.loads((outcome.directory / "run.json").read_text())
    facts = run["expectations"]["default"]["operations"]["tickets.POST/tickets"]
    assert "body.partner" in facts["identity"]
    assert "body.title" in facts["content_learned"]


@pytest.mark.slow
def test_a_client_that_gives_up_while_it_is_parked_proves_nothing(project):
    project.write("agent.py", POST + 'post("/tickets", {"a": 1}, timeout=0.6)\n')
    path = scenario(
        project, "python agent.py", worker="python_injector = false", more="[limits]\nquiet_s = 2.0\nsettle_s = 5.0\n"
    )
    outcome = project.ackgap("run", path, "--point", "tickets.*:applied")
    assert outcome.verdicts["tickets.POST/tickets#1:applied@default"] == "inconclusive"
    assert outcome.status == 3
    assert "parked" in outcome.out


@pytest.mark.slow
def test_when_the_targets_clock_jumps_later_lives_see_the_same_time(project):
    project.write("agent.py", POST + 'post("/tickets", {"a": 1, "now": time.time(), "monotonic": time.monotonic()})\n')
    outcome = project.ackgap(
        "run", scenario(project, "python agent.py"), "--schedule", "kill@tickets.POST/tickets#1:applied,down=72h"
    )
    history = outcome.history("kill@tickets.POST/tickets#1:applied,down=3d@default")
    first, second = (event["content"] for event in events(history, "effect_applied"))
    assert 72 * 3600 <= second["now"] - first["now"] < 72 * 3600 + 120
    assert second["monotonic"] - first["monotonic"] < 120
    one, two = (event["clock_s"] for event in events(history, "effect_applied"))
    assert 72 * 3600 <= two - one < 72 * 3600 + 120


@pytest.mark.slow
def test_where_the_worker_s_clock_cannot_be_moved_the_finding_says_so(project):
    project.write("agent.py", POST + 'post("/tickets", {"a": 1})\n')
    path = scenario(project, "python agent.py", worker="python_injector = false")
    outcome = project.ackgap("run", path, "--schedule", "kill@tickets.POST/tickets#1:applied,down=72h")
    (line,) = [line for line in (outcome.directory / "cells.jsonl").read_text().splitlines() if "down=3d" in line]
    assert "worker_clock_unmoved" in [finding["code"] for finding in json.loads(line)["findings"]]


@pytest.mark.slow
def test_children_and_daemons_of_a_killed_worker_die_with_it(project):
    project.write(
        "agent.py",
        POST
        + """
import subprocess, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
daemon = (
    "import os, time\\n"
    "if os.fork(): os._exit(0)\\n"
    "os.setsid()\\n"
    "if os.fork(): os._exit(0)\\n"
    "open('daemon.' + str(os.getpid()), 'w').close()\\n"
    "time.sleep(600)\\n"
)
if not os.path.exists("started"):
    open("started", "w").close()
    subprocess.run([sys.executable, "-c", daemon])
    while not [name for name in os.listdir() if name.startswith("daemon.")]:
        time.sleep(0.01)
    pid = int([name for name in os.listdir() if name.startswith("daemon.")][0].split(".")[1])
    post("/tickets", {"a": 1, "daemon": pid})
    os.kill(pid, signal.SIGKILL)
else:
    pid = int([name for name in os.listdir() if name.startswith("daemon.")][0].split(".")[1])
    try:
        os.kill(pid, 0)
        post("/alive", {"daemon": pid})
    except ProcessLookupError:
        pass
    post("/tickets", {"a": 1, "daemon": pid})
""",
    )
    outcome = project.run_worker("python agent.py", "--point", "*tickets*:applied")
    history = outcome.history("tickets.POST/tickets#1:applied@default")
    (end,) = events(history, "incarnation_ended", incarnation=1)
    assert end["signal"] == 9
    assert end["leftover_count"] >= 1
    assert not events(history, "effect_applied", operation="tickets.POST/alive")


@pytest.mark.slow
def test_a_process_that_is_not_the_worker_cannot_write_into_a_ledger(project):
    """In the host's network any process can connect to a target; it is refused, and the history says so."""
    project.write(
        "agent.py",
        POST
        + """
with open(os.environ["OUTSIDE"], "w") as file:
    file.write(os.environ["TICKETS_URL"])
while not os.path.exists(os.environ["OUTSIDE"] + ".tried"):
    time.sleep(0.01)
post("/tickets", {"a": 1})
""",
    )
    meeting = project.path.parent / "meeting"
    stop = threading.Event()
    answers: list[bytes] = []

    def intrude() -> None:
        while not stop.is_set():
            if meeting.exists() and meeting.read_text():
                host, port = meeting.read_text().removeprefix("http://").split(":")
                meeting.unlink()
                try:  # it may be refused before it knows that it is connected
                    with socket.create_connection((host, int(port)), timeout=10) as intruder:
                        intruder.sendall(b"POST /tickets HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
                        answers.append(intruder.recv(100))
                except ConnectionError:
                    answers.append(b"")
                Path(f"{meeting}.tried").touch()
            time.sleep(0.01)

    thread = threading.Thread(target=intrude)
    thread.start()
    try:
        path = scenario(
            project,
            "python agent.py",
            worker=f'allow_write = ["{meeting}"]',
            more=f'[axes.a.values.b]\nenv = {{ OUTSIDE = "{meeting}" }}\n',
        )
        outcome = project.ackgap("run", path, "--network", "host", "--jobs", "1", "--point", "*:received")
    finally:
        stop.set()
        thread.join()
    history = outcome.history("undisturbed@a=b")
    assert answers[0] == b""
    assert len(events(history, "attempt_received")) == 1
    assert [note for note in events(history, "note") if note["code"] == "connection_refused"]


def test_a_stranger_on_the_control_channel_is_cut_off(tmp_path):
    import asyncio

    from ackgap.execute.channel import Channel

    heard = []

    async def scene() -> bytes:
        async def announced(connection, message):
            heard.append(message)

        channel = Channel(
            tmp_path / "c",
            life_of={"right": 1}.get,
            greeted=lambda *message: heard.append(message),
            announced=announced,
        )
        await channel.open()
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / "c"))
        writer.write(b'{"type":"hello","token":"wrong","pid":1}\n{"type":"reach","id":1}\n')
        answer = await reader.read()
        writer.close()
        await channel.close()
        return answer

    assert asyncio.run(scene()) == b""
    assert heard == []
    assert not (tmp_path / "c").exists()


def test_the_control_socket_is_for_this_user_only(tmp_path):
    import asyncio

    from ackgap.execute.channel import Channel

    async def nothing(connection, message): ...

    async def scene() -> int:
        channel = Channel(tmp_path / "c", life_of=lambda _: None, greeted=lambda *_: None, announced=nothing)
        await channel.open()
        mode = (tmp_path / "c").stat().st_mode & 0o777
        await channel.close()
        return mode

    assert asyncio.run(scene()) == 0o600


def test_no_code_of_the_package_reads_the_expected_verdicts_of_a_scenario():
    import ackgap

    package = Path(ackgap.__file__).parent
    found = [
        str(path)
        for path in package.rglob("*.py")
        if "expected.json" in path.read_text() or "expected.demo" in path.read_text()
    ]
    assert found == []


@pytest.mark.slow
def test_a_full_disk_is_one_clear_message(project):
    """A tiny file system, as full as can be: the harness says so and keeps what it has."""
    mount = project.path.parent / "small"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        project.write("agent.py", POST + 'post("/tickets", {"a": 1})\n')
        command = [
            sys.executable, "-m", "ackgap", "run", "--worker", "python agent.py", "--target", "tickets=any",
            "--env", "TICKETS_URL={tickets.url}", "--out", str(mount / "out"),
        ]  # fmt: skip
        done = subprocess.run(command, cwd=project.path, capture_output=True, text=True, timeout=120, check=False)
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=True)
    assert done.returncode in (1, 2, 3)  # 1 where the red cells were known before the disk was full
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr
    assert "next:" in done.stderr
