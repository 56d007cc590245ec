from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from needs import lacking


def _load() -> ModuleType:
    # Import mode importlib puts no test folder on the path; the builders are loaded by their place.
    spec = importlib.util.spec_from_file_location("_report_builders", Path(__file__).with_name("builders.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        lacking("needs a Chromium on PATH and the playwright package")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
        opened = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def shows() -> Callable[[Any, str | re.Pattern[str]], None]:
    """Wait until an element shows a text.

    `page.wait_for_function` would not do: it looks again by means of eval, which the page's own policy forbids.
    """

    def wait(element: Any, text: str | re.Pattern[str]) -> None:
        from playwright.sync_api import expect

        expect(element).to_contain_text(text, timeout=30_000)

    return wait


@pytest.fixture(scope="session")
def builders() -> ModuleType:
    return sys.modules.get("_report_builders") or _load()


@pytest.fixture(scope="session")
def deeper(builders: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of depth 2 with a race, another order of writes and equal states, and its reports."""
    from ackgap.model.bounds import Bounds
    from ackgap.report.write import write_reports

    cells = builders.deeper_results()
    ran = sum(1 for cell in cells if cell.schedule.faults and not cell.equal_to)
    bounds = Bounds(
        depth=2, faults=("killed",), variants=2, orders=True, ran=ran, equal=2, impossible=4, left=1, audited=1
    )
    directory = builders.write(tmp_path_factory.mktemp("run") / "deeper", cells=cells, bounds=bounds)
    write_reports(directory)
    return Path(directory)


@pytest.fixture(scope="session")
def partner_review(builders: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run with every report, for tests that only read."""
    from ackgap.report.write import write_reports

    directory = builders.write(tmp_path_factory.mktemp("run") / "partner-review")
    write_reports(directory)
    return Path(directory)
