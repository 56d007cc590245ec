"""One life of the worker in a container: started, watched, paused, cut off, killed, and taken away."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ackgap.errors import ProbeFailed
from ackgap.execute import containment
from ackgap.execute.containers.dock import Dock, Manifest
from ackgap.execute.containers.docker import error_text
from ackgap.execute.containers.memory import exhaust
from ackgap.execute.nursery import Nursery
from ackgap.execute.process import GONE_LIMIT_S, WorkerProcess
from ackgap.scenario.scenario import Limits
from ackgap.target.wire.redaction import Redactor

__all__ = ["ContainerProcess"]

_SIGNALS = 128
"""What an engine adds to the number of the signal that ended process 1."""


class ContainerProcess(WorkerProcess):
    """A worker's container, and everything that runs in it.

    Args:
        dock: Where it lies.
        number: Of the life.
        hostname: What the container takes itself to be.
        mounts: Paths outside by those inside.
        limits: What it may have of memory and processes.
        token: As of every life.
        output_bytes: Likewise.
        in_doubt_when: Likewise.
        redactor: Likewise.
    """

    def __init__(
        self,
        dock: Dock,
        *,
        number: int,
        hostname: str,
        mounts: Mapping[str, Path],
        limits: Limits,
        token: str,
        output_bytes: int,
        in_doubt_when: str | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        super().__init__(token=token, output_bytes=output_bytes, in_doubt_when=in_doubt_when, redactor=redactor)
        self._dock = dock
        self._api = dock.api
        self._number = number
        self._hostname = hostname
        self._mounts = mounts
        self._limits = limits
        self._id = ""
        self._paused = self._cut = False
        self.address = dock.address(number)

    def start(
        self, command: Sequence[str], *, directory: Path, env: Mapping[str, str], nursery: Nursery | None = None
    ) -> int:
        """Start it and return the process id, outside of the container, of its first process.

        Raises:
            ProbeFailed: The engine cannot start it.
        """
        import docker

        assert not self._id, "a life is started once"
        assert nursery is None, "no warm parent reaches into a container"
        manifest = Manifest(
            command=command,
            directory=directory,
            env=env,
            number=self._number,
            hostname=self._hostname,
            mounts=self._mounts,
            memory_bytes=self._limits.memory_bytes,
            processes=self._limits.processes,
        )
        try:
            self._id = self._dock.create(manifest)
            output = self._api.attach(self._id, stdout=True, stderr=True, stream=True)
            self._api.start(self._id)
            self._pid = int(self._state()["Pid"])
        except docker.errors.APIError as error:
            self._remove()
            raise ProbeFailed(
                f"the worker could not be started: {error_text(error)}",
                where=" ".join(command) or self._dock.image,
                next_step="check worker.command: it is looked for inside the image",
            ) from error
        self._watch(output)
        return self._pid

    def pids(self) -> list[int]:
        """Return the process ids, outside of the container, of everything that runs in it."""
        if not self._pid or self._exited.is_set():
            return []
        return [self._pid, *containment.descendants(self._pid)]

    async def kill(self) -> int:
        """SIGKILL all of it, wait until it is gone, and take the container away; nothing of it can outlive that."""
        if self._id:
            if not self._exited.is_set():
                # What the engine had stopped gets it all at once, before any of it goes on.
                containment.signal_all(self.pids(), signal.SIGKILL)
                await asyncio.to_thread(self._quietly, self._api.kill, self._id)
            await asyncio.wait_for(self._exited.wait(), GONE_LIMIT_S)
            await self.output_drained()
            with contextlib.suppress(Exception):  # the engine may have lost sight of it
                self.out_of_memory = self.out_of_memory or bool((await asyncio.to_thread(self._state))["OOMKilled"])
            await asyncio.to_thread(self._remove)
        return 0

    def tell_to_end(self) -> None:
        """Ask it to end as `docker stop` does: with the signal that its image names, SIGTERM where it names none."""
        if self._id and not self._exited.is_set():
            chosen = (self._dock.api.inspect_container(self._id)["Config"] or {}).get("StopSignal") or "SIGTERM"
            self._quietly(self._api.kill, self._id, chosen)

    def pause(self) -> None:
        """Stop all of it, as `docker pause` does."""
        if not self._exited.is_set() and not self._paused:
            self._paused = self._quietly(self._api.pause, self._id)

    def stand_still(self) -> bool:
        """Stop all of it, and return whether nothing of it goes on."""
        self.pause()
        return self._paused or self._exited.is_set()

    def wake(self) -> None:
        """Let it go on, and connect it again, whichever it was kept from."""
        if self._cut and not self._exited.is_set():
            self._quietly(
                self._api.connect_container_to_network, self._id, self._dock.network, ipv4_address=self.address
            )
        if self._paused and not self._exited.is_set():
            self._quietly(self._api.unpause, self._id)
        self._cut = self._paused = False

    async def cut_off(self) -> None:
        """Disconnect it from its network; it goes on, and reaches nobody."""
        self._cut = await asyncio.to_thread(
            self._quietly, self._api.disconnect_container_from_network, self._id, self._dock.network
        )

    async def run_out_of_memory(self) -> None:
        """Leave it no memory, until the kernel kills something of it.

        Raises:
            HarnessFailed: Nothing was killed.
        """
        await exhaust(self._api, self._id, self.pid, gone=self._exited)
        self.out_of_memory = True

    def _state(self) -> Mapping[str, Any]:
        state: Mapping[str, Any] = self._api.inspect_container(self._id)["State"]
        return state

    def _quietly(self, function: Callable[..., object], *arguments: object, **options: object) -> bool:
        """Have the engine do something to a container that may be gone; return whether it did."""
        import docker

        try:
            function(*arguments, **options)
        except docker.errors.APIError:
            return False
        return True

    def _remove(self) -> None:
        if self._id:
            self._quietly(self._api.remove_container, self._id, force=True, v=True)
            self._id = ""

    def _watch(self, output: Iterable[bytes]) -> None:
        """Have two threads read what it prints and wait for its end: the engine's client knows no event loop."""
        loop, identity = asyncio.get_running_loop(), self._id

        def tell(function: Callable[..., object], *arguments: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants to know
                loop.call_soon_threadsafe(function, *arguments)

        def read() -> None:
            with contextlib.suppress(Exception):  # the connection ends in many ways, all of them its end
                for piece in output:
                    tell(self._keep, piece)
            tell(self._output_ended.set)

        def wait() -> None:
            code = -int(signal.SIGKILL)
            with contextlib.suppress(Exception):  # it is gone already, as killed as can be
                code = _as_return_code(int(self._api.wait(identity, timeout=None)["StatusCode"]))
            tell(self._ended, code)

        threading.Thread(target=read, daemon=True, name="ackgap-output").start()
        threading.Thread(target=wait, daemon=True, name="ackgap-wait").start()


def _as_return_code(status: int) -> int:
    """Return a status of the engine's as `subprocess` has it: the negative number of the signal, where one ended it."""
    return _SIGNALS - status if _SIGNALS < status <= _SIGNALS + signal.NSIG else status
