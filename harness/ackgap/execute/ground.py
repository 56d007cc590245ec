"""The ground of a run: its temporary directory, and what dead runs have left on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

import psutil

from ackgap.errors import HarnessFailed
from ackgap.execute import containment, workspace

__all__ = ["Ground", "clear_ground", "prepare_ground", "sweep_dead_runs"]

_PREFIX = "ackgap-"
_OWNER = "owner.json"
_BASE_BYTES = 70
"""The path of a Unix socket may have about 100 bytes; a run's directory, slot and socket add up to 25."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where a run keeps what nobody needs after it.

    Attributes:
        directory: Short, since the path of a socket below it is limited to about 100 characters.
        run_token: In the environment of every process of the run.
    """

    directory: Path
    run_token: str


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
    return Ground(directory=directory, run_token=token)


def _base() -> str:
    """Return where runs have their temporary directories: where the system says, if sockets can have that path."""
    chosen = tempfile.gettempdir()
    return chosen if len(os.fsencode(chosen)) <= _BASE_BYTES else "/tmp"  # noqa: S108 - mkdtemp makes it private


def clear_ground(ground: Ground) -> None:
    """Kill what is left of a run and remove its directory."""
    _kill_run(ground.run_token)
    with contextlib.suppress(OSError):
        workspace.remove_tree(ground.directory)


def sweep_dead_runs() -> None:
    """Clear away the processes and directories of runs whose harness is dead: killed, or the machine ran out of it."""
    for directory in Path(_base()).glob(f"{_PREFIX}*"):
        try:
            owner = json.loads((directory / _OWNER).read_text(encoding="utf-8"))
            alive = _is_alive(int(owner["pid"]), float(owner["started_s"]))
            token = str(owner["run"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if not alive:
            _kill_run(token)
            with contextlib.suppress(OSError):
                workspace.remove_tree(directory)


def _kill_run(token: str) -> None:
    containment.kill_all(lambda: containment.processes_with_environment("ACKGAP_RUN", token), limit_s=5)


def _is_alive(pid: int, started_s: float) -> bool:
    try:
        return abs(psutil.Process(pid).create_time() - started_s) < 1
    except psutil.Error:
        return False
