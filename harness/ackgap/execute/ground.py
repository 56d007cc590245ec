"""The ground of a run: its temporary directory, and what dead runs have left on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import stat
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from ackgap.errors import HarnessFailed
from ackgap.execute import containment, workspace
from ackgap.execute.containers.reaper import remove_run

__all__ = ["CONTAINERS", "Ground", "clear_ground", "kill_left", "prepare_ground", "remove_ground", "sweep_dead_runs"]

_PREFIX = "ackgap-"
_OWNER = "owner.json"
CONTAINERS = "containers"
"""A file that is there where a run has containers, so that the next run asks for what is left of them."""
_NOBODYS_AFTER_S = 3600.0
_REMOVAL_LIMIT_S = 2.0
_BASE_BYTES = 70
"""The path of a Unix socket may have about 100 bytes; a run's directory, slot and socket add up to 25."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where a run keeps what nobody needs after it.

    Attributes:
        directory: Short, since the path of a socket below it is limited to about 100 characters.
        run_token: In the environment of every process of the run.
        owner: The harness: its process id, and when it started, as `pid:seconds`.
    """

    directory: Path
    run_token: str
    owner: str = ""


def prepare_ground() -> Ground:
    """Make the temporary directory of a run, after clearing away what killed runs have left.

    Raises:
        HarnessFailed: The directory cannot be made.
    """
    sweep_dead_runs()
    token = secrets.token_hex(12)
    try:
        directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_base()))
        owner = {"pid": os.getpid(), "started_s": psutil.Process().create_time(), "run": token}
        (directory / _OWNER).write_text(json.dumps(owner), encoding="utf-8")
    except OSError as error:
        raise HarnessFailed(
            f"no temporary directory can be made: {error.strerror or error}",
            where=_base(),
            next_step="free some space there, or set TMPDIR to a directory with room",
        ) from error
    return Ground(directory=directory, run_token=token, owner=f"{owner['pid']}:{owner['started_s']}")


def _base() -> str:
    """Return where runs have their temporary directories: where the system says, if sockets can have that path."""
    chosen = tempfile.gettempdir()
    return chosen if len(os.fsencode(chosen)) <= _BASE_BYTES else "/tmp"  # noqa: S108 - mkdtemp makes it private


def clear_ground(ground: Ground) -> None:
    """Kill what is left of a run and remove its directory."""
    _kill_run(ground.run_token)
    remove_ground(ground.directory)


def remove_ground(directory: Path) -> None:
    """Remove the directory of a run, however many processes do that at once; what cannot be removed stays, marked.

    The owner's mark goes last, so that a later run can clear away what is left.
    """
    ends_s = time.monotonic() + _REMOVAL_LIMIT_S
    while True:
        with contextlib.suppress(OSError):
            for path in directory.iterdir():
                if path.name != _OWNER:
                    workspace.remove_tree(path)
            workspace.remove_tree(directory)
        if not directory.exists() or time.monotonic() > ends_s:
            return
        time.sleep(0.05)


def kill_left(ground: Ground) -> None:
    """Kill every process that lives of a run have started and that is still there."""
    _kill_run(ground.run_token)


def sweep_dead_runs() -> None:
    """Clear away the processes and directories of runs whose harness is dead: killed, or the machine ran out of it."""
    for directory in Path(_base()).glob(f"{_PREFIX}*"):
        try:
            owner = json.loads((directory / _OWNER).read_text(encoding="utf-8"))
            alive = _is_alive(int(owner["pid"]), float(owner["started_s"]))
            token = str(owner["run"])
        except FileNotFoundError:
            _sweep_nobodys(directory)
            continue
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if not alive:
            if (directory / CONTAINERS).exists():
                remove_run(token)
            _kill_run(token)
            remove_ground(directory)


def _sweep_nobodys(directory: Path) -> None:
    """Remove a directory of ours that has no owner's mark: its harness died before it could leave one.

    Only one that has been there for a while, is empty or has nothing but what a run makes, and belongs to this user.
    """
    with contextlib.suppress(OSError):
        status = directory.lstat()
        ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
        known = all(re.fullmatch(r"s\d+|outside", path.name) for path in directory.iterdir())
        if ours and known and time.time() - status.st_mtime > _NOBODYS_AFTER_S:
            workspace.remove_tree(directory)


def _kill_run(token: str) -> None:
    containment.kill_all(lambda: containment.processes_with_environment("ACKGAP_RUN", token), limit_s=5)


def _is_alive(pid: int, started_s: float) -> bool:
    try:
        return abs(psutil.Process(pid).create_time() - started_s) < 1
    except psutil.Error:
        return False
