"""Which Python is meant by a version, a command or a path."""

from __future__ import annotations

import platform
import sys

import pytest

from ackgap.environments.interpreter import find_interpreter

MINOR = ".".join(platform.python_version_tuple()[:2])


@pytest.mark.parametrize("wanted", [None, MINOR, platform.python_version(), sys.executable])
def test_ackgap_s_own_is_found_by_each_of_its_names(wanted, tmp_path):
    found = find_interpreter(wanted, tmp_path)
    assert found is not None
    assert found.version == platform.python_version()


def test_a_path_is_relative_to_the_scenario(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mine").symlink_to(sys.executable)
    assert find_interpreter("bin/mine", tmp_path) is not None
    assert find_interpreter("bin/mine", tmp_path / "elsewhere") is None


def test_a_stand_in_that_leads_to_nothing_is_passed_over(tmp_path, monkeypatch):
    for folder, script in (("first", "exit 127"), ("second", f'exec {sys.executable} "$@"')):
        program = tmp_path / folder / "python3.99"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'first'}:{tmp_path / 'second'}")
    assert find_interpreter("python3.99", tmp_path) is None
    # The one that answers is another version than its name says.
    assert find_interpreter("3.99", tmp_path) is None
    (tmp_path / "second" / "python3.99").rename(tmp_path / "second" / f"python{MINOR}")
    (tmp_path / "first" / "python3.99").rename(tmp_path / "first" / f"python{MINOR}")
    own = sys.executable
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nothing"))
    found = find_interpreter(MINOR, tmp_path)
    assert found is not None
    assert found.program == own


def test_a_program_that_is_no_python_is_none(tmp_path):
    assert find_interpreter("/bin/echo", tmp_path) is None
    assert find_interpreter("/bin/false", tmp_path) is None
