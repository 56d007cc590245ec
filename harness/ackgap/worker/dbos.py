"""Durable writes of DBOS by what they are, whatever database they go to: steps, and the life of a workflow.

`dbos.step.<name>` records that a step is done; `dbos.workflow.start`, `.recover` and `.<outcome>` are rows about the
workflow itself. What is written besides (migrations, a queue's bookkeeping, the user's own transactions) keeps the name
that the database driver's hook gives it.
"""

from __future__ import annotations

import inspect

from .announcer import Announcer
from .dbos_polls import look_more_often
from .names import word
from .replacement import around
from .wire import is_on_wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    Naming = Callable[[Any], str]

__all__ = ["hook_system_database"]


def hook_system_database(module: Any, announcer: Announcer) -> None:
    """Announce the writes of the class that every kind of system database inherits from."""
    for name, naming in _NAMINGS.items():
        original = getattr(module.SystemDatabase, name, None)
        if original is None:
            announcer.trouble(f"dbos has no SystemDatabase.{name}: its writes are named by the database driver")
        else:
            setattr(module.SystemDatabase, name, _announced(original, naming, announcer))
    look_more_often(module, announcer)


def _announced(original: Any, naming: Naming, announcer: Announcer) -> Any:
    # As of now: the retrying wrapper of the engine's shows the signature of what it wraps.
    signature = inspect.signature(original)

    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_on_wire(getattr(self, "engine", None)):
            return original(self, *args, **kwargs)
        try:
            name = naming(signature.bind(self, *args, **kwargs).arguments)
        except Exception as error:
            announcer.trouble(f"a write of dbos could not be named ({original.__name__})", error)
            return original(self, *args, **kwargs)
        with announcer.durable_write(name):
            return original(self, *args, **kwargs)

    return around(original, write)


def _step(given: Any) -> str:
    # A function defined in another is named `outer.<locals>.inner`: what precedes says nothing about the step.
    return f"dbos.step.{word(str(given['result']['function_name']).rpartition('<locals>.')[2])}"


_NAMINGS: dict[str, Naming] = {
    "record_operation_result": _step,
    "init_workflow": lambda _: "dbos.workflow.start",
    "reenqueue_for_recovery": lambda _: "dbos.workflow.recover",
    "update_workflow_outcome": lambda given: f"dbos.workflow.{word(str(given['status']).lower())}",
}
