"""Slow tests run in CI, or when they are asked for; in CI a missing program is a failure, elsewhere a skip."""

from __future__ import annotations

import os
import shutil

import pytest
from longest import longest_first
from needs import lacking

pytest_plugins = ["pytester"]

IN_CI = os.environ.get("CI") == "true"
# Tests that run in a job of GitHub Actions must not write into the summary of that job; those about jobs say so.
for _name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
    os.environ.pop(_name, None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", default=IN_CI, help="run the slow tests too, as CI does")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("-m"):
        longer = [item for item in items if item.get_closest_marker("very_slow")]
        config.hook.pytest_deselected(items=longer)
        items[:] = [item for item in items if item not in longer]
    if config.getoption("--slow"):
        processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        if processes > 1:
            items[:] = longest_first(items, processes)
        return
    if config.getoption("-m"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow; run with --slow, or CI=true"))


@pytest.fixture
def program():
    """Return the path of a program that a test needs; skip where it is missing, and fail in CI."""

    def find(name: str, how: str) -> str:
        found = shutil.which(name)
        if found is None:
            lacking(f"{name} is missing; get it with: {how}")
        return found

    return find
