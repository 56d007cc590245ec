"""`ackgap serve` as a user starts it, and what it serves without a process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ackgap.serve.served import ServedTargets
from ackgap.serve.spec import served_targets

LIMIT_S = 30
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(url: str, *, form: Any = None, body: Any = None, method: str | None = None, **headers: str) -> tuple[int, Any]:
    """Send a request and return status and JSON; `idempotency_key="k"` is the header Idempotency-Key."""
    data = urllib.parse.urlencode(form).encode() if form is not None else None
    if body is not None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method)
    for name, value in headers.items():
        request.add_header(name.replace("_", "-"), value)
    if body is not None and "content_type" not in headers:
        request.add_header("content-type", "application/json")
    try:
        with OPENER.open(request, timeout=LIMIT_S) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read() or b"null")


class Serving:
    """A running `ackgap serve --json`. Its lines can be waited for."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ackgap", "serve", "--json", *arguments],
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        # Ends what would otherwise wait for a line that never comes.
        self._watchdog = threading.Timer(LIMIT_S, self.process.kill)
        self._watchdog.start()
        first = self.line()
        assert first["kind"] == "serving"
        self.serving = first
        self.control = first["control"]
        self.urls = {target["name"]: target["url"] for target in first["targets"]}

    def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        text = self.process.stdout.readline()
        assert text, f"it ended: {self.process.stderr.read()}"
        return json.loads(text)

    def until(self, kind: str) -> dict[str, Any]:
        while True:
            document = self.line()
            if document["kind"] == kind:
                return document

    def interrupt(self, number: int = signal.SIGINT) -> tuple[int, dict[str, Any], str]:
        """Return exit status, last line and standard error."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=LIMIT_S)
        self._watchdog.cancel()
        return self.process.returncode, json.loads(out.splitlines()[-1]), err

    def kill(self) -> None:
        self._watchdog.cancel()
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[..., Serving]]:
    started: list[Serving] = []

    def start(*arguments: str) -> Serving:
        started.append(Serving(tmp_path, *arguments))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "ackgap", *arguments],
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "100"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return done

    return run


@pytest.fixture
def asked() -> Callable[..., tuple[int, Any]]:
    return ask


@pytest.fixture
def with_targets() -> Callable[..., Any]:
    """Run a coroutine function beside targets; blocking requests are for its threads (`asyncio.to_thread`)."""

    def run(work: Callable[[ServedTargets], Awaitable[Any]], *texts: str, **more: Any) -> Any:
        async def limited() -> Any:
            chosen = served_targets(texts, protections=more.pop("protections", ()), settings=more.pop("settings", ()))
            targets = ServedTargets(chosen, **more)
            async with asyncio.timeout(LIMIT_S):
                await targets.start()
                try:
                    return await work(targets)
                finally:
                    await targets.stop()

        return asyncio.run(limited())

    return run
