"""A control group for what a cell's workers start: how much memory and how many processes all of them may have.

Linux only, and only where groups can be made: as root, or below a group that was delegated to us. Both hierarchies are
known: one directory for each controller (version 1), and one for all of them (version 2). Memory that was taken before
a process came into the group is not counted, so that a life forked from a warm parent pays for what it takes itself.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

__all__ = ["ControlGroup", "NotPermitted", "Struck", "kills_counted"]

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "ackgap-"
_REMOVE_LIMIT_S = 5.0
_MEMORY, _PROCESSES = "memory", "pids"


class NotPermitted(Exception):
    """No control group can be made here; the text says why."""


@dataclass(frozen=True, slots=True)
class Struck:
    """How often the limits of a group have struck so far.

    Attributes:
        kills: Processes that the kernel killed because there was no memory left.
        refusals: Times that another process or thread was refused.
    """

    kills: int = 0
    refusals: int = 0


class ControlGroup:
    """The group of one cell. A context manager; the group is gone when it ends, whatever was in it has to be before.

    Groups of processes that have been killed are removed when the next one is made beside them.

    Args:
        memory_bytes: Memory, swapped or not, that all processes in it may have; None for as much as there is.
        processes: How many processes and threads there may be in it; None for as many as one likes.
        root: Where control groups are mounted.
        own: What the kernel says of the groups of this process, as `/proc/self/cgroup` has it.

    Raises:
        NotPermitted: There are no control groups, or none can be made here.
    """

    def __init__(
        self,
        *,
        memory_bytes: int | None = None,
        processes: int | None = None,
        root: Path = _ROOT,
        own: str | None = None,
    ) -> None:
        wanted = {_MEMORY: memory_bytes, _PROCESSES: processes}
        needed = [controller for controller, limit in wanted.items() if limit is not None]
        try:
            text = Path("/proc/self/cgroup").read_text() if own is None else own
        except OSError:
            raise NotPermitted("this system has no control groups") from None
        name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        self._directories: dict[str, Path] = {}
        try:
            for controller, parent in _parents(needed, text, root).items():
                _sweep(parent)
                directory = parent / name
                directory.mkdir(exist_ok=True)
                self._directories[controller] = directory
            if memory_bytes is not None:
                _limit_memory(self._directories[_MEMORY], memory_bytes)
            if processes is not None:
                (self._directories[_PROCESSES] / "pids.max").write_text(str(processes))
        except OSError as error:
            self.close()
            raise NotPermitted(f"no control group can be made: {error.strerror or error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def join(self) -> Callable[[], None]:
        """Return what a child calls between fork and exec to be in the group from its first instruction."""
        files = [os.fsencode(directory / "cgroup.procs") for directory in set(self._directories.values())]

        def join() -> None:
            for file in files:
                descriptor = os.open(file, os.O_WRONLY)
                os.write(descriptor, b"0")
                os.close(descriptor)

        return join

    def add(self, pid: int) -> None:
        """Take in a process that runs already; one that is gone is none of our business any more."""
        for directory in set(self._directories.values()):
            with contextlib.suppress(ProcessLookupError):
                (directory / "cgroup.procs").write_text(str(pid))

    def struck(self) -> Struck:
        """Return how often the limits have struck since the group was made."""
        kills = refusals = 0
        if (memory := self._directories.get(_MEMORY)) is not None:
            kills = kills_counted(memory)
        if (processes := self._directories.get(_PROCESSES)) is not None:
            refusals = _count(processes, "pids.events", "max")
        return Struck(kills=kills, refusals=refusals)

    def close(self) -> None:
        """Remove the group; where the kernel has not seen off its last process yet, wait for that for a while."""
        ends_s = time.monotonic() + _REMOVE_LIMIT_S
        for directory in set(self._directories.values()):
            while directory.exists():
                try:
                    directory.rmdir()
                except OSError:
                    if time.monotonic() > ends_s:
                        break
                    time.sleep(0.002)
        self._directories.clear()


def kills_counted(group: Path) -> int:
    """Return how many processes of a group the kernel has killed for want of memory."""
    return _count(group, "memory.events", "oom_kill") or _count(group, "memory.oom_control", "oom_kill")


def _sweep(parent: Path) -> None:
    """Remove the groups of processes of ours that are gone."""
    for directory in parent.glob(f"{_PREFIX}*-*"):
        owner = directory.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            with contextlib.suppress(OSError):
                directory.rmdir()


def _parents(needed: list[str], own: str, root: Path) -> Mapping[str, Path]:
    """Return for each controller the directory in which a group can be made.

    Raises:
        NotPermitted: There is none for one of them.
    """
    places = dict(_places(own))
    found: dict[str, Path] = {}
    for controller in needed:
        if controller in places:  # version 1: a hierarchy of its own, or one that it shares
            kinds, path = places[controller]
            mounted = next((root / each for each in (kinds, controller) if (root / each).is_dir()), root / controller)
            inside = mounted / path.lstrip("/")
            # A container sees its own group as the root, and is told the path that it has outside.
            found[controller] = inside if inside.is_dir() else mounted
        elif "" in places:
            found[controller] = _delegated(root, places[""][1], controller)
        if controller not in found or not os.access(found[controller], os.W_OK):
            raise NotPermitted(f"the control groups of this system do not let us limit {_WORDS[controller]}")
    return found


_WORDS = {_MEMORY: "memory", _PROCESSES: "processes"}


def _places(own: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield each controller with the name of its hierarchy and our path there; version 2 has no name."""
    for line in own.splitlines():
        _, kinds, path = line.split(":", 2)
        for kind in kinds.split(","):
            yield kind, (kinds, path)


def _delegated(root: Path, path: str, controller: str) -> Path:
    """Return the nearest group above us whose children can have a limit of this kind, and that we may write to.

    Our own group cannot be it: one that has processes in it has no children with limits.
    """
    inside = root / path.lstrip("/")
    for group in (inside, *inside.parents):
        with contextlib.suppress(OSError):
            if controller in (group / "cgroup.subtree_control").read_text().split() and os.access(group, os.W_OK):
                return group
        if group == root:
            break
    raise NotPermitted(f"no group above this process hands down limits of {_WORDS[controller]}")


def _limit_memory(group: Path, limit_bytes: int) -> None:
    if (group / "memory.max").exists():
        (group / "memory.max").write_text(str(limit_bytes))
        swap, most = group / "memory.swap.max", "0"
    else:
        (group / "memory.limit_in_bytes").write_text(str(limit_bytes))
        swap, most = group / "memory.memsw.limit_in_bytes", str(limit_bytes)
    with contextlib.suppress(OSError):  # a kernel without swap, or that does not count it
        if swap.exists():
            swap.write_text(most)


def _count(group: Path, file: str, name: str) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in (group / file).read_text().splitlines():
            word, _, number = line.partition(" ")
            if word == name:
                return int(number)
    return 0
