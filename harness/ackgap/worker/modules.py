"""Tells, during an undisturbed run and at its end, which third-party modules the worker has imported.

From these, and only these, a warm parent for later lives is made: nothing of the user's own code is among them. Many
a worker serves until it is killed, or ends by `os._exit`, so its interpreter has no end at which to tell.
"""

from __future__ import annotations

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType
    from typing import Any, Callable

    from .channel import Channel

__all__ = ["report_modules"]


def report_modules(channel: Channel) -> None:
    """Report at boundaries where there are more than before, and when the interpreter ends.

    The user's exit handlers are registered later than ours, and have run by then.
    """
    process = os.getpid()
    known = 0

    def report() -> None:
        nonlocal known
        if os.getpid() == process and len(sys.modules) > known:
            names = " ".join(third_party(sys.modules))
            known = len(sys.modules)
            channel.tell({"type": "modules", "names": names})

    atexit.register(report)
    for method in ("reach", "reach_async"):
        setattr(channel, method, _after(report, getattr(channel, method)))


def _after(report: Callable[[], None], method: Callable[..., Any]) -> Callable[..., Any]:
    def reach(*args: Any) -> Any:  # of a coroutine it is the making
        report()
        return method(*args)

    return reach


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
