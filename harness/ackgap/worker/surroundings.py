"""Who stands here: the name of the present thread or task, and the event loop that it would hold up.

Looks only at modules that the user's code has loaded; loads none.
"""

from __future__ import annotations

import _thread
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["blocks_loop", "running_asyncio_loop", "running_trio", "thread_name"]


def running_asyncio_loop() -> Any:
    """Return the asyncio event loop that runs in this thread, or None."""
    get_running_loop = getattr(sys.modules.get("asyncio.events"), "_get_running_loop", None)
    return get_running_loop() if get_running_loop is not None else None


def running_trio() -> Any:
    """Return the module `trio` if it runs this thread, or None."""
    trio = sys.modules.get("trio")
    if trio is None:
        return None
    try:
        trio.lowlevel.current_trio_token()
    except (AttributeError, RuntimeError):
        return None
    return trio


def blocks_loop() -> bool:
    """Whether parking this thread would hold up coroutines or green threads beside the one that stands here."""
    if running_asyncio_loop() is not None or running_trio() is not None:
        return True
    gevent = sys.modules.get("gevent.monkey")
    if gevent is not None and "socket" in getattr(gevent, "saved", {}):
        return True
    eventlet = sys.modules.get("eventlet.patcher")
    return eventlet is not None and bool(getattr(eventlet, "already_patched", None))


def thread_name(*, task: bool = False) -> str:
    """Return the name of this thread, or with `task` that of the asyncio task that runs in it."""
    loop = running_asyncio_loop() if task else None
    if loop is not None:
        current = sys.modules["asyncio"].current_task(loop)
        if current is not None:
            return str(current.get_name())
    ident = _thread.get_ident()
    # Not `current_thread`, which would register a made-up thread object for one that it does not know.
    thread = getattr(sys.modules.get("threading"), "_active", {}).get(ident)
    if thread is not None:
        return str(thread.name)
    return "MainThread" if "threading" not in sys.modules else f"thread-{ident}"
