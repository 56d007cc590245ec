"""One life of the worker as an operating system sees it: started, watched, stopped, killed, and its exit status."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from ackgap.errors import ProbeFailed
from ackgap.execute import containment
from ackgap.execute.nursery import Nursery
from ackgap.target.wire.redaction import Redactor, tail_of

__all__ = ["TOKEN_VARIABLE", "WorkerProcess"]

TOKEN_VARIABLE = "ACKGAP_TOKEN"  # noqa: S105 - the name of the variable, not a secret
_CHUNK_BYTES = 65536
_LINE_BYTES = 16384

_GONE_LIMIT_S = 120.0
"""Real seconds; a killed process is gone once whoever reaps it has had his turn."""


class WorkerProcess:
    """A worker's process and everything below it.

    Args:
        token: Secret of this life; it is in the environment of everything that the life starts.
        output_bytes: How much of what it prints is kept, from the end.
        in_doubt_when: Searched for in every line that it prints.
        redactor: Takes secrets out of what it prints, before anybody cuts a part out of that.
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
        self._siblings: frozenset[int] = frozenset()
        self.in_doubt_text: str | None = None

    def start(
        self, command: Sequence[str], *, directory: Path, env: Mapping[str, str], nursery: Nursery | None = None
    ) -> int:
        """Start it in a session of its own and return its process id.

        Args:
            command: Argument vector.
            directory: Where it runs.
            env: Its whole environment.
            nursery: Fork it there instead of starting a program.

        Raises:
            ProbeFailed: The program does not exist or cannot be started.
            NurseryUnfit: The nursery has died.
        """
        assert self._pid is None, "a WorkerProcess is started once"
        reading, writing = os.pipe()
        try:
            if nursery is not None:
                self._pid = nursery.fork(command, directory=directory, env=env, output=writing, ended=self._ended)
            else:
                self._pid = self._start_program(command, directory, env, writing)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self._watch_output(reading)
        return self._pid

    def _start_program(self, command: Sequence[str], directory: Path, env: Mapping[str, str], output: int) -> int:
        program = shutil.which(command[0], path=env.get("PATH")) or str(directory / command[0])
        try:
            popen = subprocess.Popen(
                [program, *command[1:]],
                executable=program,
                cwd=directory,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=containment.die_with_parent(),  # noqa: PLW1509 - one prctl call, nothing that needs a lock
            )
        except OSError as error:
            raise ProbeFailed(
                f"the worker could not be started: {error.strerror}",
                where=" ".join(command),
                next_step="check the command; it runs in a copy of the worker's directory",
            ) from error
        self._watch_exit(popen)
        return popen.pid

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

    def pids(self) -> list[int]:
        """Return every process of this life that is still there; none before it has been started."""
        if self._pid is None:
            return []
        if containment.parent_of_orphans_is_us():
            below = containment.descendants(os.getpid())
            if not self._siblings:
                return below
            # A child may have been started with another environment; an orphan has only that.
            tree = {self.pid, *containment.descendants(self.pid)}
            return [pid for pid in below if pid in tree or _has_token(pid, self.token)]
        found = [self.pid, *containment.descendants(self.pid)] if not self._exited.is_set() else []
        found += containment.processes_with_environment(TOKEN_VARIABLE, self.token)
        return list(dict.fromkeys(found))

    def living(self) -> list[int]:
        """Return the processes of this life that are not zombies, reaping those that nobody waits for."""
        return containment.living(self.pids(), not_reaped_here=self._siblings | {self.pid})

    def has_died_elsewhere(self, output: str) -> None:
        """Stand for a life of an earlier run, of which a copy was made; it is as good as killed."""
        self._keep(output.encode("utf-8", "replace"))
        self._output_ended.set()
        self._ended(-signal.SIGKILL)

    def lives_beside(self, others: frozenset[int]) -> None:
        """Say which main processes of other lives are alive, so that this life's are told apart from theirs."""
        self._siblings = others

    async def kill(self) -> int:
        """SIGKILL all of it, wait until it is gone, and return how many processes outlived the main one."""
        outlived = 0 if self._exited.is_set() else 1
        killed = containment.kill_all(self.pids, not_reaped_here=self._siblings | {self.pid})
        await asyncio.wait_for(self._exited.wait(), _GONE_LIMIT_S)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._output_ended.wait(), 1)
        return max(0, killed - outlived)

    def tell_to_end(self) -> None:
        """Ask its main process to end (SIGTERM)."""
        containment.signal_all([] if self._exited.is_set() else [self.pid], signal.SIGTERM)

    async def end(self, *, grace_s: float) -> None:
        """Ask its main process to end, and wait for that so many real seconds; `kill` does the rest."""
        self.tell_to_end()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._exited.wait(), grace_s)

    def pause(self) -> None:
        """SIGSTOP all of it."""
        containment.signal_all(self.pids(), signal.SIGSTOP)

    def stand_still(self) -> bool:
        """SIGSTOP all of it, and wait until nothing of it goes on; return whether that came about."""
        return containment.stop_all(self.pids)

    def wake(self) -> None:
        """SIGCONT all of it."""
        containment.signal_all(self.pids(), signal.SIGCONT)

    async def output_drained(self, limit_s: float = 1.0) -> None:
        """Wait until everything that it printed has been read, or a process that outlived it holds the pipe."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._output_ended.wait(), limit_s)

    def _ended(self, return_code: int) -> None:
        self._return_code = return_code
        self._exited.set()

    def _watch_exit(self, popen: subprocess.Popen[bytes]) -> None:
        loop = asyncio.get_running_loop()
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                descriptor = os.pidfd_open(popen.pid)

                def ended() -> None:
                    loop.remove_reader(descriptor)
                    os.close(descriptor)
                    self._ended(popen.wait())

                loop.add_reader(descriptor, ended)
                return

        def wait() -> None:
            return_code = popen.wait()
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._ended, return_code)

        threading.Thread(target=wait, daemon=True, name="ackgap-wait").start()

    def _watch_output(self, descriptor: int) -> None:
        loop = asyncio.get_running_loop()
        os.set_blocking(descriptor, False)

        def readable() -> None:
            try:
                data = os.read(descriptor, _CHUNK_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                loop.remove_reader(descriptor)
                os.close(descriptor)
                self._output_ended.set()
                return
            self._keep(data)

        loop.add_reader(descriptor, readable)

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


def _has_token(pid: int, token: str) -> bool:
    try:
        return f"{TOKEN_VARIABLE}={token}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
