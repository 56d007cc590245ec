"""Whose processes are whose: everything that a worker started can be found, stopped and killed.

A process group misses children that call `setsid`. On Linux the slot is therefore a *child subreaper*: an orphan of
the worker becomes the slot's child instead of init's, so that the slot's descendants are exactly what its workers
started. Elsewhere (macOS) the process group and a sweep over the environment of our own processes do the same job.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

__all__ = [
    "become_subreaper",
    "descendants",
    "die_with_parent",
    "hold_thread",
    "in_words",
    "is_held",
    "kill_all",
    "let_thread_go",
    "living",
    "parent_of_orphans_is_us",
    "processes_with_environment",
    "signal_all",
    "spare",
    "spare_tree",
    "stop_all",
    "unspare_tree",
]

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_KERNEL_BYTES = 65536
_AT_REST = (b"T", b"t", b"Z", b"X")
_COMMAND_LIMIT = 120
"""What the kernel calls a thread that is stopped, or gone."""
_LINUX = sys.platform.startswith("linux")
_libc = ctypes.CDLL(None, use_errno=True) if _LINUX else None
_we_are_subreaper = False
_spared: set[int] = set()
_spared_trees: set[int] = set()
_held_threads: set[int] = set()


def become_subreaper() -> bool:
    """Make this process the parent of every orphan below it; return whether that worked."""
    global _we_are_subreaper  # noqa: PLW0603 - it is a fact about the process
    if _libc is not None:
        _we_are_subreaper = _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
    return _we_are_subreaper


def parent_of_orphans_is_us() -> bool:
    """Whether this process is a subreaper."""
    return _we_are_subreaper


def die_with_parent() -> Callable[[], None] | None:
    """Return what a child calls before exec so that the kernel kills it when its parent dies (Linux only)."""
    if _libc is None:
        return None
    prctl = _libc.prctl

    def before_exec() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    return before_exec


def spare(pid: int) -> None:
    """Take a process of ours out of what cells are said to have started; its own children stay in."""
    _spared.add(pid)


def unspare(pid: int) -> None:
    """Forget a process of ours that is gone: its number may come again."""
    _spared.discard(pid)


def spare_tree(pid: int) -> None:
    """Take a process of ours, and everything that it starts, out of what cells are said to have started."""
    _spared_trees.add(pid)


def unspare_tree(pid: int) -> None:
    """Forget a spared process that is gone: its number may come again."""
    _spared_trees.discard(pid)


def hold_thread(tid: int) -> None:
    """Say that a thread stands in the kernel until we answer: it looks as if it waited for a disk, and goes nowhere."""
    _held_threads.add(tid)


def let_thread_go(tid: int) -> None:
    """Say that it does not stand there any more."""
    _held_threads.discard(tid)


def is_held(tid: int) -> bool:
    """Whether a thread stands in the kernel until we answer."""
    return tid in _held_threads


def descendants(root: int, *, with_spared: bool = False) -> list[int]:
    """Return the process ids below `root`, parents first; zombies that nobody has reaped are among them."""
    found: list[int] = []
    if _LINUX:
        queue = [root]
        while queue:
            children = _children(queue.pop())
            if not with_spared:
                children = [pid for pid in children if pid not in _spared_trees]
            found.extend(children)
            queue.extend(children)
        return found if with_spared else [pid for pid in found if pid not in _spared]
    with contextlib.suppress(psutil.Error):
        found = [child.pid for child in psutil.Process(root).children(recursive=True)]
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - a hot path
    except OSError:
        return children
    for task in tasks:
        with contextlib.suppress(OSError):
            children += map(int, _read(f"/proc/{pid}/task/{task}/children").split())
    return children


def processes_with_environment(name: str, value: str) -> list[int]:
    """Return our own processes that have `name=value` in their environment; for orphans that no tree leads to."""
    found = []
    wanted = f"{name}={value}".encode()
    for pid in psutil.pids():
        if pid == os.getpid():
            continue
        if _LINUX:
            with contextlib.suppress(OSError):
                if wanted in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    found.append(pid)
        else:
            with contextlib.suppress(psutil.Error):
                if psutil.Process(pid).environ().get(name) == value:
                    found.append(pid)
    return found


def in_words(pids: list[int], *, most: int = 3) -> str:
    """Return processes as a person names them: process id and command line."""
    words = []
    for pid in pids[:most]:
        with contextlib.suppress(psutil.Error):
            command = " ".join(psutil.Process(pid).cmdline())
            words.append(f"pid {pid} ({_shown(command) or 'no command line'})")
    if len(pids) > most:
        words.append(f"{len(pids) - most} more")
    return ", ".join(words) or f"{len(pids)} processes"


def _shown(command: str) -> str:
    """Return the beginning of a command line, in whole words: half a secret is not known for one."""
    return command if len(command) <= _COMMAND_LIMIT else command[:_COMMAND_LIMIT].rpartition(" ")[0]


def signal_all(pids: list[int], number: int) -> int:
    """Send a signal to each; return how many were there to get it."""
    reached = 0
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
            reached += 1
    return reached


def stop_all(find: Callable[[], list[int]], *, limit_s: float = 0.5) -> bool:
    """SIGSTOP what `find` returns until it returns nothing that runs; return whether that came about.

    Args:
        find: Names the processes, anew at each call: one may have forked before it was stopped.
        limit_s: Real seconds after which it is given up: a thread inside the kernel stops only when it comes out.
    """
    ends_s = time.monotonic() + limit_s
    while running := [pid for pid in find() if not _is_stopped(pid)]:
        signal_all(running, signal.SIGSTOP)
        if time.monotonic() > ends_s:
            return False
        time.sleep(0.0001)
    return True


def kill_all(
    find: Callable[[], list[int]], *, limit_s: float = 10.0, not_reaped_here: frozenset[int] = frozenset()
) -> int:
    """Kill what `find` returns until it returns nothing that lives; return how many processes that were.

    Everything is stopped before anything is killed, so that a worker that forks faster than it can be killed is
    caught, and no child learns of its parent's death.

    Args:
        find: Names the processes, anew at each call.
        limit_s: Real seconds after which it is given up.
        not_reaped_here: Processes whose exit status somebody else waits for.
    """
    ends_s = time.monotonic() + limit_s
    killed: set[int] = set()
    stopped: set[int] = set()
    while True:
        alive = living(find(), not_reaped_here=not_reaped_here)
        fresh = [pid for pid in alive if pid not in stopped]
        if fresh and time.monotonic() < ends_s:
            signal_all(fresh, signal.SIGSTOP)
            stopped.update(fresh)
            continue
        if not alive:
            return len(killed)
        signal_all(alive, signal.SIGKILL)
        killed.update(alive)
        if time.monotonic() > ends_s:
            return len(killed)
        time.sleep(0.0005)


def living(pids: list[int], *, not_reaped_here: frozenset[int] = frozenset()) -> list[int]:
    """Return those that live; a zombie of ours that nobody else waits for is reaped on the way."""
    return [pid for pid in pids if not _reaped(pid, not_reaped_here)]


def _reaped(pid: int, not_reaped_here: frozenset[int]) -> bool:
    """Whether a process is dead; a zombie of ours is reaped on the way."""
    if pid not in not_reaped_here:
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG)[0] == pid:
                return True
    return _is_dead(pid)


def _has_threads(pid: int) -> bool:
    """Whether other threads of a process go on although its first one has ended; it looks like a zombie then."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1  # noqa: PTH208 - a hot path
    except OSError:
        return False


def _is_stopped(pid: int) -> bool:
    """Whether no thread of a process goes on, until it is told to; also where it is dead."""
    if not _LINUX:
        with contextlib.suppress(psutil.Error):
            return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
        return True
    try:
        tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - a hot path
    except OSError:
        return True
    return all(is_held(int(task)) or _state(f"/proc/{pid}/task/{task}/stat") in _AT_REST for task in tasks)


def _state(file: str) -> bytes:
    """Return the letter that the kernel gives a process or thread, X where it is gone."""
    try:
        return _read(file).rpartition(b")")[2].split()[0]
    except (OSError, IndexError):
        return b"X"


def _read(file: str) -> bytes:
    """Return what the kernel says in a file of its own; a few times faster than a file object, and often asked for."""
    descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(descriptor, _KERNEL_BYTES)
        while len(data) % _KERNEL_BYTES == 0 and (more := os.read(descriptor, _KERNEL_BYTES)):
            data += more
        return data
    finally:
        os.close(descriptor)


def _is_dead(pid: int) -> bool:
    if _LINUX:
        return _state(f"/proc/{pid}/stat") in (b"Z", b"X") and not _has_threads(pid)
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True
