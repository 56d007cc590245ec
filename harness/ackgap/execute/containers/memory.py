"""Out of memory: a container is left none, so that the kernel ends it, as it does where a limit is too small.

Where the machine has control groups of version 2, a limit below what is in use makes the kernel kill at once; but the
engine accepts no limit below 6 MiB, and some workers need less. Version 1 refuses a limit below what is in use. In both
cases a process of ours that the kernel spares takes what is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from pathlib import Path

from ackgap.errors import HarnessFailed
from ackgap.execute import containment
from ackgap.execute.containers.docker import Api, error_text
from ackgap.execute.control_group import kills_counted

__all__ = ["exhaust"]

_LEAST_BYTES = 6 * 1024**2
"""The engine accepts no smaller limit."""
_PAGE = 4096
_LIMIT_S = 15.0
_AT_ONCE_S = 1.0
"""Real seconds in which a limit that the kernel has accepted shows."""
_LOOK_EVERY_S = 0.005
_GREED = """
import sys, time
open(sys.argv[1], "w").write("0")
open("/proc/self/oom_score_adj", "w").write("-1000")
print("in", flush=True)
held = []
for _ in range(int(sys.argv[2])):
    held.append(b"x" * (1 << 20))
time.sleep(60)
"""
"""Moves itself into the group, has itself spared, and takes so many mebibytes."""


async def exhaust(api: Api, container: str, pid: int, *, gone: asyncio.Event) -> None:
    """Leave a container no memory, and return once the kernel has killed something of it.

    Args:
        api: A client of the engine.
        container: Id of the container.
        pid: Of its first process, outside of it.
        gone: Set once that is gone.

    Raises:
        HarnessFailed: Nothing was killed.
    """
    import docker

    group = _group_of(pid)
    before = kills_counted(group)
    greedy: subprocess.Popen[bytes] | None = None
    problem = ""
    try:
        used = _number(group / "memory.usage_in_bytes")
        least = _LEAST_BYTES if not used else max(_LEAST_BYTES, used // _PAGE * _PAGE)
        try:
            await asyncio.to_thread(api.update_container, container, mem_limit=least, memswap_limit=least)
        except docker.errors.APIError as error:
            problem = error_text(error)
        try:
            await _killed(api, container, group, before, gone, limit_s=0.0 if used else _AT_ONCE_S)
        except TimeoutError:
            if gone.is_set():
                raise
            greedy = _greedy(group, mebibytes=max(64, least >> 20))
            await _killed(api, container, group, before, gone, limit_s=_LIMIT_S)
    except TimeoutError:
        raise HarnessFailed(
            f"the kernel killed nothing although there was no memory left{f': {problem}' if problem else ''}",
            where="fault oom",
            next_step="it needs control groups of version 2, or root; `ackgap doctor` says which there are",
        ) from None
    finally:
        if greedy is not None:
            containment.unspare_tree(greedy.pid)
            greedy.kill()
            greedy.wait()


async def _killed(api: Api, container: str, group: Path, before: int, gone: asyncio.Event, *, limit_s: float) -> None:
    """Return once the kernel has killed something.

    Raises:
        TimeoutError: It has not, within so many real seconds, or the container is gone for another reason.
    """
    async with asyncio.timeout(limit_s):
        while kills_counted(group) <= before:
            if gone.is_set():
                state = await asyncio.to_thread(api.inspect_container, container)
                if state["State"]["OOMKilled"]:
                    return
                raise TimeoutError
            await asyncio.sleep(_LOOK_EVERY_S)


def _greedy(group: Path, *, mebibytes: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-S", "-E", "-c", _GREED, str(group / "cgroup.procs"), str(mebibytes)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=containment.die_with_parent(),  # noqa: PLW1509 - one prctl call, nothing that needs a lock
    )
    containment.spare_tree(process.pid)
    return process


def _group_of(pid: int) -> Path:
    """Return the directory of the control group that counts a process' memory."""
    root = Path("/sys/fs/cgroup")
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            if "memory" in kinds.split(","):
                return root / "memory" / path.lstrip("/")
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                return root / line[3:].lstrip("/")
    return root / "unknown"


def _number(file: Path) -> int:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return 0
