"""`ackgap serve` as a process: what it prints, how it is steered, and how it ends."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

import pytest

CHARGE = {"amount": "2000", "currency": "eur"}
TICKET = {"partner_id": 7, "kind": "review", "title": "t", "body": "b"}
LIMIT_S = 30


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_events_come_as_lines_and_ctrl_c_ends_it_with_the_totals_and_status_0(serving, asked, number):
    served = serving("stripe", "--clock", "+1h")
    url = served.urls["stripe"]
    assert served.serving["environment"] == {"STRIPE_URL": url, "STRIPE_MCP": f"{url}/mcp"}
    status, first = asked(f"{url}/v1/charges", form=CHARGE, idempotency_key="k")
    assert status == 200
    assert served.until("attempt_received")["key"] == "k"
    assert served.until("attempt_answered")["decision"] == "applied"
    assert asked(f"{url}/v1/charges", form=CHARGE, idempotency_key="k")[1]["id"] == first["id"]
    assert served.until("attempt_answered")["decision"] == "replayed"
    assert asked(f"{served.control}/clock", body={"forward": "24h"})[1]["offset_s"] == 90_000
    assert served.until("note")["code"] == "clock_moved"
    assert asked(f"{url}/v1/charges", form=CHARGE, idempotency_key="k")[1]["id"] != first["id"]
    assert served.until("attempt_answered")["decision"] == "applied"
    assert asked(f"{served.control}/ledger")[1]["totals"]["effects"] == 2
    status, last, err = served.interrupt(number)
    assert (status, err) == (0, "")
    assert last["kind"] == "totals"
    assert [(action["effects"], action["repeated"]) for action in last["actions"]] == [(2, True)]


@pytest.mark.slow
def test_ports_and_protections_are_those_of_the_command_line(serving, asked):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
    served = serving(f"desk:case-management={port}", "any", "--protection", "desk=natural-key")
    assert served.urls["desk"] == f"http://127.0.0.1:{port}"
    first = asked(f"{served.urls['desk']}/tickets", body=TICKET)
    assert asked(f"{served.urls['desk']}/tickets", body={**TICKET, "title": "reworded"})[1] == first[1]
    assert served.interrupt()[1]["effects"] == 1


ASK_OPENAI = """
import openai
asked = [{"role": "user", "content": "hello"}]
print(openai.OpenAI().chat.completions.create(model="gpt-4o-mini", messages=asked).choices[0].message.role)
"""
ASK_ANTHROPIC = """
import anthropic
asked = [{"role": "user", "content": "hello"}]
print(anthropic.Anthropic().messages.create(model="claude-opus-4-1", max_tokens=99, messages=asked).role)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "program"), [("openai", ASK_OPENAI), ("anthropic", ASK_ANTHROPIC)])
def test_an_official_client_finds_its_service_by_the_printed_environment_alone(serving, profile, program):
    pytest.importorskip(profile)
    served = serving(profile)
    plain = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**plain, **served.serving["environment"]},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.stdout.strip() == "assistant", done.stderr
    status, last, _ = served.interrupt()
    assert (status, last["attempts"], last["effects"]) == (0, 1, 0)
    assert sum(last["costs"].values()) > 0


@pytest.mark.slow
def test_neither_an_idle_connection_nor_half_a_request_keeps_it_from_ending(serving):
    served = serving("any")
    port = int(served.urls["any"].rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as idle, socket.create_connection(("127.0.0.1", port)) as half:
        half.sendall(b"POST /things HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{")
        idle.sendall(b"GET /things HTTP/1.1\r\nHost: h\r\n\r\n")
        served.until("attempt_answered")
        status, last, err = served.interrupt()
    assert (status, err, last["attempts"]) == (0, "", 1)


@pytest.mark.slow
def test_a_reader_that_goes_away_ends_it_without_a_word(serving, asked):
    served = serving("any")
    served.process.stdout.close()
    with suppress(OSError):  # the end may come before the answer
        asked(f"{served.urls['any']}/things", body={})
    assert served.process.wait(LIMIT_S) == 0
    assert served.process.stderr.read() == ""


@pytest.mark.slow
def test_a_port_that_is_taken_is_the_user_s_mistake(command):
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        done = command("serve", f"stripe={holder.getsockname()[1]}")
    assert done.returncode == 2
    assert "is taken" in done.stderr.splitlines()[0]
    assert done.stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["strip"], "did you mean 'stripe'?"),
        (["stripe", "--clock=-3h"], "is not a duration"),
        (["stripe", "--host", "192.0.2.1"], "cannot listen on 192.0.2.1"),
        (["stripe", "--host", ""], "The address is empty"),
        (["stripe", "--drift", "-1"], "at least 0"),
        (["stripe", "--control", "65536"], "0 to 65535"),
        ([], "required"),
    ],
)
def test_mistakes_end_with_status_2_and_the_next_step(command, words, said):
    done = command("serve", *words)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.slow
def test_without_a_terminal_there_is_a_line_for_each_attempt_and_a_host_beyond_loopback_is_warned_of(tmp_path, asked):
    process = subprocess.Popen(
        [sys.executable, "-m", "ackgap", "serve", "any", "--host", "0.0.0.0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        url = process.stdout.readline().split()[1]
        port = url.rpartition(":")[2]
        while "Ctrl-C" not in process.stdout.readline():
            pass
        for _ in range(2):
            asked(f"http://127.0.0.1:{port}/things", body={"a": "\x1b[31m"}, idempotency_key="k")
        lines = [process.stdout.readline() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LIMIT_S)
    finally:
        process.kill()
        process.wait()
    assert "  effect  201 applied" in lines[0]
    assert "  effect ×2  201 applied" in lines[1]
    assert "2 attempts, 2 effects, 1 action repeated" in out
    assert "whoever reaches this machine" in err
    assert process.returncode == 0


@pytest.mark.slow
def test_a_terminal_shows_the_ledger_live_and_keeps_the_summary(tmp_path, asked):
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "30"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "ackgap", "serve", "case-management"],
        cwd=tmp_path,
        env=environment,
        stdin=follower,
        stdout=follower,
        stderr=follower,
    )
    os.close(follower)
    seen = Screen(leader)
    try:
        url = seen.until("CASE_MANAGEMENT_URL=").split("CASE_MANAGEMENT_URL=")[1].split()[0]
        seen.until("0 attempts")
        asked(f"{url}/tickets", body=TICKET)
        seen.until("applied: every request is applied")
        asked(f"{url}/tickets", body={**TICKET, "title": "\x1b[2Jreworded"})
        seen.until("effect ×2")
        seen.until("repeated")
        process.send_signal(signal.SIGINT)
        seen.until("2 attempts, 2 effects, 1 action repeated", after="every request is applied")
        assert process.wait(LIMIT_S) == 0
        assert seen.rest().endswith("repeated\r\n")
    finally:
        process.kill()
        process.wait()
        os.close(leader)


class Screen:
    """What a program writes to a terminal, without its control sequences."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._text = ""

    def until(self, wanted: str, *, after: str = "") -> str:
        ends_s = time.monotonic() + LIMIT_S
        while wanted not in self._text or not self._text.split(wanted)[1].strip("\r\n "):
            assert time.monotonic() < ends_s, f"no {wanted!r} in {self._text[-3000:]!r}"
            self._read(ends_s - time.monotonic())
        return self._text

    def rest(self) -> str:
        while self._read(1):
            pass
        return self._text

    def _read(self, limit_s: float) -> bool:
        if not select.select([self._file], [], [], max(0, limit_s))[0]:
            return False
        try:
            data = os.read(self._file, 65536)
        except OSError:  # nobody writes any more
            return False
        self._text += _plain(data.decode(errors="replace"))
        return bool(data)


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
