"""By what means a life is looked into: which injector a command gets, and what that needs of its environment."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ackgap.errors import EnvironmentLacks
from ackgap.execute.trace import seccomp
from ackgap.model.event import Injector
from ackgap.preload.build import library
from ackgap.preload.program import ProgramKind, program_kind

__all__ = ["Means", "means_for", "preload_environment"]


@dataclass(frozen=True, slots=True)
class Means:
    """How a life is looked into.

    Attributes:
        injector: Beside the targets, which always see what reaches them; `wire` stands for them alone.
        why_unseen: Why there is no other, where one was wanted; empty else.
    """

    injector: Injector
    why_unseen: str = ""


def means_for(asked: str, command: tuple[str, ...], *, path: str | None, directory: Path) -> Means:
    """Return the means for a command.

    Args:
        asked: The scenario's word: `auto`, or an injector.
        command: Argument vector of the life.
        path: Where its program is looked for.
        directory: Where it runs.

    Raises:
        EnvironmentLacks: What the scenario asks for is not to be had here, or not for this program.
    """
    if asked in (Injector.PYTHON, Injector.WIRE):
        return Means(Injector(asked))
    if asked == Injector.TRACE:
        if why := seccomp.lacking():
            raise EnvironmentLacks(
                f"the trace injector cannot be used here: {why}",
                where="worker.injector",
                next_step="choose another injector: preload, or wire",
            )
        return Means(Injector.TRACE)
    kind = program_kind(command, path=path, directory=directory)
    if asked == Injector.PRELOAD:
        if kind is ProgramKind.STATIC:
            raise EnvironmentLacks(
                f"the preload injector cannot be loaded into {command[0]}, which is linked statically",
                where="worker.injector",
                next_step='choose injector = "trace", which sees such programs too',
            )
        library()
        return Means(Injector.PRELOAD)
    return _best(kind)


def _best(kind: ProgramKind) -> Means:
    """Return the means that see most of a program; the reason, where there are none."""
    if kind is ProgramKind.DYNAMIC:
        try:
            library()
        except EnvironmentLacks as error:
            return Means(Injector.WIRE, f"{error.what}; {error.next_step}")
        return Means(Injector.PRELOAD)
    if kind is ProgramKind.STATIC:
        why = seccomp.lacking()
        if why:
            return Means(
                Injector.WIRE, f"no library can be loaded into it, and its system calls cannot be traced: {why}"
            )
        return Means(Injector.TRACE)
    return Means(Injector.PYTHON)


def preload_environment(
    env: Mapping[str, str], *, root: Path, channel: Path, ports: Iterable[int], beside_python: bool
) -> dict[str, str]:
    """Return what has to be added to an environment for the preload library to come up in all that has it.

    Args:
        env: The environment.
        root: The cell's directory.
        channel: The control socket.
        ports: Of the targets, where requests are to park before they leave.
        beside_python: Python processes are looked after by the python injector.
    """
    loaded = [str(library()), *filter(None, [env.get("LD_PRELOAD", "")])]
    return {
        "LD_PRELOAD": ":".join(loaded),
        "ACKGAP_CHANNEL": str(channel),
        "ACKGAP_PRELOAD_ROOT": os.path.realpath(root),
        "ACKGAP_PRELOAD_PORTS": ",".join(str(port) for port in ports),
        "ACKGAP_PRELOAD_SKIP": "python" if beside_python else "",
    }
