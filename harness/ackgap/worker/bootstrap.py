"""Bring the injector up inside a process of the worker."""

from __future__ import annotations

import os
import sys

from . import wire
from .announcer import Announcer
from .channel import Channel
from .config import Config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["start"]


def start(environment: Mapping[str, str]) -> Announcer | None:
    """Say hello and hook what is to be announced.

    Args:
        environment: Of the process; without `ACKGAP_CHANNEL` in it nothing happens.

    Returns:
        What the hooks talk to, None if the channel cannot be seen from this process.
    """
    path = environment.get("ACKGAP_CHANNEL")
    if not path:
        return None
    troubles: list[tuple[str, BaseException]] = []
    try:
        config = Config.from_text(environment.get("ACKGAP_CONFIG", ""))
    except ValueError as error:
        config = Config()
        troubles.append(("ACKGAP_CONFIG could not be read", error))
    clock_moved = False
    if config.clock_offset_s:
        from . import clock

        try:
            clock_moved = clock.move(config.clock_offset_s)
        except Exception as error:
            troubles.append(("the clock could not be moved", error))

    wire.remember(config.wire)
    token = environment.get("ACKGAP_TOKEN", "")  # now: the user's code may clear its environment before it forks

    def greeting() -> dict[str, Any]:
        return {
            "type": "hello",
            "token": token,
            "pid": os.getpid(),
            "ppid": os.getppid(),
            "python": ".".join(str(part) for part in sys.version_info[:3]),
            "executable": sys.executable,
            "clock_moved": clock_moved,
        }

    channel = Channel(path, greeting)
    if not channel.open():
        return None
    channel.survive_fork()
    announcer = Announcer(channel, config)
    for what, reason in troubles:
        announcer.trouble(what, reason)
    _hook(announcer)
    if environment.get("ACKGAP_REPORT_MODULES"):
        from . import modules

        modules.report_modules(channel)
    return announcer


def _hook(announcer: Announcer) -> None:
    from . import files, guard, imports

    for step in (files.hook_open, files.hook_rename, files.hook_remove, imports.install, guard.watch):
        try:
            step(announcer)
        except Exception as error:
            announcer.trouble(f"{step.__module__.rpartition('.')[2]} could not be hooked", error)
