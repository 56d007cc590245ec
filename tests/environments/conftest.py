"""An installer that does what a test says: named `uv`, it is what ackgap finds on PATH."""

from __future__ import annotations

import os
import select
import sys
from pathlib import Path

import pytest

LIMIT_S = 60.0

INSTALLER = """#!/bin/sh
echo "$@" >> "$FAKE_LOG"
env > "$FAKE_LOG.env"
case "$1 $2" in
  "venv --no-project")
    for place; do :; done
    mkdir -p "$place/bin" && ln -s "$FAKE_PYTHON" "$place/bin/python" ;;
  "pip install")
    if [ -n "$FAKE_SAYS" ]; then printf '%s\\n' "$FAKE_SAYS"; exit 1; fi
    if [ -n "$FAKE_GATE" ]; then
      touch "$(dirname "$5")/half"
      echo here > "$FAKE_HERE"
      cat "$FAKE_GATE"
    fi ;;
  *) exit 1 ;;
esac
"""


class Installer:
    """The installer, and what a test tells it and sees of it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        program = folder / "programs" / "uv"
        program.parent.mkdir()
        program.write_text(INSTALLER)
        program.chmod(0o755)
        self._monkeypatch = monkeypatch
        self._log = folder / "log"
        self._gate, self._here = folder / "gate", folder / "here"
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("FAKE_LOG", str(self._log))
        monkeypatch.setenv("FAKE_PYTHON", sys.executable)
        monkeypatch.setenv("ACKGAP_CACHE", str(folder / "cache"))

    @property
    def installs(self) -> int:
        """How often it was told to install."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return sum(line.startswith("pip install") for line in lines)

    @property
    def variables(self) -> dict[str, str]:
        """The environment that it had last."""
        lines = Path(f"{self._log}.env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def fail(self, text: str) -> None:
        """Have every installation fail from now on; an empty text has none fail."""
        self._monkeypatch.setenv("FAKE_SAYS", text)

    def hold(self) -> None:
        """Have every installation stop half way from now on."""
        os.mkfifo(self._gate)
        os.mkfifo(self._here)
        self._monkeypatch.setenv("FAKE_GATE", str(self._gate))
        self._monkeypatch.setenv("FAKE_HERE", str(self._here))

    def wait_until_half_way(self) -> None:
        """Wait for an installation to stop half way."""
        descriptor = os.open(self._here, os.O_RDWR | os.O_NONBLOCK)  # no end of file before the first word
        try:
            assert select.select([descriptor], [], [], LIMIT_S)[0], "no installation came half way"
        finally:
            os.close(descriptor)

    def let_go(self) -> None:
        """Let the one that stands half way go on, and hold none from now on."""
        self._monkeypatch.delenv("FAKE_GATE")
        with self._gate.open("w"):
            pass


@pytest.fixture
def installer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installer:
    return Installer(tmp_path, monkeypatch)
