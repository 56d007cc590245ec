"""Commands that a reader may copy: how ackgap is called from the shell that this process came from."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

__all__ = ["replay_prefix"]


def replay_prefix(directory: Path) -> str:
    """Return what a cell's name is appended to, to run a cell of the results there again."""
    return f"{_program()} replay {shlex.quote(_relative(directory))}"


def _program() -> str:
    """Return how ackgap is called from the shell that this process came from."""
    called = Path(sys.argv[0])
    if shutil.which("ackgap") is not None or called.name != "ackgap":
        return "ackgap"
    return shlex.quote(_relative(called))


def _relative(path: Path) -> str:
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path.absolute())
