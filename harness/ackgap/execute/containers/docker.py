"""The Docker engine: where it is, whether it answers, and what is ours in it.

The `docker` package is imported only here, and only once something is wanted of an engine.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ackgap.errors import EnvironmentLacks

__all__ = ["OWNER", "RUN", "SLOT", "Api", "address", "check_nearness", "connect", "error_text", "labels_of", "machine"]

Api: TypeAlias = Any
"""The package's own client; it brings no types along."""

RUN, SLOT, OWNER = "ackgap.run", "ackgap.slot", "ackgap.owner"
_MACHINE = "ackgap.machine"
_DEFAULT = "unix:///var/run/docker.sock"
_LIMIT_S = 60


def address() -> str:
    """Return where the engine is looked for."""
    return os.environ.get("DOCKER_HOST") or _DEFAULT


def connect(*, limit_s: float = _LIMIT_S) -> Api:
    """Return a client of the engine of this machine.

    Args:
        limit_s: Real seconds for one answer of it.

    Raises:
        EnvironmentLacks: None answers, or it is on another machine.
    """
    where = address()
    try:
        import docker
    except ImportError:
        raise EnvironmentLacks(
            "a worker in a container needs the Python package 'docker'",
            where="worker.image",
            next_step="pip install 'ackgap[docker]'",
        ) from None
    if not where.startswith("unix://"):
        raise EnvironmentLacks(
            "the Docker engine has to be on this machine, so that a container reaches the targets and no other network",
            where=f"DOCKER_HOST={where}",
            next_step="unset DOCKER_HOST, or set it to the socket of an engine that runs here",
        )
    try:
        _knock(where.removeprefix("unix://"))
        return docker.APIClient(base_url=where, version="auto", timeout=limit_s)
    except (docker.errors.DockerException, OSError) as error:
        raise EnvironmentLacks(
            f"no Docker engine answers: {error_text(error)}",
            where=where,
            next_step="start it (`systemctl start docker`, or `dockerd`), be one of the group 'docker', or set "
            "DOCKER_HOST to its socket; `ackgap doctor` says whether it answers",
        ) from error


def _knock(path: str) -> None:
    """See that somebody listens at a socket: the package leaves its own open where nobody does.

    Raises:
        OSError: Nobody does, or we may not ask.
    """
    with socket.socket(socket.AF_UNIX) as door:
        door.settimeout(1)
        door.connect(path)


def check_nearness(api: Api) -> None:
    """Refuse an engine whose networks are not this machine's, so that targets could not listen in them.

    Raises:
        EnvironmentLacks: It is rootless, or runs in a virtual machine.
    """
    info = api.info()
    rootless = any("rootless" in str(option) for option in info.get("SecurityOptions") or ())
    if rootless or "Docker Desktop" in str(info.get("OperatingSystem")):
        raise EnvironmentLacks(
            "the Docker engine has its networks elsewhere: it is "
            + ("rootless" if rootless else "Docker Desktop, which runs in a virtual machine"),
            where=address(),
            next_step="use an engine of the system (`apt-get install docker.io`), with DOCKER_HOST set to its socket",
        )


def error_text(error: BaseException) -> str:
    """Return what the engine says of an error, in one line."""
    text = str(getattr(error, "explanation", None) or error)
    return " ".join(text.split())[:400]


def machine() -> str:
    """Return what tells this machine and its process numbers from all others that may use the same engine."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}:{os.stat('/proc/self/ns/pid').st_ino}"  # noqa: PTH116 - of the link's target
    except OSError:
        return "unknown"


def labels_of(run: str, *, owner: str, slot: int = 0) -> Mapping[str, str]:
    """Return the labels of everything that a run has the engine make.

    Args:
        run: Token of the run.
        owner: Process id of the harness and when it started, as `pid:seconds`.
        slot: Number of the slot.
    """
    return {RUN: run, OWNER: owner, SLOT: str(slot), _MACHINE: machine()}
