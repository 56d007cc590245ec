"""One life of the worker as an operating system sees it: started, watched, stopped, killed, and its exit status.

What all lives have in common is here. `plain_process` has those that are processes of this machine, and
`containers.process` those that run in a container.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

from ackgap.errors import HarnessFailed
from ackgap.execute import containment
from ackgap.execute.nursery import Nursery
from ackgap.execute.trace.listening import Listener
from ackgap.target.wire.redaction import Redactor, tail_of

__all__ = ["GONE_LIMIT_S", "TOKEN_VARIABLE", "WorkerProcess"]

TOKEN_VARIABLE = "ACKGAP_TOKEN"  # noqa: S105 - the name of the variable, not a secret
_LINE_BYTES = 16384

GONE_LIMIT_S = 120.0
"""Real seconds; a killed process is gone once whoever reaps it has had his turn."""


class WorkerProcess(ABC):
    """A worker's main process and everything below it.

    Args:
        token: Secret of this life; it is in the environment of everything that the life starts.
        output_bytes: How much of what it prints is kept, from the end.
        in_doubt_when: Searched for in every line that it prints.
        redactor: Takes secrets out of what it prints, before anybody cuts a part out of that.

    Attributes:
        in_doubt_text: The line that matched.
        address: Its own address in the network of its targets; empty where it shares one with others.
        out_of_memory: The kernel has killed it, or some of it, because there was no memory left.
        listener: Gets hold of its system calls, where they are to stand.
    """

    def __init__(
        self,
        *,
        token: str,
        output_bytes: int,
        in_doubt_when: str | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.token = token
        self._redactor = redactor or Redactor()
        self._told: tuple[int, str] = (0, "")
        self._output = bytearray()
        self._output_count = 0
        self._output_limit_bytes = output_bytes
        self._line = bytearray()
        self._in_doubt_when = re.compile(in_doubt_when) if in_doubt_when else None
        self._pid: int | None = None
        self._return_code: int | None = None
        self._exited = asyncio.Event()
        self._output_ended = asyncio.Event()
        self.in_doubt_text: str | None = None
        self.address = ""
        self.out_of_memory = False
        self.listener: Listener | None = None

    @abstractmethod
    def start(
        self, command: Sequence[str], *, directory: Path, env: Mapping[str, str], nursery: Nursery | None = None
    ) -> int:
        """Start it and return its process id.

        Args:
            command: Argument vector.
            directory: Where it runs.
            env: Its environment.
            nursery: Fork it there instead of starting a program.

        Raises:
            ProbeFailed: It cannot be started.
            NurseryUnfit: The nursery has died.
        """

    @property
    def pid(self) -> int:
        """Process id of the worker's main process."""
        assert self._pid is not None
        return self._pid

    @property
    def exited(self) -> asyncio.Event:
        """Set once the main process is gone."""
        return self._exited

    @property
    def exit_code(self) -> int | None:
        """What the main process exited with; None while it runs or where a signal ended it."""
        return self._return_code if self._return_code is not None and self._return_code >= 0 else None

    @property
    def signal(self) -> int | None:
        """The signal that ended the main process, if one did."""
        return -self._return_code if self._return_code is not None and self._return_code < 0 else None

    @property
    def output_tail(self) -> str:
        """The end of what it printed, without secrets."""
        if self._told[0] != self._output_count:
            text = self._output.decode("utf-8", "replace")
            if self._output_count > len(self._output):
                text = tail_of(f"-{text}", len(text))  # its beginning is gone, and with it half a line
            self._told = self._output_count, self._redactor.text(text)
        return self._told[1]

    @abstractmethod
    def pids(self) -> list[int]:
        """Return every process of this life that is still there; none before it has been started."""

    def living(self) -> list[int]:
        """Return the processes of this life that are not zombies."""
        return containment.living(self.pids())

    def has_died_elsewhere(self, output: str) -> None:
        """Stand for a life of an earlier run, of which a copy was made; it is as good as killed."""
        self._keep(output.encode("utf-8", "replace"))
        self._output_ended.set()
        self._ended(-signal.SIGKILL)

    def lives_beside(self, others: frozenset[int]) -> None:  # noqa: B027 - most need not be told
        """Say which main processes of other lives are alive, so that this life's are told apart from theirs."""

    @abstractmethod
    async def kill(self) -> int:
        """SIGKILL all of it, wait until it is gone, and return how many processes outlived the main one."""

    @abstractmethod
    def tell_to_end(self) -> None:
        """Ask its main process to end."""

    async def end(self, *, grace_s: float) -> None:
        """Ask its main process to end, and wait for that so many real seconds; `kill` does the rest."""
        self.tell_to_end()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._exited.wait(), grace_s)

    @abstractmethod
    def pause(self) -> None:
        """Stop all of it."""

    @abstractmethod
    def stand_still(self) -> bool:
        """Stop all of it, and wait until nothing of it goes on; return whether that came about."""

    @abstractmethod
    def wake(self) -> None:
        """Let all of it go on."""

    async def cut_off(self) -> None:
        """Take its network away, and leave it running.

        Raises:
            HarnessFailed: It has no network of its own.
        """
        raise HarnessFailed(
            "a plain process shares its network with its targets and cannot be cut off",
            where="fault disconnect",
            next_step="run the worker in a container: worker.image, or worker.build",
        )

    async def run_out_of_memory(self) -> None:
        """Leave it no memory, until the kernel kills something of it.

        Raises:
            HarnessFailed: That cannot be done to it, or the kernel killed nothing.
        """
        raise HarnessFailed(
            "a plain process has no memory of its own that could run out",
            where="fault oom",
            next_step="run the worker in a container: worker.image, or worker.build",
        )

    async def output_drained(self, limit_s: float = 1.0) -> None:
        """Wait until everything that it printed has been read, or a process that outlived it holds the pipe."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._output_ended.wait(), limit_s)

    def _ended(self, return_code: int) -> None:
        self._return_code = return_code
        self._exited.set()

    def _keep(self, data: bytes) -> None:
        self._output += data
        self._output_count += len(data)
        excess = len(self._output) - self._output_limit_bytes
        if excess > 0:
            del self._output[:excess]
        if self._in_doubt_when is None or self.in_doubt_text is not None:
            return
        *lines, rest = (bytes(self._line) + data).split(b"\n")
        self._line = bytearray(rest[-_LINE_BYTES:])
        for line in [*lines, rest]:
            text = line[-_LINE_BYTES:].decode("utf-8", "replace")
            if self._in_doubt_when.search(text):
                self.in_doubt_text = self._redactor.text(text.strip())
                return
