"""The fixtures `crash_matrix`, a matrix as a whole, and `crash_cell`, one cell of a test that is run for each."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from ackgap.errors import AckgapError
from ackgap.matrix_run import MatrixRun, run_matrix
from ackgap.model.verdict import Colour
from ackgap.pytesting.crash_cell import CrashCell
from ackgap.pytesting.state import directory_name, state_of
from ackgap.pytesting.verdicts import properties_of
from ackgap.pytesting.wanted import MARKER, CellName
from ackgap.support import check_platform

__all__ = ["cell_of_test", "matrix_runner"]


def matrix_runner(request: pytest.FixtureRequest) -> Callable[..., MatrixRun]:
    """Return what the fixture is: a function that runs a matrix for a test, and fails it in words."""
    state = state_of(request.config)
    name = directory_name(request.node.name)
    calls = itertools.count()

    def run(scenario: str | Path | None = None, **arguments: object) -> MatrixRun:
        # The how-manieth call counts: a test may run the same twice, and change something in between.
        key = (request.node.nodeid, next(calls), repr((scenario, sorted(arguments.items()))))
        before = state.matrices.get(key)
        if before is not None:  # the test is rerun, and what was red once stays red
            return before
        following = state.following(str(scenario or request.node.name))
        mistake: AckgapError
        try:
            check_platform()
            found = run_matrix(
                scenario,
                root=request.config.rootpath,
                directory=state.options.out / name,
                display=following,
                tell=state.voice().say,
                jobs=state.jobs(),
                network=state.options.network,
                **{"warm": state.options.warm, "copies": state.options.copies, **arguments},  # type: ignore[arg-type]
            )
        except AckgapError as error:
            mistake = error
        else:
            if any(cell.verdict.kind.colour is Colour.RED for cell in found.cells):
                state.matrices[key] = found
            return found
        finally:
            following.ended()
        # Out of the handler, so that pytest does not print the exception twice.
        pytest.fail(f"ackgap: {mistake}", pytrace=False)

    return run


def cell_of_test(request: pytest.FixtureRequest) -> CrashCell:
    """Return the cell that a test is about, once it has run."""
    name = getattr(request, "param", None)
    if not isinstance(name, CellName):
        pytest.fail(
            f'ackgap: the fixture crash_cell needs to be told of which scenario: @pytest.mark.{MARKER}("path")',
            pytrace=False,
        )
    state = state_of(request.config)
    mistake: AckgapError
    try:
        result = state.result(name)
    except AckgapError as error:
        mistake = error
    else:
        request.node.user_properties[:] = [*request.node.user_properties, *properties_of(result)]
        return CrashCell(state, name, result)
    pytest.fail(f"ackgap: {mistake}", pytrace=False)
