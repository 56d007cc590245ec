"""Have DBOS look more often. It is asked for what it would have found a little later; what it finds is the same.

Seen with dbos 3.4.0: a recovered workflow goes through an internal queue, whose poll of one second has no setting, and
whoever waits for a result looks once a second.
"""

from __future__ import annotations

import inspect

from .announcer import Announcer
from .replacement import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["hook_queue", "look_more_often"]

_POLL_S = 0.05


def hook_queue(module: Any, announcer: Announcer) -> None:
    """Shorten the poll of every queue."""
    if not announcer.config.hurry:
        return
    original = module.Queue.__init__

    def begin(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if getattr(self, "_polling_interval_sec", 0) > _POLL_S:
            self._polling_interval_sec = _POLL_S

    module.Queue.__init__ = around(original, begin)


def look_more_often(module: Any, announcer: Announcer) -> None:
    """Shorten the polls of the system database: for results, and for notifications."""
    if not announcer.config.hurry:
        return
    database = module.SystemDatabase
    for name in ("await_workflow_result", "await_workflow_result_async"):
        original = getattr(database, name, None)
        if original is None or "polling_interval" not in inspect.signature(original).parameters:
            announcer.trouble(f"dbos has no SystemDatabase.{name} with an interval: its poll stays as it is")
        else:
            setattr(database, name, _waits_less(original))
    original = database.__init__

    def begin(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if getattr(self, "_notification_listener_polling_interval_sec", 0) > _POLL_S:
            self._notification_listener_polling_interval_sec = _POLL_S

    database.__init__ = around(original, begin)


def _waits_less(original: Any) -> Any:
    def wait(self: Any, workflow_id: Any, polling_interval: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, workflow_id, min(polling_interval, _POLL_S), *args, **kwargs)

    return around(original, wait)
