"""A life that is a process of this machine, with everything that it starts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ackgap.errors import ProbeFailed
from ackgap.execute import containment
from ackgap.execute.control_group import ControlGroup
from ackgap.execute.nursery import Nursery
from ackgap.execute.process import GONE_LIMIT_S, TOKEN_VARIABLE, WorkerProcess
from ackgap.target.wire.redaction import Redactor

__all__ = ["PlainProcess"]

_CHUNK_BYTES = 65536


class PlainProcess(WorkerProcess):
    """A worker's process and everything below it; see `WorkerProcess`.

    Args:
        token: As of `WorkerProcess`.
        output_bytes: As of `WorkerProcess`.
        in_doubt_when: As of `WorkerProcess`.
        redactor: As of `WorkerProcess`.
        group: Limits what all of it may take.
    """

    def __init__(
        self,
        *,
        token: str,
        output_bytes: int,
        in_doubt_when: str | None = None,
        redactor: Redactor | None = None,
        group: ControlGroup | None = None,
    ) -> None:
        super().__init__(token=token, output_bytes=output_bytes, in_doubt_when=in_doubt_when, redactor=redactor)
        self._siblings: frozenset[int] = frozenset()
        self._group = group

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
        assert self._pid is None, "a life is started once"
        reading, writing = os.pipe()
        try:
            if nursery is not None:
                self._pid = nursery.fork(command, directory=directory, env=env, output=writing, ended=self._ended)
                if self._group is not None:
                    self._group.add(self._pid)
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
        joins = None if self._group is None else self._group.join()
        program = shutil.which(command[0], path=env.get("PATH")) or str(directory / command[0])
        try:
            with contextlib.nullcontext() if self.listener is None else self.listener.starting() as listens:
                popen = subprocess.Popen(
                    [program, *command[1:]],
                    executable=program,
                    cwd=directory,
                    env=dict(env),
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    # A few system calls, nothing that needs a lock.
                    preexec_fn=_in_turn(containment.die_with_parent(), joins, listens),  # noqa: PLW1509
                )
        except OSError as error:
            raise ProbeFailed(
                f"the worker could not be started: {error.strerror}",
                where=" ".join(command),
                next_step="check the command; it runs in a copy of the worker's directory",
            ) from error
        self._watch_exit(popen)
        return popen.pid

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

    def lives_beside(self, others: frozenset[int]) -> None:
        """Say which main processes of other lives are alive, so that this life's are told apart from theirs."""
        self._siblings = others

    async def kill(self) -> int:
        """SIGKILL all of it, wait until it is gone, and return how many processes outlived the main one."""
        outlived = 0 if self._exited.is_set() else 1
        killed = containment.kill_all(self.pids, not_reaped_here=self._siblings | {self.pid})
        await asyncio.wait_for(self._exited.wait(), GONE_LIMIT_S)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._output_ended.wait(), 1)
        return max(0, killed - outlived)

    def tell_to_end(self) -> None:
        """Ask its main process to end (SIGTERM)."""
        containment.signal_all([] if self._exited.is_set() else [self.pid], signal.SIGTERM)

    def pause(self) -> None:
        """SIGSTOP all of it."""
        containment.signal_all(self.pids(), signal.SIGSTOP)

    def stand_still(self) -> bool:
        """SIGSTOP all of it, and wait until nothing of it goes on; return whether that came about."""
        return containment.stop_all(self.pids)

    def wake(self) -> None:
        """SIGCONT all of it."""
        containment.signal_all(self.pids(), signal.SIGCONT)

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


def _in_turn(*steps: Callable[[], None] | None) -> Callable[[], None]:
    wanted = [step for step in steps if step is not None]

    def all_of_them() -> None:
        for step in wanted:
            step()

    return all_of_them


def _has_token(pid: int, token: str) -> bool:
    try:
        return f"{TOKEN_VARIABLE}={token}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
