"""What the lives of one cell may take of this machine, and how often they wanted more than that."""

from __future__ import annotations

from ackgap.execute.control_group import ControlGroup, NotPermitted, Struck
from ackgap.scenario.scenario import Limits

__all__ = ["Allowance"]


class Allowance:
    """The limits of a cell, where the scenario sets any.

    Args:
        limits: The scenario's.
        contained: Lives run in containers, which have limits of their own.

    Attributes:
        group: What lives have to be in; None where nothing limits them, or where containers do.
        why_none: Why limits that the scenario sets cannot be held; empty where they can.
    """

    def __init__(self, limits: Limits, *, contained: bool) -> None:
        self.group: ControlGroup | None = None
        self.why_none = ""
        self._told = Struck()
        if contained or (limits.memory_bytes is None and limits.processes is None):
            return
        try:
            self.group = ControlGroup(memory_bytes=limits.memory_bytes, processes=limits.processes)
        except NotPermitted as reason:
            self.why_none = str(reason)

    def look(self) -> Struck:
        """Return how often the limits have struck since somebody looked last."""
        if self.group is None:
            return Struck()
        before, self._told = self._told, self.group.struck()
        return Struck(kills=self._told.kills - before.kills, refusals=self._told.refusals - before.refusals)

    def close(self) -> None:
        """Give the group back; all lives are over."""
        if self.group is not None:
            self.group.close()
