"""What the injector costs inside a worker: microseconds a call and a durable write, and milliseconds a start.

One worker runs under the injector and one without; batches of the same work alternate between them. The other end of
the channel answers at once, in a process of its own, so that what is measured is the injector and two crossings of a
socket, without what the supervisor does while a worker is parked.

python benchmarks/announcement.py [--write]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Self

from measure import Interval, machine, pairs, timed

import ackgap

INJECTOR_PATH = Path(ackgap.__file__).parent / "worker" / "path"
BATCH = 200
COUNT = 25
STARTS = 15

WORKER = """
import http.client, json, os, socket, sqlite3, sys, time
connection = http.client.HTTPConnection(os.environ["PLACE"])
database = sqlite3.connect("state.db")
database.execute("PRAGMA synchronous = OFF")
database.execute("CREATE TABLE IF NOT EXISTS t (n)")

def call():
    connection.request("POST", "/tickets", b"{}")
    connection.getresponse().read()

def commit():
    database.execute("INSERT INTO t VALUES (1)")
    database.commit()

def replace():
    descriptor = os.open("state.new", os.O_CREAT | os.O_WRONLY)
    os.close(descriptor)
    os.replace("state.new", "state.json")

def crossing():
    message = {"type": "reach", "id": 1, "kind": "call", "phase": "sending", "path": "/tickets", "pending": []}
    channel.sendall(json.dumps(message).encode() + b"\\n")
    json.loads(channel.recv(4096))

channel = socket.socket(socket.AF_UNIX)
channel.connect(os.environ["ECHO"])

for line in sys.stdin:
    name, _, times = line.partition(" ")
    work = globals()[name]
    began = time.perf_counter()
    for _ in range(int(times)):
        work()
    print(time.perf_counter() - began, flush=True)
"""
WORK = {
    "call": "HTTP call through http.client, answered with a body",
    "commit": "sqlite3 transaction of one row",
    "replace": "file put in place by os.replace",
}


def answer_calls(port: Connection) -> None:
    """Be an HTTP server that answers every request of one client at a time with the same bytes."""
    listener = socket.create_server(("127.0.0.1", 0))
    port.send(listener.getsockname()[1])
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"

    def serve(client: socket.socket) -> None:
        buffer = b""
        while data := client.recv(65536):
            buffer += data
            while b"\r\n\r\n{}" in buffer:
                buffer = buffer.partition(b"\r\n\r\n{}")[2]
                client.sendall(reply)

    _serve(listener, serve)


def answer_announcements(path: str, counts: Connection) -> None:
    """Be the other end of the channel: let everybody go on at once, and tell how many announcements came."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    counts.send(0)
    seen = [0]

    def serve(worker: socket.socket) -> None:
        with worker.makefile("rb") as lines:
            for line in lines:
                message = json.loads(line)
                if message["type"] == "reach":
                    seen[0] += 1
                    worker.sendall(b'{"id": %d, "go": true}\n' % message["id"])

    threading.Thread(target=_tell, args=(counts, seen), daemon=True).start()
    _serve(listener, serve)


def _tell(counts: Connection, seen: list[int]) -> None:
    while counts.recv():
        counts.send(seen[0])


def _serve(listener: socket.socket, serve: Callable[[socket.socket], None]) -> None:
    while True:
        client, _ = listener.accept()
        if client.family == socket.AF_INET:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(client,), daemon=True).start()


class Bench:
    """Both servers, and environments with and without the injector. A context manager."""

    def __enter__(self) -> Self:
        """Start the servers."""
        self._ends = ExitStack()
        self.directory = Path(self._ends.enter_context(tempfile.TemporaryDirectory()))
        channel = str(self.directory / "channel")
        ports, self._counts = self._server(answer_calls), self._server(answer_announcements, channel)
        place = f"127.0.0.1:{ports.recv()}"
        self._counts.recv()
        inherited = {name: text for name, text in os.environ.items() if not name.startswith("ACKGAP_")}
        self.plain = inherited | {"PLACE": place, "ECHO": channel}
        config = {"workspace": str(self.directory), "targets": {place: "tickets"}, "guard_egress": True}
        self.injected = self.plain | {
            "PYTHONPATH": str(INJECTOR_PATH),
            "ACKGAP_CHANNEL": channel,
            "ACKGAP_TOKEN": "benchmark",
            "ACKGAP_CONFIG": json.dumps(config),
        }
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def _server(self, target: Callable[..., None], *arguments: str) -> Connection:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.get_context("spawn").Process(target=target, args=(*arguments, theirs), daemon=True)
        process.start()
        self._ends.callback(process.join, 10)
        self._ends.callback(process.terminate)
        return ours

    def announcements(self) -> int:
        """Return how many announcements have come so far."""
        self._counts.send(True)
        return int(self._counts.recv())

    def worker(self, name: str, env: dict[str, str]) -> Callable[[str], float]:
        """Start a worker and return what makes it do a batch and returns the seconds of it."""
        folder = self.directory / name
        folder.mkdir()
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            cwd=folder,
            env=env,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._ends.callback(process.wait, 10)
        self._ends.callback(process.kill)
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def batch(work: str) -> float:
            stdin.write(f"{work} {BATCH}\n")
            stdin.flush()
            return float(stdout.readline())

        return batch


def report() -> Iterator[str]:
    """Yield the lines of the benchmark."""
    yield f"machine: {machine()}"
    yield f"Median of {COUNT} pairs of {BATCH} [smallest to largest]; batches with and without the injector alternate."
    yield ""
    with Bench() as bench:
        plain, injected = bench.worker("plain", bench.plain), bench.worker("injected", bench.injected)
        for work, title in WORK.items():
            plain(work)
            before = bench.announcements()
            injected(work)
            each = round((bench.announcements() - before) / BATCH)
            if each < 2:
                raise SystemExit(f"{work}: {each} announcements each; the injector is not at work")
            found = pairs(
                lambda work=work: plain(work),  # type: ignore[misc]
                lambda work=work: injected(work),  # type: ignore[misc]
                count=COUNT, at_least=5, budget_s=25,
            )  # fmt: skip
            yield f"{title}: {each} announcements"
            yield f"  without       {Interval.of([first / BATCH * 1e6 for first, _ in found]).text('8.1f')} us"
            added = [(second - first) / BATCH * 1e6 for first, second in found]
            yield f"  added         {Interval.of(added).text('8.1f')} us"
            yield f"  added for one {Interval.of([number / each for number in added]).text('8.1f')} us"
        crossings = [plain("crossing") / BATCH * 1e6 for _ in range(COUNT)]
        yield "a message and its reply over the same socket, without the injector"
        yield f"  each          {Interval.of(crossings).text('8.1f')} us"
        starts = pairs(
            lambda: timed(lambda: _start(bench.plain)),
            lambda: timed(lambda: _start(bench.injected)),
            count=STARTS, at_least=5, budget_s=20,
        )  # fmt: skip
        yield f"start of an interpreter that does nothing, {len(starts)} pairs"
        yield f"  without       {Interval.of([first * 1e3 for first, _ in starts]).text('8.1f')} ms"
        yield f"  added         {Interval.of([(second - first) * 1e3 for first, second in starts]).text('8.1f')} ms"


def _start(env: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-c", "pass"], env=env, check=True)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the output in announcement.txt")
    options = parser.parse_args()
    lines = []
    for line in report():
        print(line, flush=True)
        lines.append(line)
    if options.write:
        Path(__file__).with_suffix(".txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
