"""Elsewhere than on Linux and macOS: a clear refusal."""

from __future__ import annotations

import pytest

from ackgap.errors import EnvironmentLacks
from ackgap.support import check_platform


@pytest.mark.parametrize("system", ["linux", "darwin"])
def test_linux_and_macos_are_accepted(system):
    check_platform(system)


@pytest.mark.parametrize("system", ["win32", "cygwin", "emscripten"])
def test_other_systems_are_refused_with_what_to_do(system):
    with pytest.raises(EnvironmentLacks, match=system) as caught:
        check_platform(system)
    assert "container" in caught.value.next_step


def test_a_refusal_comes_before_anything_is_imported_that_does_not_exist_there():
    import subprocess
    import sys

    code = (
        "import argparse, gettext, locale, shutil, sys; from ackgap.cli import main; sys.platform = 'win32'; "
        "code = main(['run', 'x']); print('fcntl' in sys.modules, code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "2"]
    assert "Linux or macOS" in done.stderr
