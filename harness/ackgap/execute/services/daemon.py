"""Daemon: a server's process, apart from the worker's tree: started, watched until it is ready, ended whatever happens.

It dies with the slot, by the kernel's hand where that exists: a signal of its own choice, since a database that is
killed outright leaves shared memory behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import pwd
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ackgap.errors import HarnessFailed
from ackgap.execute import containment
from ackgap.execute.services.service import Door
from ackgap.target.wire.redaction import tail_of

__all__ = ["Daemon", "Daemonised", "Identity", "free_port", "harmless_identity", "port_answers"]

_POLL_S = 0.005
_CLONE_NEWIPC = 0x08000000
_CLONE_NEWUSER = 0x10000000
_NOBODY = 65534
_PR_SET_PDEATHSIG = 1
_TAIL_BYTES = 4000


@dataclass(frozen=True, slots=True)
class Identity:
    """A user to run as, for servers that refuse to be root.

    Attributes:
        user: Their number.
        group: Likewise.
        mapped: Only seems to be that user: in a user namespace in which root has that number. Files then stay root's,
            and no directory above has to be opened to others.
    """

    user: int
    group: int
    mapped: bool


def harmless_identity(*names: str) -> Identity | None:
    """Return who to run as where this process is root: the first of these users that exists; else None."""
    if os.geteuid() != 0:
        return None
    mapped = _can_map_root()
    for name in names:
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Identity(entry.pw_uid, entry.pw_gid, mapped)
    return Identity(_NOBODY, _NOBODY, mapped=True) if mapped else None


def _can_map_root() -> bool:
    """Whether this machine lets root have another number in a user namespace; tried in a child, which ends at once."""
    if not sys.platform.startswith("linux"):
        return False
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            _map_root(ctypes.CDLL(None, use_errno=True), _NOBODY, _NOBODY)
            os._exit(0)
        os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def _map_root(libc: ctypes.CDLL, user: int, group: int) -> None:
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWIPC) != 0:
        raise OSError(ctypes.get_errno(), "no user namespace")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} 0 1"), ("gid_map", f"{group} 0 1")):
        with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123 - between fork and exec
            file.write(text)


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def port_answers(port: int) -> bool:
    """Whether somebody takes connections on a port of loopback."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class Daemon:
    """One server process, which can be started again after its end.

    Args:
        name: For messages.
        command: Argument vector.
        directory: Where it runs.
        env: Its whole environment.
        log: File for what it prints.
        identity: The user to run it as; None stays who we are.
        end: Signal that asks it to end.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        directory: Path,
        env: Mapping[str, str],
        log: Path,
        identity: Identity | None = None,
        end: int = signal.SIGTERM,
    ) -> None:
        self.name = name
        self._command = tuple(command)
        self._directory = directory
        self._env = dict(env)
        self._log = log
        self._identity = identity
        self._end = end
        self._popen: subprocess.Popen[bytes] | None = None
        self._seen_bytes = 0

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._popen is not None and self._popen.poll() is None

    @property
    def pid(self) -> int | None:
        """Of the process; None where it has not been started."""
        return None if self._popen is None else self._popen.pid

    def start(self, ready: Callable[[], bool], limit_s: float) -> None:
        """Start it and wait until `ready` says so.

        Raises:
            HarnessFailed: It could not be started, ended, or was not ready in time; with its last lines.
        """
        self._launch()
        ends_s = time.monotonic() + limit_s
        while not self._is_up(ready, ends_s, limit_s):
            time.sleep(_POLL_S)

    async def start_again(self, ready: Callable[[], bool], limit_s: float) -> None:
        """Like `start`, while others go on.

        Raises:
            HarnessFailed: As `start` does.
        """
        self._launch()
        ends_s = time.monotonic() + limit_s
        while not self._is_up(ready, ends_s, limit_s):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(_POLL_S)

    def _launch(self) -> None:
        self.mark_log()
        try:
            with self._log.open("ab") as log:
                self._popen = subprocess.Popen(
                    self._command,
                    cwd=self._directory,
                    env=self._env,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=before_exec(self._identity, self._end),  # noqa: PLW1509 - system calls only
                )
        except (OSError, subprocess.SubprocessError) as error:
            raise self._failed(f"could not be started: {error}") from error
        containment.spare_tree(self._popen.pid)

    def _is_up(self, ready: Callable[[], bool], ends_s: float, limit_s: float) -> bool:
        if ready():
            if not self.running:
                raise self._failed(f"ended with {self._how()}; something else answers in its place")
            return True
        if not self.running:
            raise self._failed(f"ended with {self._how()} before it was ready")
        if time.monotonic() > ends_s:
            self.stop()
            raise self._failed(f"was not ready within {limit_s:g} s")
        return False

    def stop(self, *, grace_s: float = 5.0) -> None:
        """End it, and everything below it."""
        popen = self._popen
        if popen is None:
            return
        below = containment.descendants(popen.pid)
        with contextlib.suppress(OSError):
            popen.send_signal(self._end)
        with contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(grace_s if self._end != signal.SIGKILL else 10)
        containment.kill_all(lambda: [popen.pid, *containment.descendants(popen.pid), *below], limit_s=5)
        with contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(1)
        containment.unspare_tree(popen.pid)
        self._popen = None

    def trouble(self) -> str:
        """Return what became of it where it is not running any more; else an empty string."""
        if self._popen is None or self.running:
            return ""
        return f"the service {self.name} ended with {self._how()} in the middle of a cell; {self.last_lines()}"

    def mark_log(self) -> None:
        """Say that what has been printed so far is no longer of interest."""
        with contextlib.suppress(OSError):
            self._seen_bytes = self._log.stat().st_size

    def log_tail(self) -> str:
        """Return the end of what it has printed since the mark."""
        try:
            with self._log.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                begin = max(self._seen_bytes, size - _TAIL_BYTES)
                file.seek(begin)
                text = file.read().decode("utf-8", "replace")
                return text if begin == self._seen_bytes else tail_of(f"-{text}", len(text))
        except OSError:
            return ""

    def has_printed(self, pattern: str) -> bool:
        """Whether a regular expression matches what it has printed since the mark."""
        return re.search(pattern, self.log_tail(), re.MULTILINE) is not None

    def last_lines(self) -> str:
        """Return its last lines as the end of a message."""
        lines = self.log_tail().strip().splitlines()[-8:]
        return "it printed:\n" + "\n".join(f"    {line[:300]}" for line in lines) if lines else "it printed nothing"

    def _how(self) -> str:
        code = self._popen.returncode if self._popen is not None else None
        return f"signal {-code}" if code is not None and code < 0 else f"exit status {code}"

    def _failed(self, what: str) -> HarnessFailed:
        return HarnessFailed(
            f"the service {self.name} {what}; {self.last_lines()}",
            where=" ".join(self._command)[:300],
            next_step="run that command by hand to see why",
        )


def before_exec(identity: Identity | None, end: int) -> Callable[[], None]:
    """Return what a child does before exec: become another user, and have the kernel end it with its parent."""
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None

    def prepare() -> None:
        # An IPC namespace: shared memory of System V then goes with the last process.
        if libc is not None and identity is not None and identity.mapped:
            _map_root(libc, identity.user, identity.group)
        elif identity is not None:
            if libc is not None:
                libc.unshare(_CLONE_NEWIPC)  # may be refused
            os.setgroups([])
            os.setgid(identity.group)
            os.setuid(identity.user)
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, end, 0, 0, 0)  # last: a change of user clears it

    return prepare


class Daemonised:
    """What a service of any kind says of its process, and does with it, once it has one."""

    _daemon: Daemon | None = None
    _start_limit_s = 60.0

    @property
    def wire(self) -> int:
        """Nobody understands what is said to it."""
        return 0

    def announce_to(self, door: Door | None) -> None:
        """There is nothing to announce."""

    def is_up(self) -> bool:
        """Whether it answers."""
        raise NotImplementedError

    def go_away(self) -> None:
        """Stop answering; what it keeps durably is kept."""
        self._keep()
        if self._daemon is not None:
            self._daemon.stop()

    async def come_back(self) -> None:
        """Start again, with what it has kept.

        Raises:
            HarnessFailed: It does not come up.
        """
        if self._daemon is not None:
            await self._daemon.start_again(self.is_up, self._start_limit_s)

    def _keep(self) -> None:
        """Do what has to be done before it ends, where its end would lose what is durable."""

    def trouble(self) -> str:
        """Return what became of it where it is not running any more."""
        return "" if self._daemon is None else self._daemon.trouble()

    def log_tail(self) -> str:
        """Return the end of what it has printed in this cell."""
        return "" if self._daemon is None else self._daemon.log_tail()

    def stop(self) -> None:
        """End it."""
        if self._daemon is not None:
            self._daemon.stop()
