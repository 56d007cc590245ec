"""Faults of a real network: Toxiproxy between worker, targets and services, and the recipe of the documents."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import psutil
import pytest
from images import engine
from needs import need, needed

from ackgap.execute.services import toxiproxy_program
from ackgap.execute.services.postgres import find_binaries
from ackgap.execute.services.toxiproxy_program import obtain_toxiproxy
from ackgap.matrix_run import run_matrix

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
FOLDERS = sorted(path.parent for path in (REPOSITORY / "scenarios" / "network").glob("*/scenario.toml"))
RECIPE = (REPOSITORY / "docs" / "network-and-containers.md").read_text().partition("## A network that fails")[2]
BLOCK = re.compile(r"<!-- (.*?) -->\n\n```\w*\n(.*?)```\n", re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def toxiproxy():
    with needed():
        obtain_toxiproxy()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_verdicts_of_a_known_answer(folder, tmp_path):
    if folder.name.startswith("database"):
        need("psycopg", hint="pip install 'psycopg[binary]'")
        with needed():
            find_binaries()
    expected = json.loads((folder / "expected.json").read_text())
    schedules = [cell.rpartition("@")[0] for cell in expected]
    found = run_matrix(folder, root=tmp_path, directory=tmp_path / "out", schedules=schedules)
    assert {cell: found.verdicts.get(cell) for cell in expected} == expected
    if folder.name == "black-hole-broken":
        said = [finding.summary for cell in found.cells for finding in cell.findings]
        assert any("with the network disturbed: no-answer at the link to tickets" in text for text in said)


def test_the_recipe_of_the_documents_can_be_followed(project):
    orders = BLOCK.findall(RECIPE.partition("\n## ")[0])
    assert [order for order, _ in orders] == ["file: agent.py", "file: scenario.toml", "run, exit 1"]
    for order, text in orders[:2]:
        project.write(order.removeprefix("file: "), text)
    command = shlex.split(orders[2][1].removeprefix("$ ackgap "))
    outcome = project.ackgap(*command)
    assert outcome.status == 1, outcome.out + outcome.err
    (cell,) = (name for name in outcome.verdicts if name != "undisturbed@default")
    assert outcome.verdicts[cell] == "duplicate"
    notes = [event["text"] for event in outcome.history(cell) if event.get("code", "").startswith("toxic_")]
    assert notes == [
        "network: cut-answer is on at the link to tickets (limit_data, downstream, bytes=0)",
        "network: cut-answer is off again: tickets.create#2:received was reached",
    ]


TWO = """
name = "two"
[worker]
command = "{python} worker.py"
env = { TICKETS_URL = "{tickets.url}", REDIS_PORT = "{memory.port}" }
[targets.tickets]
profile = "case-management"
[services.memory]
kind = "redis"
[toxics.no-answer]
link = "tickets"
type = "limit_data"
bytes = 0
[toxics.memory-gone]
link = "memory"
type = "down"
"""
REMEMBERS = """
import json, os, socket, time, urllib.request

def redis(*words):
    with socket.create_connection(("127.0.0.1", int(os.environ["REDIS_PORT"])), timeout=5) as connection:
        parts = "".join(f"${len(word)}\\r\\n{word}\\r\\n" for word in words)
        connection.sendall(f"*{len(words)}\\r\\n{parts}".encode())
        return connection.recv(4096).decode()

def until_it_is_back(*words):
    for _ in range(50):
        try:
            if said := redis(*words):
                return said
        except OSError as error:
            print("failed:", error, flush=True)
        time.sleep(0.1)
    raise SystemExit("gave up")

if until_it_is_back("GET", "ticket").startswith("$-1"):
    body = json.dumps({"partner_id": "4471", "kind": "review", "title": "t"}).encode()
    request = urllib.request.Request(os.environ["TICKETS_URL"] + "/tickets", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=2) as answer:
        json.load(answer)
    until_it_is_back("SET", "ticket", "filed")
"""
POINT = "tickets.create#1:applied"


def test_links_to_a_service_and_to_a_target_carry_lives_beside_and_after_each_other(project):
    project.write("worker.py", REMEMBERS)
    project.write("scenario.toml", TWO)
    expected = {
        f"toxic@{POINT},name=memory-gone,for=1s": "ok",
        # It ends with an error, and the next life knows of no ticket.
        f"toxic@{POINT},name=no-answer": "duplicate",
        f"toxic@{POINT},name=no-answer;2.toxic@{POINT},name=memory-gone,for=1s": "duplicate",
        f"pause@{POINT}": "duplicate",
        "pause@tickets.create#1:received": "duplicate",
        f"{POINT}": "duplicate",
    }
    outcome = project.ackgap(
        "run", "--quiet", "scenario.toml", *(word for text in expected for word in ("--schedule", text))
    )
    verdicts = {cell.removesuffix("@default"): verdict for cell, verdict in outcome.verdicts.items()}
    assert verdicts == {"undisturbed": "ok", **expected}, outcome.out + outcome.err
    attempts = [event for event in outcome.history(f"pause@{POINT}@default") if event["kind"] == "attempt_received"]
    assert [attempt["incarnation"] for attempt in attempts] == [1, 2]


def test_toxiproxy_ends_with_a_harness_that_is_killed(project):
    project.write("worker.py", REMEMBERS)
    project.write("scenario.toml", TWO)
    command = [sys.executable, "-m", "ackgap", "run", "scenario.toml", "--out", "out", "--jobs", "2"]
    harness = subprocess.Popen(command, cwd=project.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        found = _wait_for(lambda: _servers(harness.pid))
    finally:
        harness.send_signal(signal.SIGKILL)
        harness.wait()
    assert found
    _wait_for(lambda: not any(server.is_running() for server in found))
    assert not any(server.is_running() for server in found)


def _servers(pid: int) -> list[psutil.Process]:
    family = psutil.Process(pid).children(recursive=True)
    return [member for member in family if member.is_running() and "toxiproxy-server" in member.name()]


def _wait_for(what, limit_s: float = 30.0):
    ends_s = time.monotonic() + limit_s
    while not (found := what()) and time.monotonic() < ends_s:
        time.sleep(0.05)
    return found


def test_a_machine_without_toxiproxy_is_told_how_to_get_it(tmp_path):
    folder = REPOSITORY / "scenarios" / "network" / "answer-broken"
    command = [sys.executable, "-m", "ackgap", "run", str(folder), "--out", str(tmp_path / "out")]
    env = {**os.environ, "PATH": str(tmp_path), "ACKGAP_CACHE": str(tmp_path / "cache"), "GOFLAGS": "-mod=vendor"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "there is no `toxiproxy-server` on PATH" in done.stderr
    assert "install Toxiproxy, or Go" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_program_is_taken_out_of_an_image_that_docker_has(tmp_path, monkeypatch):
    api = engine()
    program = Path(obtain_toxiproxy())
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(program, "toxiproxy")
    api.import_image_from_data(packed.getvalue(), repository="shopify/toxiproxy", tag="of-a-test")
    monkeypatch.setenv("ACKGAP_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toxiproxy_program, "_build", lambda _kept: "Go is not here either")
    try:
        taken = Path(obtain_toxiproxy())
    finally:
        api.remove_image("shopify/toxiproxy:of-a-test")
        api.close()
    assert taken == tmp_path / "toxiproxy" / "toxiproxy-server"
    assert taken.read_bytes() == program.read_bytes()
    assert os.access(taken, os.X_OK)
