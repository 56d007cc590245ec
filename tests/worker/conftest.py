"""A small supervisor that speaks the protocol, a small HTTP service, and workers that run under the injector."""

import json
import os
import socket
import struct
import subprocess
import sys
import textwrap
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

INJECTOR_PATH = Path(__file__).parents[2] / "harness" / "ackgap" / "worker" / "path"
LIMIT_S = 60

Message = dict
Predicate = Callable[[Message], bool]


class Supervisor:
    """Records what workers announce; lets everything go on at once, except what it was told to hold."""

    def __init__(self, directory: Path) -> None:
        self.workspace = directory / "work"
        self.scratch = directory / "tmp"
        self.workspace.mkdir()
        self.scratch.mkdir()
        self.targets: dict[str, str] = {}
        self.config: dict = {}
        self.messages: list[Message] = []
        self.workers: list[subprocess.Popen] = []
        self._path = directory / "c"
        self._changed = threading.Condition()
        self._hold: Predicate = lambda message: False
        self._held: dict[int, tuple[socket.socket, Message]] = {}
        self._connections: list[socket.socket] = []
        self._readers: defaultdict[int, list[threading.Thread]] = defaultdict(list)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    # ------------------------------------------------------------ workers

    def environment(self, **extra: str) -> dict[str, str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("ACKGAP_", "PYTEST_"))}
        config = {
            "workspace": str(self.workspace),
            "targets": self.targets,
            "scratch": [str(self.scratch)],
            "guard_egress": True,
            **self.config,
        }
        env.update(
            PYTHONPATH=str(INJECTOR_PATH),
            TMPDIR=str(self.scratch),
            ACKGAP_CHANNEL=str(self._path),
            ACKGAP_TOKEN="token of this life",
            ACKGAP_CONFIG=json.dumps(config),
        )
        env.update(extra)
        return env

    def start(self, code: str, *arguments: str, python: str = sys.executable, **extra: str) -> subprocess.Popen:
        """Start a worker whose code is this."""
        script = self.workspace.parent / f"worker{len(self.workers)}.py"
        script.write_text(textwrap.dedent(code))
        worker = subprocess.Popen(
            [python, str(script), *arguments],
            cwd=self.workspace,
            env=self.environment(**extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.workers.append(worker)
        return worker

    def run(self, code: str, *arguments: str, python: str = sys.executable, **extra: str) -> str:
        """Run a worker to its end, which must be a good one, and return what it printed."""
        return self.finish(self.start(code, *arguments, python=python, **extra))

    def finish(self, worker: subprocess.Popen) -> str:
        out, err = worker.communicate(timeout=LIMIT_S)
        self.hear_out(worker)
        assert worker.returncode == 0, f"exit {worker.returncode}\n{out}\n{err}\n{self.said()}"
        assert not self.of_type("trouble"), self.of_type("trouble")
        assert err == "", err
        return out

    # ------------------------------------------------------------ messages

    def hear_out(self, worker: subprocess.Popen) -> None:
        """Read to its end what a worker that is over has said; it does not wait to be heard."""
        with socket.socket(socket.AF_UNIX) as last:
            try:
                last.connect(str(self._path))
            except OSError:
                return  # it plays dead
            last.sendall(b'{"type": "last"}\n')
            self.wait_for(lambda message: message["type"] == "last")  # whoever came before it has been let in
        self.messages.remove({"type": "last"})
        for thread in self._readers[worker.pid]:
            thread.join(LIMIT_S)

    def hold(self, predicate: Predicate) -> None:
        """Hold what stands at a matching announcement from now on."""
        with self._changed:
            self._hold = predicate

    def wait_for(self, predicate: Predicate) -> Message:
        """Return the first matching message, once it is there."""
        with self._changed:
            found = self._changed.wait_for(lambda: next(filter(predicate, self.messages), None), LIMIT_S)
        assert found, f"not announced; what was: {self.messages}"
        return found

    def wait_for_call(self, phase: str, path: str) -> Message:
        """Wait until a request for a path stands at a phase."""
        return self.wait_for(lambda one: one.get("phase") == phase and one.get("path") == path)

    def wait_for_write(self, phase: str, name: str) -> Message:
        """Wait until a durable write stands at a phase."""
        return self.wait_for(lambda one: one.get("phase") == phase and one.get("name") == name)

    def let_go(self) -> None:
        """Let everything that is held go on, and hold nothing any more."""
        with self._changed:
            self._hold = lambda message: False
            held, self._held = self._held, {}
        for connection, message in held.values():
            self._reply(connection, message)

    def let_go_once(self) -> None:
        """Let everything that is held now go on, and go on holding what is to be held."""
        with self._changed:
            held, self._held = self._held, {}
        for connection, message in held.values():
            self._reply(connection, message)

    def cut_off(self) -> None:
        """Behave as a harness that has died."""
        self._listener.close()
        for connection in self._connections:
            connection.shutdown(socket.SHUT_RDWR)

    def of_type(self, kind: str) -> list[Message]:
        return [message for message in self.messages if message["type"] == kind]

    @property
    def reached(self) -> list[Message]:
        return self.of_type("reach")

    def said(self) -> list[str]:
        """What was announced, in order: `sending POST /x`, `committing file.state.json.write`."""
        return [
            f"{one['phase']} {one['method']} {one['path']}"
            if one["kind"] == "call"
            else f"{one['phase']} {one['name']}"
            for one in self.reached
        ]

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.communicate()
        self.cut_off()
        for connection in self._connections:
            connection.close()
        for thread in self._threads[1:]:
            thread.join(LIMIT_S)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            self._readers[_pid_behind(connection)].append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection.makefile("rb") as lines:
                for line in lines:
                    self._take(connection, json.loads(line))
        except OSError:
            return

    def _take(self, connection: socket.socket, message: Message) -> None:
        with self._changed:
            self.messages.append(message)
            held = message["type"] == "reach" and self._hold(message)
            if held:
                self._held[len(self.messages)] = (connection, message)
            self._changed.notify_all()
        if message["type"] == "reach" and not held:
            self._reply(connection, message)

    @staticmethod
    def _reply(connection: socket.socket, message: Message) -> None:
        try:
            connection.sendall(json.dumps({"id": message["id"], "go": True}).encode() + b"\n")
        except OSError:
            return


def _pid_behind(connection: socket.socket) -> int:
    pid, *_ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return pid


class Service:
    """An HTTP service whose chunked answers come in two parts, the second when it is told to.

    Attributes:
        requests: `METHOD /path` of each request, as it was received.
        has_begun: The first part of an answer has been sent.
        may_complete: Whether the second part may be sent.
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.arrived = threading.Condition()
        self.has_begun = threading.Event()
        self.may_complete = threading.Event()
        self.may_complete.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_for_request(self, request: str) -> None:
        with self.arrived:
            assert self.arrived.wait_for(lambda: request in self.requests, LIMIT_S), self.requests

    def close(self) -> None:
        self.may_complete.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(LIMIT_S)


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with service.arrived:
                service.requests.append(f"{self.command} {self.path}")
                service.arrived.notify_all()
            getattr(self, "answer_" + self.path.strip("/").partition("?")[0].replace("/", "_"), self.answer_json)()

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer  # noqa: N815

        def answer_json(self) -> None:
            self.send_body(b'{"answer": 42}', "application/json")

        def send_body(self, body: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def answer_none(self) -> None:
            self.send_response(204)
            self.end_headers()

        def answer_empty(self) -> None:
            self.send_body(b"", "text/plain")

        def answer_event(self) -> None:
            self.send_body(b'event: message\ndata: {"answer": 42}\n\n', "text/event-stream")

        def answer_large(self) -> None:
            self.send_body(b"x" * 300_000, "text/plain")

        def answer_broken(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"only this")
            self.close_connection = True

        def answer_chunked(self) -> None:
            self.send_parts("text/plain", b"first\n", b"second\n")

        def answer_v1_chat_completions(self) -> None:
            if "stream" in self.headers.get("X-Answer", ""):
                parts = [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in ("for", "ty")]
                self.send_parts(
                    "text/event-stream",
                    f"data: {json.dumps(parts[0])}\n\n".encode(),
                    f"data: {json.dumps(parts[1])}\n\ndata: [DONE]\n\n".encode(),
                )
                return
            message = {"role": "assistant", "content": "forty-two"}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            document = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
            self.send_body(json.dumps(document).encode(), "application/json")

        def send_parts(self, kind: str, first: bytes, second: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(first), first))
            service.has_begun.set()
            service.may_complete.wait(LIMIT_S)
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(second), second))

        def log_message(self, *args: object) -> None:
            pass

    return Handler


@pytest.fixture
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    # The path of a UNIX socket has to be short, and a test's own directory is named after the test.
    supervisor = Supervisor(tmp_path_factory.mktemp("w"))
    yield supervisor
    supervisor.close()


@pytest.fixture
def service(supervisor: Supervisor) -> Iterator[Service]:
    service = Service()
    supervisor.targets[f"127.0.0.1:{service.port}"] = "tickets"
    supervisor.targets[f"localhost:{service.port}"] = "tickets"
    yield service
    service.close()
