"""The slot's end of a nursery: lives forked from a Python that has imported their third-party modules once.

What runs there is `ackgap.worker.nursery`. A life that cannot be forked safely is started plainly, and the history says
why: another program than the nursery's interpreter, options before the script, a nursery with threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ackgap.execute import containment
from ackgap.model.event import Json

__all__ = ["Nursery", "NurseryUnfit", "interpreter_of"]

_ROOM = Path(__file__).parent.parent / "worker"
_READ_BY_NATIVE_CODE = (
    *("PYTHON", "LD_", "DYLD_", "LC_", "LANG", "TZ", "TMPDIR", "MALLOC_", "ASAN_", "OMP_", "MKL_", "OPENBLAS_"),
    *("KMP_", "GOMP_", "OPENSSL_", "SSL_", "GRPC_", "RUST_", "TOKIO_", "RAYON_", "UV_", "PG", "SQLITE_", "CUDA_"),
)
_READY_LIMIT_S = 120.0
_REPLY_LIMIT_S = 20.0
_START = (
    "import sys; sys.path.pop(0); path = sys.argv[1]; source = open(path).read(); "
    "scope = {'__name__': '_ackgap_nursery'}; exec(compile(source, path, 'exec'), scope); "
    "scope['main'](int(sys.argv[2]), sys.argv[3])"
)


class NurseryUnfit(Exception):
    """A life cannot be forked; the text says why."""


class Nursery:
    """Forks lives of one interpreter.

    Args:
        python: The interpreter, as the worker's command names it.
        modules: Third-party modules to import beforehand.
        env: Of the nursery itself; modules may read it while they are imported.
        clock_offset_s: Seconds by which its wall clock, and that of its lives, is ahead of the machine's.
    """

    def __init__(
        self, python: str, modules: Sequence[str], env: Mapping[str, str], *, clock_offset_s: float = 0.0
    ) -> None:
        self.python = python
        self._env = dict(env)
        self._read: frozenset[str] | None = None
        self._ended: dict[int, Callable[[int], None]] = {}
        self._broken = ""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket = ours
        program = shutil.which(python, path=env.get("PATH")) or python
        with theirs:
            self._process = subprocess.Popen(
                [program, "-c", _START, str(_ROOM / "nursery.py"), str(theirs.fileno()), str(_ROOM)],
                env=dict(env),
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                preexec_fn=containment.die_with_parent(),  # noqa: PLW1509 - one prctl call, nothing that needs a lock
            )
        containment.spare(self._process.pid)
        ours.settimeout(_READY_LIMIT_S)
        try:
            self._send({"import": list(modules), "clock_offset_s": clock_offset_s})
            ready = self._receive()
        except OSError as error:
            self._broken = f"the nursery did not come up: {error}"
            return
        read = ready.get("read")
        self._read = frozenset(map(str, read)) if isinstance(read, list) else None
        if ready.get("threads", 1) != 1:
            self._broken = f"importing the worker's modules starts {ready['threads'] - 1} threads"
        elif alive := ready.get("alive"):
            self._broken = f"importing the worker's modules leaves {', '.join(alive)} open, which all lives would share"
        ours.settimeout(_REPLY_LIMIT_S)

    def check(self, command: Sequence[str]) -> None:
        """Say whether a life can be forked.

        Raises:
            NurseryUnfit: It cannot, and why.
        """
        if self._broken:
            raise NurseryUnfit(self._broken)
        if self._process.poll() is not None:
            raise NurseryUnfit("the nursery is gone")
        if command[0] != self.python:
            raise NurseryUnfit("the command is another program")
        if len(command) < 2 or command[1].startswith("-"):
            raise NurseryUnfit("the command does not simply name a script")

    def suits(self, env: Mapping[str, str]) -> bool:
        """Whether lives in another environment may be forked here: nothing that differs has been read so far.

        Native code reads the environment unseen; variables that it is known to read count as read.
        """
        differing = {name for name in {*self._env, *env} if self._env.get(name) != env.get(name)}
        if not differing:
            return True
        unseen = {name for name in differing if name.startswith(_READ_BY_NATIVE_CODE)}
        return self._read is not None and not differing & self._read and not unseen

    def fork(
        self,
        command: Sequence[str],
        *,
        directory: Path,
        env: Mapping[str, str],
        output: int,
        ended: Callable[[int], None],
    ) -> int:
        """Fork a life and return its process id.

        Args:
            command: Interpreter, script and arguments.
            directory: Where it runs.
            env: Its environment.
            output: Descriptor for standard output and error.
            ended: Called in the loop with its return code, negative for a signal.

        Raises:
            NurseryUnfit: The nursery has died meanwhile.
        """
        try:
            self._send({"run": list(command[1:]), "directory": str(directory), "env": dict(env)}, output)
            while "pid" not in (reply := self._receive()):
                self._take(reply)
        except OSError as error:
            # Else it might fork this life yet, beside the one that is started in its place.
            self._process.kill()
            self._process.wait()
            self._broken = f"the nursery is gone: {error}"
            raise NurseryUnfit(self._broken) from error
        self._ended[reply["pid"]] = ended
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._readable)
        return int(reply["pid"])

    @property
    def has_lives(self) -> bool:
        """Whether a life that was forked here has not ended."""
        return bool(self._ended)

    def close(self) -> None:
        """End it, and with it the lives that are left."""
        with contextlib.suppress(RuntimeError):  # no loop has heard of it
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
        self._socket.close()
        self._process.kill()
        self._process.wait()
        containment.unspare(self._process.pid)

    def _readable(self) -> None:
        try:
            self._take(self._receive())
        except OSError as error:
            self._broken = f"the nursery is gone: {error}"
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            for ended in self._ended.values():
                ended(-9)
            self._ended.clear()

    def _take(self, message: dict[str, Json]) -> None:
        ended = self._ended.pop(int(message.get("exit", 0)), None)
        if ended is not None:
            ended(int(message["status"]))

    def _send(self, message: dict[str, Json], descriptor: int | None = None) -> None:
        text = json.dumps(message).encode()
        descriptors = [] if descriptor is None else [descriptor]
        socket.send_fds(self._socket, [struct.pack(">I", len(text))], descriptors)
        self._socket.sendall(text)

    def _receive(self) -> dict[str, Json]:
        size = struct.unpack(">I", self._exactly(4))[0]
        message = json.loads(self._exactly(size))
        assert isinstance(message, dict)
        return message

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self._socket.recv(size - len(data))
            if not part:
                raise ConnectionError("it hung up")
            data += part
        return data


def interpreter_of(command: Sequence[str]) -> str | None:
    """Return the Python that a command runs a script with, None where it is none."""
    name = os.path.basename(command[0])  # noqa: PTH119 - a name, not a path
    return command[0] if name.startswith("python") and len(command) > 1 and not command[1].startswith("-") else None
