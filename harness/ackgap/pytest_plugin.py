"""The pytest plugin: a `crash_matrix` fixture. Loaded in every pytest run of the environment, so it imports nothing.

def test_ticket_agent(crash_matrix):
    crash_matrix("scenarios/langgraph-ticket").assert_exactly_once()
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ackgap.matrix_run import MatrixRun

__all__ = ["crash_matrix"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("ackgap", "crash matrices (ackgap)")
    group.addoption(
        "--ackgap-jobs", type=int, default=None, metavar="N", help="cells at a time (default: one for each core)"
    )
    group.addoption(
        "--ackgap-network",
        choices=("auto", "isolated", "host"),
        default="auto",
        help="a network of their own for the workers, where the system allows it (default: auto)",
    )
    group.addoption(
        "--ackgap-out",
        default=None,
        metavar="DIR",
        help="where crash_matrix keeps results, a directory for each test (default: reports below the rootdir)",
    )


@pytest.fixture
def crash_matrix(request: pytest.FixtureRequest) -> Callable[..., MatrixRun]:
    """Run a crash matrix: `crash_matrix(path, only=[...], points=[...], slice_name=..., check=...)`.

    Or any worker, without a scenario: `crash_matrix(worker="python agent.py", targets=["tickets=any"],
    env=["TICKETS_URL={tickets.url}"])`, with the options of `ackgap run --worker` as keywords.

    Returns a `MatrixRun` with `assert_exactly_once()`, `verdicts` and `cells`.
    """
    from ackgap.errors import AckgapError
    from ackgap.support import check_platform

    try:
        check_platform()
    except AckgapError as error:
        pytest.fail(f"ackgap: {error}", pytrace=False)
    from ackgap.matrix_run import run_matrix

    config = request.config
    root = config.rootpath
    out = config.getoption("--ackgap-out")
    base = Path(out).absolute() if out else root / "reports"
    name = request.node.name.translate({ord(character): "-" for character in "/\\:[]<>*?\"' "})

    def run(scenario: str | Path | None = None, **arguments: object) -> MatrixRun:
        mistake: AckgapError
        try:
            return run_matrix(
                scenario,
                root=root,
                directory=base / name,
                jobs=config.getoption("--ackgap-jobs"),
                network=config.getoption("--ackgap-network"),
                **arguments,  # type: ignore[arg-type]
            )
        except AckgapError as error:
            mistake = error
        # Out of the handler, so that pytest does not print the exception twice.
        pytest.fail(f"ackgap: {mistake}", pytrace=False)

    return run
