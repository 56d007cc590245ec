"""Workers that cannot be told an address: calls to https://api.example.com come to a target, and are judged as ever."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from needs import lacking, need

from ackgap.execute.isolation import can_isolate
from ackgap.matrix_run import run_matrix

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[2]
KNOWN = REPOSITORY / "scenarios" / "intercept"
RECIPE = (REPOSITORY / "docs" / "network-and-containers.md").read_text().partition("## Calls without a base URL")[2]
BLOCK = re.compile(r"<!-- (.*?) -->\n\n```\w*\n(.*?)```\n", re.DOTALL)
HINT = "pip install 'ackgap[intercept]'"

HOST = "tickets.example.com"
PYTHON = """
import json, sys, urllib.request
from pathlib import Path
request = urllib.request.Request(
    "https://tickets.example.com/tickets",
    json.dumps({"partner_id": "1", "kind": "k", "title": "t"}).encode(),
    {"Content-Type": "application/json"},
)
if not Path("done").exists():
    with urllib.request.urlopen(request) as answer:
        answer.read()
    Path("done").write_text("x")
"""
SWALLOWING = """
import os, urllib.request
urllib.request.urlopen(os.environ["OTHER_URL"] + "/x", b"{}").read()
try:
    urllib.request.urlopen("https://tickets.example.com/tickets", b"{}").read()
except OSError:
    pass
"""
ELSEWHERE = f"""{PYTHON}
try:
    urllib.request.urlopen("https://tickets.example.com:8443/pay", b"{{}}").read()
except OSError:
    pass
"""
ONLY_ELSEWHERE = """
import os, urllib.request
urllib.request.urlopen(os.environ["OTHER_URL"] + "/x", b"{}").read()
try:
    urllib.request.urlopen("https://tickets.example.com:8443/pay", b"{}").read()
except OSError:
    pass
"""
POINTS = {
    "undisturbed": "ok",
    "tickets.create#1:sending": "ok",
    "tickets.create#1:received": "ok",
    "tickets.create#1:applied": "duplicate",
    "tickets.create#1:returned": "duplicate",
}


def network_of_its_own() -> None:
    if not can_isolate():
        lacking("no network of its own is to be had; get it with: root, or unprivileged user namespaces")


def by_point(outcome):
    return {cell.partition("@")[0]: verdict for cell, verdict in outcome.verdicts.items()}


def run(project, *more, worker="python agent.py"):
    return project.ackgap(
        *("run", "--quiet", "--worker", worker, "--target", "tickets=case-management", "--host", f"{HOST}=tickets"),
        *more,
    )


@pytest.mark.parametrize("folder", sorted(path.parent for path in KNOWN.glob("*/scenario.toml")), ids=lambda p: p.name)
def test_the_verdicts_of_a_known_answer(folder, tmp_path):
    network_of_its_own()
    need("stripe", "httpx", hint=HINT)
    expected = json.loads((folder / "expected.json").read_text())
    found = run_matrix(folder, root=tmp_path, directory=tmp_path / "out", warm=True)
    assert found.verdicts == expected


def test_by_a_proxy_the_same_cells_have_the_same_verdicts_and_a_replay_knows_the_host(project):
    project.write("agent.py", PYTHON)
    outcome = run(project, "--network", "host", "--point", "tickets.*")
    assert (outcome.status, by_point(outcome)) == (1, POINTS), outcome.err
    assert json.loads((outcome.directory / "source.json").read_text())["flags"]["hosts"] == [f"{HOST}=tickets"]
    again = project.ackgap("replay", "out", "tickets.create#1:applied@default", "--network", "host")
    assert "duplicate" in again.out, again.err


def test_a_node_worker_knows_nothing_of_proxies_and_its_calls_come_to_the_target_as_the_recipe_says(project, program):
    network_of_its_own()
    program("node", "apt-get install nodejs")
    *files, (how, command) = BLOCK.findall(RECIPE.partition("\n## ")[0])
    for order, text in files:
        project.write(order.removeprefix("file: "), text)
    outcome = project.ackgap(*shlex.split(command.strip().removeprefix("$ ackgap ")))
    assert how == "run, exit 1"
    assert outcome.status == 1, outcome.err
    assert by_point(outcome) == {
        "undisturbed": "ok",
        "stripe.charges.create#1:received": "ok",
        "stripe.charges.create#1:applied": "duplicate",
    }


def test_a_client_that_does_not_trust_the_authority_is_named_although_the_worker_goes_on(project):
    project.write("agent.py", SWALLOWING)
    more = ("--target", "other=any", "--env", "OTHER_URL={other.url}", "--env", "SSL_CERT_FILE=/dev/null")
    outcome = run(project, *more, worker="python -S -E -I agent.py")
    assert outcome.status not in (0, 1)
    assert f"did not trust the certificate of {HOST}" in outcome.err
    assert "SSL_CERT_FILE" in outcome.err


def test_a_call_at_another_port_is_a_remark_although_the_worker_goes_on(project):
    network_of_its_own()
    project.write("agent.py", ELSEWHERE)
    outcome = run(project, "--point", "tickets.create#1:received")
    told = f"{HOST}:8443, which is led to a target at ports 443 and 80 alone"
    assert told in " ".join(outcome.out.split())
    shown = project.ackgap("show", "out", "tickets.create#1:received")
    assert f"life 2 tried to reach {told}, and was refused" in " ".join(shown.out.split())


def test_an_undisturbed_run_that_calls_a_host_at_another_port_alone_is_an_error_with_the_way_out(project):
    network_of_its_own()
    project.write("agent.py", ONLY_ELSEWHERE)
    outcome = run(project, "--target", "other=any", "--env", "OTHER_URL={other.url}")
    assert outcome.status not in (0, 1)
    assert f"tried to reach {HOST}:8443, which is led to a target at ports 443 and 80 alone" in outcome.err
    assert "at port 443" in outcome.err
    assert "--network host" not in outcome.err


def test_another_host_is_refused_by_the_proxy_and_named(project):
    project.write("agent.py", PYTHON.replace("https://tickets.example.com", "https://other.example.com"))
    outcome = run(project, "--network", "host")
    assert outcome.status not in (0, 1)
    assert "tried to reach other.example.com" in outcome.err
    assert "--host HOST=NAME" in outcome.err


def test_a_client_that_passes_the_proxy_by_is_told_what_to_do(project):
    direct = "urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({})))\n"
    project.write("agent.py", PYTHON.replace("request = ", direct + "request = ", 1))
    outcome = run(project, "--network", "host")
    assert outcome.status not in (0, 1)
    assert "passes the proxy by" in outcome.err


def test_hostile_clients_beside_the_work_change_nothing_and_hold_nothing_up(project):
    network_of_its_own()
    hostile = """
import socket
held = []
for said in (b"", b"\\x16\\x03\\x01\\x02", b"\\x00" * 5000, b"GET / HTTP/1.1\\r\\n\\r\\n"):
    sock = socket.create_connection(("tickets.example.com", 443))
    sock.sendall(said)
    held.append(sock)
"""
    project.write("agent.py", hostile + PYTHON)
    outcome = run(project, "--point", "tickets.create#1:*")
    assert (outcome.status, by_point(outcome)) == (1, POINTS), outcome.err
