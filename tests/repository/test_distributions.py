"""What is in the wheel and in the sdist."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
SUFFIXES = {
    "ackgap": {".py", ".css", ".js", ".html", ".toml", ".c"},
    "targets": {".toml"},
    "scenarios": {".py", ".toml", ".json", ".md", ".js", ".mjs", ".sh", ".c", ".go", ".rs", ".yaml"},
}


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def files_below(directory: Path, as_: str) -> dict[str, bytes]:
    return {
        f"{as_}/{path.relative_to(directory).as_posix()}": path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts  # other tests run what is in the checkout
    }


def test_the_wheel_holds_the_package_with_its_content_and_nothing_else(wheel, checkout):
    expected = (
        files_below(checkout / "harness" / "ackgap", "ackgap")
        | files_below(checkout / "targets", "ackgap/_content/targets")
        | files_below(checkout / "scenarios", "ackgap/_content/scenarios")
    )
    found = contents(wheel)
    metadata = {name for name in found if name.startswith("ackgap-")}
    assert found.keys() - metadata == expected.keys()
    assert {name: found[name] for name in expected} == expected
    assert {name.partition("/")[2] for name in metadata} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
        "licenses/LICENSE",
    }


def test_the_wheel_has_what_no_import_would_miss(wheel):
    found = contents(wheel)
    for name in (
        "ackgap/py.typed",
        "ackgap/worker/path/sitecustomize.py",
        "ackgap/report/assets/page.html",
        "ackgap/_content/targets/stripe.toml",
        "ackgap/_content/scenarios/langgraph-ticket/scenario.toml",
        "ackgap/_content/scenarios/langgraph-ticket/worker.py",
    ):
        assert name in found, name


def test_nothing_that_a_run_leaves_behind_is_packed(wheel):
    for name in contents(wheel):
        parts = Path(name).parts
        if parts[0] == "ackgap" and name != "ackgap/py.typed":
            kind = parts[2] if parts[1] == "_content" else "ackgap"
            assert Path(name).suffix in SUFFIXES[kind] or parts[-1] == "Dockerfile", name


def test_the_metadata_names_dependencies_extras_and_entry_points(wheel):
    found = contents(wheel)
    metadata = next(text for name, text in found.items() if name.endswith("/METADATA")).decode()
    entry_points = next(text for name, text in found.items() if name.endswith("/entry_points.txt")).decode()
    for dependency in ("docker", "hypothesis", "psutil", "pytest", "rich", "toxiproxy-python"):
        assert f"Requires-Dist: {dependency}>=" in metadata
    assert "Requires-Dist: langgraph>=1.0; extra == 'langgraph'" in metadata
    assert "Requires-Python: <3.15,>=3.11" in metadata
    assert "[console_scripts]\nackgap = ackgap.cli:main" in entry_points
    assert "[pytest11]\nackgap = ackgap.pytest_plugin" in entry_points


def test_the_wheel_of_the_sdist_is_the_wheel_of_the_checkout(wheel, wheel_of_sdist):
    ours, theirs = contents(wheel), contents(wheel_of_sdist)
    assert theirs.keys() == ours.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []


def test_the_sdist_can_run_its_tests_and_make_targets(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for name in ("Makefile", "conftest.py", "pyproject.toml", "tests/repository/conftest.py", "docs/make_targets.py"):
        assert name in names, name
    assert not [name for name in names if "__pycache__" in name or name.startswith((".git/", "reports/", ".venv"))]
