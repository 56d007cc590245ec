"""Making one virtual environment with uv, or with venv and pip, and what they said where it came to nothing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ackgap.environments.interpreter import Interpreter
from ackgap.execute import containment

__all__ = ["BUILD_LIMIT_S", "BuildFailed", "build", "installer"]

BUILD_LIMIT_S = 1800.0
"""How long each step of a build may take, in real seconds."""

_MISLEADING = frozenset(
    {
        "PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__",  # packages of another interpreter
        "VIRTUAL_ENV", "CONDA_PREFIX",  # another environment
        "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT",  # another place
    }
)  # fmt: skip
_FOR_UV = {"PIP_INDEX_URL": "UV_INDEX_URL", "PIP_EXTRA_INDEX_URL": "UV_EXTRA_INDEX_URL", "PIP_CERT": "SSL_CERT_FILE"}
_UNREACHABLE = re.compile(
    r"Retrying \(|ConnectionError|Temporary failure in name resolution|tcp connect error|dns error"
)
_MOST_SAID = 600


class BuildFailed(Exception):
    """A step of a build came to nothing; the text is what it said.

    Args:
        said: The end of it, in one line.
        whole: All of it.
    """

    def __init__(self, said: str, whole: str) -> None:
        super().__init__(said)
        self.said = said
        self.whole = whole


def installer() -> str:
    """Return what environments are made with here: `uv` or `pip`."""
    return "pip" if shutil.which("uv") is None else "uv"


def build(place: Path, interpreter: Interpreter, arguments: tuple[str, ...], *, folder: Path, lock: int) -> None:
    """Make an environment in a directory that is not there yet.

    Args:
        place: The directory.
        interpreter: What it is made from.
        arguments: Of the installer: requirements and options.
        folder: Where the installer runs, since requirements may be paths.
        lock: Descriptor that the installer inherits, so that the lock is held for as long as it writes, even if
            ackgap is killed.

    Raises:
        BuildFailed: A step failed or took too long.
    """
    make, install = _steps(place, interpreter)
    for step in (make, [*install, *arguments]):
        _carry_out(step, folder=folder, env=_variables(os.environ), lock=lock)


def _steps(place: Path, interpreter: Interpreter) -> tuple[list[str], list[str]]:
    python = str(place / "bin" / "python")
    uv = shutil.which("uv")
    if uv is not None:
        make = [uv, "venv", "--no-project", "--python", interpreter.program, str(place)]
        return make, [uv, "pip", "install", "--compile-bytecode", "--python", python]
    make = [interpreter.program, "-I", "-m", "venv", str(place)]
    options = ["install", "--no-input", "--disable-pip-version-check"]
    if not _installs_elsewhere(interpreter.pip):
        return make, [python, "-I", "-m", "pip", *options]
    # To give it a pip of its own would be most of what making an environment takes.
    install = [interpreter.program, "-I", "-m", "pip", "--python", python, *options]
    return [*make, "--without-pip"], install


def _installs_elsewhere(pip: str) -> bool:
    """Whether a version of pip knows how to install into another environment than its own."""
    numbers = [int(part) for part in pip.split(".")[:2] if part.isdecimal()]
    return numbers >= [22, 3]


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the user's environment with what would lead elsewhere left out, and pip's settings told to uv as well."""
    env = {name: value for name, value in environ.items() if name not in _MISLEADING and not name.startswith("ACKGAP_")}
    translated = {theirs: env[ours] for ours, theirs in _FOR_UV.items() if env.get(ours) and theirs not in env}
    if env.get("PIP_FIND_LINKS") and "UV_FIND_LINKS" not in env:
        translated["UV_FIND_LINKS"] = ",".join(env["PIP_FIND_LINKS"].split())
    if env.get("PIP_NO_INDEX", "0").lower() in ("1", "true", "yes", "on"):
        translated.setdefault("UV_NO_INDEX", "1")
    return {**env, **translated, "PIP_USER": "0", "NO_COLOR": "1", "PYTHONUTF8": "1"}


def _carry_out(step: list[str], *, folder: Path, env: Mapping[str, str], lock: int) -> None:
    try:
        done = subprocess.run(
            step,
            cwd=folder,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            pass_fds=(lock,),
            preexec_fn=containment.die_with_parent(),
            timeout=BUILD_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        whole = error.output.decode("utf-8", "replace") if isinstance(error.output, bytes) else str(error.output or "")
        raise BuildFailed(f"it was not done within {BUILD_LIMIT_S:g} s", whole) from None
    except OSError as error:
        raise BuildFailed(f"{step[0]} cannot be started: {error.strerror or error}", "") from None
    if done.returncode != 0:
        raise BuildFailed(_essence(done.stdout) or f"it ended with status {done.returncode}", done.stdout)


def _essence(said: str) -> str:
    """Return what an installer said in the end, in one line: uv's error with its causes, pip's last error."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    if not lines:
        return ""
    first = next((place for place, line in enumerate(lines) if line.startswith("error: ")), None)
    if first is not None:
        text = ": ".join(line.removeprefix("error: ").removeprefix("cause: ") for line in lines[first:])
    else:
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        text = errors[-1] if errors else lines[-1]
    if "connect" not in text.lower() and _UNREACHABLE.search(said):
        text = f"{text.rstrip('.')} (its index could not be reached)"
    return text[:_MOST_SAID]
