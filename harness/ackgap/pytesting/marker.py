"""`@pytest.mark.crash_matrix`: a test function for each cell of a scenario, or of a part of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from ackgap.errors import AckgapError, UsageInvalid
from ackgap.pytesting.items import CellItem
from ackgap.pytesting.state import State, state_of
from ackgap.pytesting.wanted import MARKER, CellName, Wanted, marked

__all__ = ["FIXTURE", "assert_unless_used", "cell_of", "parametrised", "selected_cells"]

FIXTURE = "crash_cell"


def parametrised(metafunc: pytest.Metafunc) -> None:
    """Make a test of a function for each cell that its marker names."""
    mark = metafunc.definition.get_closest_marker(MARKER)
    if mark is None or metafunc.definition.get_closest_marker("skip") is not None:
        return
    state = state_of(metafunc.config)
    used = FIXTURE in metafunc.fixturenames
    mistake: AckgapError
    try:
        wanted, allow = _wanted(state, mark)
        names = [replace(name, allow=allow, asserted=not used) for name in state.census(wanted).names(wanted)]
    except AckgapError as error:
        mistake = error
    else:
        if not used:
            metafunc.fixturenames.append(FIXTURE)
        metafunc.parametrize(FIXTURE, names, indirect=True, ids=[name.test for name in names])
        return
    # Out of the handler, so that pytest does not print the exception twice.
    pytest.fail(f"ackgap: {mistake}", pytrace=False)


def assert_unless_used(item: pytest.Function) -> None:
    """Assert the verdict of a cell for a test that does not look at it itself."""
    name = cell_of(item)
    if name is None or not name.asserted:
        return
    from ackgap.pytesting.verdicts import CellFailed, assert_cell, properties_of

    state = state_of(item.config)
    mistake: Exception
    try:
        result = state.result(name)
        item.user_properties[:] = [*item.user_properties, *properties_of(result)]
        assert_cell(state, name, result, allow=name.allow)
        return
    except (CellFailed, AckgapError) as error:
        mistake = error
    pytest.fail(f"{'ackgap: ' if isinstance(mistake, AckgapError) else ''}{mistake}", pytrace=False)


def cell_of(item: pytest.Item) -> CellName | None:
    """Return the cell that a test is about; None where it is about none."""
    if isinstance(item, CellItem):
        return item.cell
    params: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    found = params.get(FIXTURE)
    return found if isinstance(found, CellName) else None


def selected_cells(items: Iterable[pytest.Item]) -> Iterator[CellName]:
    """Yield the cells that tests are about, in the order of the tests."""
    for item in items:
        name = cell_of(item)
        if name is not None:
            yield name


def _wanted(state: State, mark: pytest.Mark) -> tuple[Wanted, tuple[str, ...] | None]:
    from ackgap.scenario.discover import find_scenario

    if len(mark.args) != 1:
        raise UsageInvalid(
            "the marker names no scenario" if not mark.args else "the marker names more than one thing",
            where=f"@pytest.mark.{MARKER}(...)",
            next_step=f'write @pytest.mark.{MARKER}("scenarios/my-agent", points=["tickets.*"])',
        )
    path = state.config.rootpath / mark.args[0]  # an absolute one stands for itself
    found = find_scenario(str(path if path.exists() else mark.args[0]))
    return marked(found.absolute(), mark.kwargs, warm=state.options.warm)
