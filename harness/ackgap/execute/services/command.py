"""Any server that a command starts."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping

from ackgap.errors import HarnessFailed
from ackgap.execute.services.daemon import Daemon, Daemonised, free_port, port_answers
from ackgap.execute.services.service import Place, unknown
from ackgap.execute.workspace import fresh_copy
from ackgap.scenario.services import ServiceSpec

__all__ = ["CommandService"]

_COMMAND_LIMIT_S = 60.0


class CommandService(Daemonised):
    """A server that ackgap knows nothing about but its command.

    Without a reset command it is started anew, in an empty directory, for each cell.

    Args:
        spec: What the scenario says.
        place: Where it may run.
    """

    def __init__(self, spec: ServiceSpec, place: Place) -> None:
        self.name = spec.name
        self._spec = spec
        self._place = place
        self._port = free_port()
        self._directory = place.directory / "work"
        self._began_new = False
        self._start_limit_s = spec.ready.limit_s

    def parts(self) -> Mapping[str, str]:
        """Return its placeholders."""
        return {"host": "127.0.0.1", "port": str(self._port), "directory": str(self._directory)}

    def start(self) -> None:
        """Start it and wait until it is ready.

        Raises:
            HarnessFailed: It did not come up.
        """
        fresh_copy(None, self._directory, limit_bytes=0)
        assert self._spec.command is not None
        self._daemon = Daemon(
            self.name,
            [self._place.fill(word) for word in self._spec.command],
            directory=self._directory,
            env=self._environment(),
            log=self._place.directory / "log",
            end=signal.SIGTERM,
        )
        self._daemon.start(self.is_up, self._start_limit_s)
        self._began_new = True

    def renew(self) -> None:
        """Run its reset command, or start it anew.

        Raises:
            HarnessFailed: The command failed, or the server did not come back.
        """
        if self._began_new:
            self._began_new = False
            return
        if self._spec.reset is None:
            self.stop()
            self.start()
            self._began_new = False
            return
        code, text = self._run(self._spec.reset)
        if code != 0:
            raise HarnessFailed(
                f"the reset command of the service {self.name} failed with exit status {code}: {text[-300:]}",
                where=" ".join(self._spec.reset),
                next_step="it has to succeed before every cell; run it by hand to see why it does not",
            )
        if self._daemon is not None:
            self._daemon.mark_log()

    def digest(self) -> str | None:
        """Return what the digest command prints, None where there is none."""
        if self._spec.digest is None:
            return None
        code, text = self._run(self._spec.digest)
        return text if code == 0 else unknown()

    async def drain(self) -> None:
        """Nothing is known of it."""

    def _environment(self) -> dict[str, str]:
        told = {name: self._place.fill(text) for name, text in self._spec.env.items()}
        kept = {name: value for name, value in os.environ.items() if not name.startswith("ACKGAP_")}
        return {**kept, **told, "ACKGAP_RUN": self._place.run_token}

    def is_up(self) -> bool:
        """Whether it is ready, by the scenario's own test."""
        ready = self._spec.ready
        if ready.command is not None:
            return self._run(ready.command)[0] == 0
        if ready.log is not None:
            return self._daemon is not None and self._daemon.has_printed(ready.log)
        return port_answers(self._port)

    def _run(self, command: tuple[str, ...]) -> tuple[int, str]:
        try:
            done = subprocess.run(
                [self._place.fill(word) for word in command],
                cwd=self._directory,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=_COMMAND_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return -1, str(error)
        return done.returncode, done.stdout
