"""The pytest plugin: cells as tests, matrices and fake services as fixtures. Every pytest run loads it: light.

    pytest scenarios/my-agent/scenario.toml

    @pytest.mark.crash_matrix("scenarios/my-agent", points=["tickets.*"])
    def test_ticket_agent(crash_cell):
        crash_cell.assert_exactly_once()

    def test_the_whole(crash_matrix):
        crash_matrix("scenarios/my-agent").assert_exactly_once()

    def test_a_client(ackgap_target):
        tickets = ackgap_target("case-management")

What is done is in `ackgap.pytesting`; here is only when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ackgap.matrix_run import MatrixRun
    from ackgap.pytesting.crash_cell import CrashCell
    from ackgap.pytesting.items import ScenarioFile
    from ackgap.pytesting.targets import TargetFactory

__all__ = ["ackgap_target", "crash_cell", "crash_matrix"]

_SCENARIO_FILE = "scenario.toml"
_MARKER = "crash_matrix"
_used = pytest.StashKey[bool]()
"""Whether anything of ackgap is used in this run; until then none of its modules but this one is imported."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("ackgap", "crash matrices (ackgap)")
    group.addoption(
        "--ackgap-jobs", type=int, default=None, metavar="N", help="cells at a time (default: one for each core)"
    )
    group.addoption(
        "--ackgap-network",
        choices=("auto", "isolated", "host"),
        default=None,
        help="a network of their own for the workers, where the system allows it (default: auto)",
    )
    group.addoption(
        "--ackgap-out",
        default=None,
        metavar="DIR",
        help="where results go, a directory for each scenario or test (default: reports below the rootdir)",
    )
    group.addoption(
        "--ackgap-warm",
        choices=("on", "off"),
        default=None,
        help="fork Python workers from a parent that has imported their installed modules once (default: off)",
    )
    group.addoption(
        "--ackgap-slice",
        default=None,
        metavar="NAME",
        help="of a scenario that is collected run this slice, if it has one of that name",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and read what the project says: a mistake there is told before anything runs."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(scenario, only=[], points=[], slice_name=None, faults=[], schedules=[], unsettled=0, "
        "settings={}, warm=False, engine_defaults=False, allow=None): run the test for each cell of a scenario",
    )
    file = config.rootpath / "pyproject.toml"
    if file.is_file() and b"ackgap" in file.read_bytes():
        _project(config)


def _project(config: pytest.Config) -> None:
    """Make the state of the run."""
    from ackgap.errors import AckgapError
    from ackgap.project import read_project
    from ackgap.pytesting.state import state_of

    try:
        project = read_project(config.rootpath)
    except AckgapError as error:
        raise pytest.UsageError(f"ackgap: {error}") from None
    state_of(config, project)
    config.stash[_used] = True


def _use(config: pytest.Config) -> None:
    if not config.stash.get(_used, False):
        _project(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ScenarioFile | None:
    """Collect a scenario: one test a cell."""
    if file_path.name != _SCENARIO_FILE:
        return None
    from ackgap.pytesting.items import ScenarioFile, is_scenario
    from ackgap.pytesting.state import state_of

    _use(parent.config)
    named = parent.session.isinitpath(file_path)
    if not named and not (state_of(parent.config).options.collect and is_scenario(file_path)):
        return None
    return ScenarioFile.from_parent(parent, path=file_path)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test for each cell of a function with the marker."""
    if metafunc.definition.get_closest_marker(_MARKER) is not None:
        from ackgap.pytesting.marker import parametrised

        _use(metafunc.config)
        parametrised(metafunc)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note which cells this run needs, once everybody has chosen and ordered."""
    if session.config.stash.get(_used, False):
        from ackgap.pytesting.marker import selected_cells
        from ackgap.pytesting.state import state_of

        state_of(session.config).select(selected_cells(session.items))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Assert the verdict of a cell for a test that does not look at it itself."""
    if pyfuncitem.config.stash.get(_used, False):
        from ackgap.pytesting.marker import assert_unless_used

        assert_unless_used(pyfuncitem)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:  # noqa: ARG001 - the hook's
    """Take over from a worker of pytest-xdist what it leaves to this process."""
    told = getattr(node, "workeroutput", {}).get("ackgap")
    if told:
        from ackgap.pytesting.state import state_of

        _use(node.config)
        state_of(node.config).take_over(told, run=node.workerinput["testrunuid"])


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End whatever runs, and have the reports made by the process that has the terminal."""
    if session.config.stash.get(_used, False):
        from ackgap.pytesting.state import state_of

        state_of(session.config).finish()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say where the reports are."""
    if config.stash.get(_used, False):
        from ackgap.pytesting.state import state_of

        for line in state_of(config).summary():
            terminalreporter.write_line(f"ackgap: {line}")


@pytest.fixture
def crash_matrix(request: pytest.FixtureRequest) -> Callable[..., MatrixRun]:
    """A function that runs a matrix as a whole, with its arguments by name: see docs/pytest.md.

    Such as `crash_matrix(path, only=[...], points=[...], slice_name=..., check=...)`.

    Or any worker, without a scenario: `crash_matrix(worker="python agent.py", targets=["tickets=any"],
    env=["TICKETS_URL={tickets.url}"])`, with the options of `ackgap run --worker` as keywords.

    Returns a `MatrixRun` with `assert_exactly_once()`, `verdicts` and `cells`.
    """
    from ackgap.pytesting.matrix import matrix_runner

    _use(request.config)
    return matrix_runner(request)


@pytest.fixture
def crash_cell(request: pytest.FixtureRequest) -> CrashCell:
    """One cell of the scenario that the marker of the test names: its verdict, findings and history."""
    from ackgap.pytesting.matrix import cell_of_test

    _use(request.config)
    return cell_of_test(request)


@pytest.fixture
def ackgap_target() -> Iterator[TargetFactory]:
    """Start fake services for a test, each with its address and its ledger.

    Call it with the name of a profile, such as "stripe"; what comes back has `url` and `effects`.
    """
    from ackgap.pytesting.targets import TargetFactory

    factory = TargetFactory()
    yield factory
    factory.close()
