"""Redis: a server that keeps everything in memory and is emptied before each cell."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

from ackgap.errors import EnvironmentLacks, HarnessFailed
from ackgap.execute.services.daemon import Daemon, Daemonised, free_port
from ackgap.execute.services.service import Place, unknown
from ackgap.scenario.services import ServiceSpec

__all__ = ["Redis", "find_redis"]


def find_redis() -> str:
    """Return the path of the server.

    Raises:
        EnvironmentLacks: It is not installed.
    """
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        raise EnvironmentLacks(
            "Redis is not installed: there is no `redis-server` on PATH",
            where="kind = 'redis'",
            next_step="apt-get install redis-server (or brew install redis)",
        )
    return program


class Redis(Daemonised):
    """A Redis (or Valkey) server of this slot.

    Args:
        spec: What the scenario says.
        place: Where it may run.
    """

    def __init__(self, spec: ServiceSpec, place: Place) -> None:
        self.name = spec.name
        self._place = place
        self._port = free_port()
        self._can_digest = True

    def parts(self) -> Mapping[str, str]:
        """Return its placeholders."""
        return {"url": f"redis://127.0.0.1:{self._port}/0", "host": "127.0.0.1", "port": str(self._port)}

    def start(self) -> None:
        """Start it.

        Raises:
            EnvironmentLacks: It is not installed.
            HarnessFailed: It did not come up.
        """
        directory = self._place.directory
        options = {
            "port": str(self._port),
            "bind": "127.0.0.1",
            "dir": str(directory),
            "save": "",
            "appendonly": "no",
            "daemonize": "no",
            "enable-debug-command": "local",  # for the digest; since Redis 7
        }
        self._daemon = Daemon(
            self.name,
            [find_redis(), *(word for name, value in options.items() for word in (f"--{name}", value))],
            directory=directory,
            env={**os.environ, "ACKGAP_RUN": self._place.run_token},
            log=directory / "log",
            end=signal.SIGKILL,  # it keeps nothing
        )
        self._daemon.start(self.is_up, self._start_limit_s)

    def renew(self) -> None:
        """Drop all keys and functions, and whoever is still connected.

        Raises:
            HarnessFailed: It does not answer.
        """
        try:
            self._ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
            self._ask("FLUSHALL", "SYNC")
            self._ask("SCRIPT", "FLUSH")
            self._ask("FUNCTION", "FLUSH")  # an error before Redis 7, where there are none
        except OSError as error:
            raise HarnessFailed(
                f"the service {self.name} could not be made as new: {error}", where=f"127.0.0.1:{self._port}"
            ) from error
        if self._daemon is not None:
            self._daemon.mark_log()
        self._kept.unlink(missing_ok=True)

    def _keep(self) -> None:
        # As one that writes a journal of its own would find everything again; this one is spared the work.
        with contextlib.suppress(OSError):
            self._ask("SAVE")

    @property
    def _kept(self) -> Path:
        return self._place.directory / "dump.rdb"

    def digest(self) -> str | None:
        """Return Redis' own digest of all keys; None where it will not say."""
        if not self._can_digest:
            return None
        try:
            answer = self._ask("DEBUG", "DIGEST")
        except OSError:
            return unknown()
        self._can_digest = not answer.startswith("-")
        return answer if self._can_digest else None

    async def drain(self) -> None:
        """Nothing to wait for: a command that has been read is carried out at once."""

    def is_up(self) -> bool:
        """Whether it answers, and has loaded what it had kept."""
        try:
            return self._ask("PING").startswith("+PONG")
        except OSError:
            return False

    def _ask(self, *words: str) -> str:
        """Send a command whose answer is one line, and return that line.

        Raises:
            OSError: There is no connection, or no answer.
        """
        with socket.create_connection(("127.0.0.1", self._port), timeout=10) as connection:
            parts = "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
            connection.sendall(f"*{len(words)}\r\n{parts}".encode())
            line = b""
            while not line.endswith(b"\r\n"):
                piece = connection.recv(4096)
                if not piece:
                    raise ConnectionError("it hung up")
                line += piece
        return line.decode("utf-8", "replace").strip()
