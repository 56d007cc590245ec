"""What a worker sends, prints and names does no harm to a reader, and no secret of it is written down anywhere."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ackgap.matrix_run import MatrixRun
from ackgap.report.store import read_run

pytestmark = pytest.mark.slow

WORKER = Path(__file__).with_name("hostile_worker.py")
HARM = {
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "escape": "\x1b[2J\x1b[31m",
    "clipboard": "\x1b]52;c;aGVsbG8=\x07",
    "link": "\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "c1": "\x9b31m\x90\x85",
    "bidi": "\u202e\u2066\u200f\u061c",
    "invisible": "\u200b\u200d\u2060\ufeff\u00ad\U000e0041",
    "null": "\x00\x08\r",
    "lines": "\u2028\u2029",
    "lone": "\ud83d",
    "markdown": "[click](http://evil.example) `tick` | bar\n# title\n::error::annotation",
}
TOKEN = "Zx81-qWv7Lm2Rk9Tn4Bd"
PASSWORD = 'p"ss&w0rd/ü-77'
DATABASE_PASSWORD = "db-hush-4711-xyz"
SIGNED = hashlib.sha256(TOKEN.encode()).hexdigest()
AWS = "AKIAIOSFODNN7EXAMPLQ"
SECRETS = (TOKEN, PASSWORD, DATABASE_PASSWORD, SIGNED, AWS)
HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)

SCENARIO = f"""
name = "hostile"
title = {json.dumps("Hostile " + HARM["script"] + HARM["bidi"])}
about = {json.dumps("Prints " + HARM["markdown"])}

[worker]
command = "python hostile_worker.py"
env = {{ TICKETS_URL = "{{tickets.url}}", DATABASE_URL = "postgres://agent:{DATABASE_PASSWORD}@db.example/x" }}

[targets.tickets]
profile = "case-management"
protection = "idempotency-key"

[axes.key]
title = {json.dumps("Key " + HARM["escape"])}

[axes.key.values.none]
about = {json.dumps(HARM["script"] + HARM["link"])}
env = {{ KEY = "" }}

[axes.key.values.fixed]
env = {{ KEY = "ticket-4471" }}
"""


def environment() -> dict[str, str]:
    given = {"HUSH_TOKEN": TOKEN, "HUSH_PASSWORD": PASSWORD, "HARM": json.dumps(HARM)}
    return {**os.environ, **given, "AWS_ACCESS_KEY_ID": AWS}


def ackgap(directory: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "ackgap", *arguments]
    env = {**environment(), **more}
    return subprocess.run(command, cwd=directory, env=env, capture_output=True, timeout=200, check=False)


def settled_in(home: Path) -> Path:
    """Put the worker and its scenario into a directory, and return that."""
    shutil.copy(WORKER, home)
    (home / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    return home


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A run of the worker, killed at three points in two variants; and what every command then prints of it."""
    home = settled_in(tmp_path_factory.mktemp("hostile"))
    cell, plain_cell = "tickets.create#1:applied@key=none", "tickets.POST/tickets#1:applied@default"
    flags = ["--target", "tickets=any", "--env", "TICKETS_URL={tickets.url}", "--env", f"API_PASSWORD={PASSWORD}"]
    given = ["--env", "ODD=1", "--env", "DATABASE_URL=", "--point", "*:applied"]
    effort = ["--only", "key=none", "--examples", "2", "--shrinks", "1", "--out", "found"]
    said = {
        "run": ackgap(home, "run", ".", "--point", "*:applied", "--point", "*:committed", "--out", "out"),
        "run by flags": ackgap(
            home, "run", "--worker", f"python hostile_worker.py --token {TOKEN}", *flags, *given, "--out", "flags"
        ),
        "show in colour": ackgap(home, "show", "out", FORCE_COLOR="1", COLUMNS="60"),
        "show in ASCII": ackgap(home, "show", "out", LC_ALL="C"),
        "show a cell": ackgap(home, "show", "out", cell),
        "trace": ackgap(home, "trace", "out", cell),
        "trace as JSON": ackgap(home, "trace", "--json", "out", cell),
        "replay": ackgap(home, "replay", "out", cell),
        "replay of flags": ackgap(home, "replay", "flags", plain_cell, API_PASSWORD=PASSWORD),
        "search": ackgap(home, "search", ".", *effort),
        "a cell that is none": ackgap(home, "show", "out", f"{HARM['escape']}{HARM['bidi']}"),
        "a directory that is none": ackgap(home, "show", f"nowhere{HARM['clipboard']}{HARM['bidi']}"),
    }
    for what, done in said.items():
        assert b"Traceback" not in done.stderr, (what, done.stderr.decode())
    return home, {what: done.stdout + done.stderr for what, done in said.items()}


def secrets_in(data: bytes) -> list[str]:
    """Return the secrets that are in what was written, as they are or as JSON and addresses have them."""
    text = data.decode("utf-8", "replace")
    ways = [text, text.replace('\\"', '"').replace("\\u00fc", "ü"), text.replace("%22", '"').replace("%26", "&")]
    return [secret for secret in SECRETS if any(secret in way for way in ways)]


def test_the_verdicts_are_those_of_a_harmless_worker(run: tuple[Path, dict[str, bytes]]) -> None:
    home, _ = run
    found = {cell.cell: cell.verdict.kind.value for cell in read_run(home / "out").cells}
    assert found["tickets.create#1:applied@key=none"] == "duplicate"
    assert found["tickets.create#1:applied@key=fixed"] == "ok"
    committed = {cell: verdict for cell, verdict in found.items() if ":committed@" in cell}
    assert len(committed) == 4
    assert all("\x1b[31m\u202e" in cell and "<script>" in cell for cell in committed)
    assert {verdict for cell, verdict in committed.items() if "replace" in cell} == {"ok"}
    assert found["undisturbed@key=fixed"] == "ok"
    attempt = next(event for event in read_run(home / "out").history("undisturbed@key=fixed").attempts)
    assert attempt.key == "ticket-4471"


def test_the_worker_did_send_and_print_all_of_it(run: tuple[Path, dict[str, bytes]]) -> None:
    home, printed = run
    history = read_run(home / "out").history("tickets.create#1:applied@key=none")
    text = json.dumps(history.to_json())
    assert "[redacted]" in text
    assert "<script>" in text
    assert "\\u202e" in text
    assert any("environment: {" in end.output_tail for end in history.ends.values()) or "DATABASE_URL=" in text
    assert b"\\x1b" in printed["trace"]


@pytest.mark.parametrize(
    "name", ["run.json", "cells.jsonl", "histories.jsonl", "source.json", "junit.xml", "summary.md", "report.html"]
)
@pytest.mark.parametrize("directory", ["out", "flags", "found"])
def test_no_file_of_a_run_has_a_secret(run: tuple[Path, dict[str, bytes]], directory: str, name: str) -> None:
    path = run[0] / directory / name
    assert secrets_in(path.read_bytes()) == []


PRINTED = [
    "run", "run by flags", "show in colour", "show in ASCII", "show a cell", "trace", "trace as JSON", "replay",
    "replay of flags", "search", "a cell that is none", "a directory that is none",
]  # fmt: skip


@pytest.mark.parametrize("what", PRINTED)
def test_nothing_that_is_printed_has_a_secret(run: tuple[Path, dict[str, bytes]], what: str) -> None:
    assert secrets_in(run[1][what]) == []


@pytest.mark.parametrize("what", PRINTED)
def test_nothing_that_is_printed_has_power_over_a_terminal_or_an_eye(
    run: tuple[Path, dict[str, bytes]], what: str
) -> None:
    text = run[1][what].decode("utf-8")
    if what == "show in colour":
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert HARMFUL.findall(text) == []


@pytest.mark.parametrize("name", ["run.json", "cells.jsonl", "histories.jsonl", "source.json"])
def test_results_are_ascii_that_any_reader_of_json_reads(run: tuple[Path, dict[str, bytes]], name: str) -> None:
    text = (run[0] / "out" / name).read_bytes().decode("ascii")
    assert HARMFUL.findall(text) == []
    for line in text.splitlines() if name.endswith("l") else [text]:
        json.loads(line)


def test_junit_is_xml_without_harm(run: tuple[Path, dict[str, bytes]]) -> None:
    text = (run[0] / "out" / "junit.xml").read_text(encoding="utf-8")
    root = ET.fromstring(text)
    assert (
        HARMFUL.findall(
            "".join(root.itertext()) + "".join(value for item in root.iter() for value in item.attrib.values())
        )
        == []
    )
    assert HARMFUL.findall(text) == []
    assert not list(root.iter("script"))


def test_the_summary_has_no_markup_of_the_workers(run: tuple[Path, dict[str, bytes]]) -> None:
    text = (run[0] / "out" / "summary.md").read_text(encoding="utf-8")
    assert HARMFUL.findall(text) == []
    outside_code = re.sub(r"(`+).*?\1", "", text)
    assert re.findall(r"(?<!\\)<(?:script|img)", outside_code) == []


def test_a_replay_takes_secrets_that_were_not_written_down_from_its_environment(
    run: tuple[Path, dict[str, bytes]],
) -> None:
    home, printed = run
    assert b"[redacted]" in (home / "flags" / "source.json").read_bytes()
    assert b"Reproduced: duplicate" in printed["replay of flags"]
    refused = ackgap(home, "replay", "flags", "tickets.POST/tickets#1:applied@default", HUSH_PASSWORD="another")
    assert refused.returncode == 2
    assert b"--env API_PASSWORD" in refused.stderr


def test_nothing_of_a_megabyte_is_kept_but_its_digest(run: tuple[Path, dict[str, bytes]]) -> None:
    size = (run[0] / "out" / "histories.jsonl").stat().st_size
    assert size < 2_000_000
    assert b"xxxxxxxxxxxxxxxxx" * 1000 not in (run[0] / "out" / "histories.jsonl").read_bytes()


def test_the_failure_of_a_test_has_neither_harm_nor_secret(run: tuple[Path, dict[str, bytes]]) -> None:
    found = read_run(run[0] / "out")
    with pytest.raises(AssertionError) as failure:
        MatrixRun(run=found, cells=found.cells).assert_exactly_once()
    assert secrets_in(str(failure.value).encode()) == []
    assert HARMFUL.findall(str(failure.value)) == []
    assert "duplicate" in str(failure.value)


_NUMBERS = itertools.count(1)


class _Service(BaseHTTPRequestHandler):
    """A service that gives back in its answer what it was sent."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = {
            "id": f"T-{next(_NUMBERS)}",
            "seen": self.headers["Authorization"],
            "secret": self.headers["X-Api-Key"],
            **body,
            "big": "",
        }
        data = json.dumps(answer).encode()
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Set-Cookie", f"sid={PASSWORD}".encode("latin-1").decode("latin-1"))
        self.send_header("X-Note", TOKEN)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_recording_of_a_real_service_has_no_secret_and_answers_again(tmp_path: Path, service: str) -> None:
    home = settled_in(tmp_path)
    part = ["run", ".", "--point", "tickets.create#1:applied", "--only", "key=none"]
    recorded = ackgap(home, *part, "--out", "real", "--upstream", f"tickets={service}", "--record", "said.jsonl")
    assert b"Traceback" not in recorded.stderr
    data = (home / "said.jsonl").read_bytes()
    assert b"T-1" in data
    assert secrets_in(data) == []
    assert secrets_in(recorded.stdout + recorded.stderr) == []
    again = ackgap(home, *part, "--out", "again", "--replay", "tickets=said.jsonl")
    assert again.returncode == recorded.returncode == 1, again.stderr.decode()
    verdicts = [{cell.cell: cell.verdict.kind for cell in read_run(home / name).cells} for name in ("real", "again")]
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("form", ["lines", "json"])
def test_a_target_that_is_served_alone_shows_neither_harm_nor_secret(form: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ackgap", "serve", "any", *(["--json"] if form == "json" else [])]
    serving = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert serving.stdout is not None
    said = b""
    while (found := re.search(rb"http://127\.0\.0\.1:\d+", said)) is None or b"ontrol" not in said:
        said += serving.stdout.readline()
    env = {**environment(), "TICKETS_URL": found[0].decode(), "KEY": "k-1", "ODD": "1", "DATABASE_URL": "x"}
    worker = subprocess.run([sys.executable, str(WORKER)], cwd=tmp_path, env=env, capture_output=True, check=False)
    serving.terminate()
    out, err = serving.communicate(timeout=30)
    assert worker.returncode == 0, worker.stderr.decode()
    text = (said + out + err).decode("utf-8")
    assert "2 attempts" in text or '"attempt": 2' in text
    assert secrets_in(text.encode()) == []
    assert HARMFUL.findall(text) == []
