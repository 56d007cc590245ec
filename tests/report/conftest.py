from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _load() -> ModuleType:
    # Import mode importlib puts no test folder on the path; the builders are loaded by their place.
    spec = importlib.util.spec_from_file_location("_report_builders", Path(__file__).with_name("builders.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def builders() -> ModuleType:
    return sys.modules.get("_report_builders") or _load()


@pytest.fixture(scope="session")
def partner_review(builders: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run with every report, for tests that only read."""
    from ackgap.report.write import write_reports

    directory = builders.write(tmp_path_factory.mktemp("run") / "partner-review")
    write_reports(directory)
    return Path(directory)
