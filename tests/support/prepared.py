"""ackgap as a command, forked from a process that has imported it once.

To start an interpreter and import all of ackgap takes more than a second of processor time, and the tests run hundreds
of commands. What is forked goes through `ackgap.cli.main` and ends like any interpreter. What a fork could not show is
started afresh: see `needs_a_start`; and tests of the start itself call `python -m ackgap`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

__all__ = ["Prepared"]

_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_")
"""Beginnings of variables that an interpreter reads only when it starts."""


class Prepared:
    """Runs commands of ackgap. A context manager; the process is made with the first command."""

    def __init__(self) -> None:
        self._environment = dict(os.environ)
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.stdin.close()
            self._server.wait(10)
            self._server.stdout.close()

    def run(self, arguments: Sequence[str], *, directory: Path, limit_s: float) -> subprocess.CompletedProcess[str]:
        """Run one command and return what came of it.

        Raises:
            subprocess.TimeoutExpired: It took too long, and was killed.
        """
        command = [sys.executable, "-m", "ackgap", *arguments]
        if self.needs_a_start(os.environ):
            return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=limit_s, check=False)
        with tempfile.TemporaryDirectory(prefix="ackgap-test-") as kept:
            said = [Path(kept, name) for name in ("out", "err")]
            self._tell(
                arguments=list(arguments), directory=str(directory), env=dict(os.environ), said=[*map(str, said)]
            )
            pid = self._answer(limit_s)["pid"]
            try:
                status = self._answer(limit_s)["status"]
            except TimeoutError:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                self._answer(10)
                raise subprocess.TimeoutExpired(command, limit_s, *(one.read_bytes() for one in said)) from None
            out, err = (one.read_text() for one in said)
        return subprocess.CompletedProcess(command, status, out, err)

    def needs_a_start(self, environment: Mapping[str, str]) -> bool:
        """Whether something is set that only the start of an interpreter would heed, or this system forks badly."""

        def heeded(of: Mapping[str, str]) -> dict[str, str]:
            return {key: value for key, value in of.items() if key.startswith(_AT_START)}

        return sys.platform != "linux" or heeded(environment) != heeded(self._environment)

    def _tell(self, **message: Any) -> None:
        if self._server is None:
            command = [sys.executable, __file__]
            # Without buffers: what is read ahead would no longer be there to wait for.
            self._server = subprocess.Popen(
                command, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
        self._server.stdin.write(json.dumps(message).encode() + b"\n")

    def _answer(self, limit_s: float) -> dict[str, int]:
        if not select.select([self._server.stdout], [], [], limit_s)[0]:
            raise TimeoutError
        return json.loads(self._server.stdout.readline())


def _serve() -> int:
    """Fork for each command; return the exit status in what was forked, and 0 here once nobody asks any more."""
    import importlib
    import pkgutil
    import threading

    import ackgap.__main__ as entry
    import ackgap.cli

    for module in pkgutil.iter_modules(ackgap.cli.__path__, "ackgap.cli."):
        importlib.import_module(module.name)
    importlib.import_module("ackgap.execute.slot")
    assert threading.active_count() == 1, "a thread would not survive the fork"
    asked, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)
    while line := asked.readline():
        pid = os.fork()
        if pid == 0:
            message = json.loads(line)
            os.close(asked.fileno())
            os.close(answers.fileno())
            _become(message, str(entry.__file__))
            return ackgap.cli.main()
        print(json.dumps({"pid": pid}), file=answers, flush=True)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(json.dumps({"status": status}), file=answers, flush=True)
    return 0


def _become(message: dict[str, Any], entry: str) -> None:
    """Take the place that `python -m ackgap` would have: directory, environment, arguments, output."""
    for number, path in enumerate(message["said"], 1):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    os.environ.clear()
    os.environ.update(message["env"])
    os.chdir(message["directory"])
    sys.argv[:] = [entry, *message["arguments"]]
    sys.path[0] = message["directory"]
    tempfile.tempdir = None  # as the environment says


if __name__ == "__main__":
    sys.exit(_serve())
