"""Where ackgap runs; apart from everything else, so that it can be asked before anything is imported that cannot be."""

from __future__ import annotations

import os
import sys

from ackgap.errors import EnvironmentLacks

__all__ = ["VERSIONS_QUESTION", "check_platform", "cores"]

VERSIONS_QUESTION = """
import importlib.metadata as m, json, platform, sys
found = {}
for name in sys.argv[1:]:
    try: found[name] = m.version(name)
    except m.PackageNotFoundError: pass
print(json.dumps([platform.python_version(), found]))
"""
"""Code for any interpreter: prints its version, and those of the distributions that are named to it and that it has."""


def check_platform(system: str = sys.platform) -> None:
    """Refuse systems on which a worker cannot be killed and watched as ackgap does it.

    Raises:
        EnvironmentLacks: This is neither Linux nor macOS.
    """
    if not system.startswith(("linux", "darwin")):
        raise EnvironmentLacks(
            f"ackgap needs Linux or macOS: {system} has no SIGKILL, no process sessions and no Unix sockets",
            next_step="run it in a Linux container or virtual machine, such as WSL 2",
        )


def cores() -> int:
    """Return how many cores this process may use: fewer than there are where it is bound to some."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
