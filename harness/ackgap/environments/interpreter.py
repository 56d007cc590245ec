"""Which Python a scenario means by a version, a command or a path, and what tells it apart from others."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Interpreter", "find_interpreter"]

_VERSION = re.compile(r"\d+(\.\d+){0,2}", re.ASCII)
_ANSWER_LIMIT_S = 60.0
_QUESTION = (
    "import json, platform, sys, sysconfig\n"
    "abi = sysconfig.get_config_var('SOABI') or ''\n"
    "try: from pip import __version__ as pip\n"
    "except Exception: pip = ''\n"
    "print(json.dumps({'program': sys.executable, 'version': platform.python_version(), "
    "'implementation': platform.python_implementation(), 'platform': sysconfig.get_platform() + ' ' + abi, "
    "'home': sys.base_prefix, 'pip': pip}))\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python that answers.

    Attributes:
        program: Its path, as it says itself: what stands before it on PATH may only lead to it.
        version: Such as `3.12.1`.
        implementation: Such as `CPython`.
        platform: System, machine and binary interface.
        home: Where it is installed; two of one version need not be built alike.
        pip: The version of its pip; empty where it has none.
    """

    program: str
    version: str
    implementation: str
    platform: str
    home: str
    pip: str


def find_interpreter(wanted: str | None, folder: Path) -> Interpreter | None:
    """Return the interpreter that is meant, None where none answers.

    Args:
        wanted: A version such as `3.12`, a command, or a path; ackgap's own where it is None.
        folder: What a path is relative to.
    """
    for program in _candidates(wanted, folder):
        found = _ask(program)
        if found is not None and (not _is_version(wanted) or f"{found.version}.".startswith(f"{wanted}.")):
            return found
    return None


def _is_version(wanted: str | None) -> bool:
    return wanted is not None and _VERSION.fullmatch(wanted) is not None


def _candidates(wanted: str | None, folder: Path) -> Iterator[str]:
    if wanted is None:
        yield sys.executable
    elif _is_version(wanted):
        yield sys.executable
        # Each place on PATH is asked: a version manager's stand-in comes first and may lead to nothing.
        name = "python" + ".".join(wanted.split(".")[:2])
        for place in os.environ.get("PATH", os.defpath).split(os.pathsep):
            if found := shutil.which(name, path=place):
                yield found
        yield from _known_to_uv(wanted)
        yield from _installed_by_pyenv(wanted)
    elif os.sep in wanted:
        yield str(folder / _with_home(wanted))
    elif found := shutil.which(wanted):
        yield found


def _known_to_uv(version: str) -> Iterator[str]:
    uv = shutil.which("uv")
    answer = _run([uv, "python", "find", "--no-project", "--no-python-downloads", version]) if uv else None
    if answer:
        yield answer.strip()


def _installed_by_pyenv(version: str) -> Iterator[str]:
    root = Path(_with_home(os.environ.get("PYENV_ROOT") or "~/.pyenv"))
    for place in sorted(root.glob(f"versions/{version}*/bin/python"), reverse=True):
        yield str(place)


def _with_home(path: str) -> str:
    return os.path.expanduser(path)  # noqa: PTH111 - leaves it as it is where there is no home


def _ask(program: str) -> Interpreter | None:
    answer = _run([program, "-I", "-c", _QUESTION])
    try:
        return Interpreter(**json.loads(answer)) if answer else None
    except (ValueError, TypeError):  # it printed something else: no Python, or one that says more at its start
        return None


def _run(command: list[str]) -> str | None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=_ANSWER_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
