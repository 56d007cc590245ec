"""A `scenario.toml` as a file of tests, one for each cell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ackgap.errors import AckgapError
from ackgap.pytesting.state import state_of
from ackgap.pytesting.wanted import CellName, Wanted

__all__ = ["CellItem", "ScenarioFile", "is_scenario"]


def is_scenario(path: Path) -> bool:
    """Whether a file of that name is one of ours: others may call theirs the same."""
    try:
        text = path.read_bytes()
    except OSError:
        return False
    return b"worker" in text and b"targets" in text


class ScenarioFile(pytest.File):
    """A `scenario.toml`."""

    def collect(self) -> Iterator[CellItem]:
        """Yield a test for each cell; cells that are not known have the scenario run undisturbed first."""
        state = state_of(self.config)
        options = state.options
        wanted = Wanted(path=self.path, warm=options.warm, slice_if_there=options.slice_name)
        mistake: AckgapError | None = None
        try:
            census = state.census(wanted)
        except AckgapError as error:
            mistake = error
        if mistake is not None:
            raise self.CollectError(f"ackgap: {mistake}")
        for name in census.names(wanted):
            yield CellItem.from_parent(self, name=name.test, cell=name, scenario=census.scenario)


class CellItem(pytest.Item):
    """A cell as a test: passes where every action happened exactly once.

    Args:
        cell: Which.
        scenario: Name of the scenario.
        arguments: Those of every item.
    """

    def __init__(self, *, cell: CellName, scenario: str, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.cell = cell
        self._scenario = scenario
        self.extra_keyword_matches.update(cell.keywords)

    def runtest(self) -> None:
        """Have the cell run, and fail unless it is as it should be."""
        from ackgap.pytesting.verdicts import assert_cell, properties_of

        state = state_of(self.config)
        result = state.result(self.cell)
        self.user_properties[:] = properties_of(result)
        assert_cell(state, self.cell, result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what a person has to read of a failure, without a traceback where it is no bug of ours."""
        from ackgap.pytesting.verdicts import CellFailed

        error = excinfo.value
        if isinstance(error, CellFailed):
            return f"{error}\n  scenario   {os.path.relpath(self.path, self.config.invocation_params.dir)}"
        if isinstance(error, AckgapError):
            return f"ackgap: {error}"
        if isinstance(error, pytest.fail.Exception):  # of a plugin that ended the wait, such as pytest-timeout
            return f"{error}\n  waited for {self.cell.cell}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return where the test is written, and what a report calls it."""
        return self.path, None, f"{self._scenario}: {self.cell.cell}"
