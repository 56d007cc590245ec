"""CrashCell: one cell as a test sees it that looks at more than its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from ackgap.model.history import History
from ackgap.model.matrix import CellResult
from ackgap.model.verdict import Finding
from ackgap.pytesting.state import State
from ackgap.pytesting.verdicts import assert_cell
from ackgap.pytesting.wanted import CellName

__all__ = ["CrashCell"]


class CrashCell:
    """What a cell proved.

    Args:
        state: Of the test run.
        name: Of the cell.
        result: What it proved.
    """

    def __init__(self, state: State, name: CellName, result: CellResult) -> None:
        self._state = state
        self._name = name
        self.result = result

    def __repr__(self) -> str:
        return f"<CrashCell {self.cell}: {self.verdict}>"

    @property
    def cell(self) -> str:
        """Its name, as reports and `ackgap replay` have it."""
        return self._name.cell

    @property
    def row(self) -> str:
        """What was done, and where: `tickets.create#1:applied`."""
        return self._name.row

    @property
    def variant(self) -> Mapping[str, str]:
        """Value by axis."""
        return self.result.variant.as_mapping()

    @property
    def verdict(self) -> str:
        """`ok`, `duplicate`, `lost`, ..."""
        return self.result.verdict.kind.value

    @property
    def headline(self) -> str:
        """The verdict in a sentence."""
        return self.result.verdict.headline

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the judges saw."""
        return self.result.findings

    @property
    def effects(self) -> Mapping[str, int]:
        """How many effects each operation had, over all lives."""
        return self.result.effects

    @cached_property
    def history(self) -> History:
        """Everything that happened, in order."""
        if self.result.history:
            return History.from_json([dict(event) for event in self.result.history])
        return self._state.running(self._name.wanted).history(self.cell)

    def assert_exactly_once(self, *, allow: Sequence[str] | None = None) -> None:
        """Fail unless every action happened exactly once; a known gap of the scenario is an expected failure.

        Args:
            allow: Verdicts that pass besides `ok`; those that the marker allows, or the project, where it is None.

        Raises:
            AssertionError: Says what happened twice, at which point, who could have prevented it, and how to see it
                again.
        """
        __tracebackhide__ = True
        assert_cell(self._state, self._name, self.result, allow=self._name.allow if allow is None else allow)
