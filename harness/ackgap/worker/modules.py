"""Tells, at the end of an undisturbed run, which third-party modules the worker had imported.

From these, and only these, a warm parent for later lives is made: nothing of the user's own code is among them.
"""

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from .channel import Channel

__all__ = ["report_at_exit"]


def report_at_exit(channel: Channel) -> None:
    """Report when the interpreter ends; the user's exit handlers were registered later and have run by then."""
    process = os.getpid()

    def report() -> None:
        if os.getpid() == process:
            channel.tell({"type": "modules", "names": " ".join(third_party(sys.modules))})

    atexit.register(report)


def third_party(modules: Mapping[str, ModuleType]) -> list[str]:
    """Return the names of modules that come from the interpreter or an installed distribution, in import order."""
    import sysconfig

    paths = sysconfig.get_paths()
    homes = tuple({os.path.join(paths[key], "") for key in ("stdlib", "platstdlib", "purelib", "platlib")})
    found = []
    for name, module in list(modules.items()):
        spec = getattr(module, "__spec__", None)
        origin = getattr(spec, "origin", None)
        if name.split(".")[0] in ("__main__", "_ackgap_worker", "sitecustomize", "usercustomize") or spec is None:
            continue
        if spec.name == name and isinstance(origin, str) and origin.startswith(homes):
            found.append(name)
    return found
