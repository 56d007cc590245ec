"""What a scenario needs of this machine, what is there, and what cannot be refused here."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path

from ackgap import __version__
from ackgap.errors import EnvironmentLacks
from ackgap.scenario.scenario import Scenario

__all__ = ["check_requirements", "network_note", "versions"]

_LIBRARIES = ("langgraph", "langgraph-checkpoint-sqlite", "dbos", "temporalio", "pydantic-ai-slim", "openai", "httpx")


def network_note(scenario: Scenario, *, isolated: bool) -> str:
    """Return what is refused, and what cannot be, in a sentence for before the start."""
    allowed = f" except to {', '.join(scenario.worker.allow_hosts)}" if scenario.worker.allow_hosts else ""
    if isolated:
        return "Workers run in a network of their own: nothing but the targets can be reached, in any language."
    if scenario.worker.python_injector:
        return (
            f"Python workers are refused connections to other machines{allowed}. Programs in other languages cannot "
            "be refused here: make sure that they are given the targets' addresses."
        )
    return (
        "Connections to other machines cannot be refused here: make sure that the worker is given the targets' "
        "addresses."
    )


def _interpreter(scenario: Scenario) -> str | None:
    program = Path(scenario.worker.command[0])
    return scenario.worker.command[0] if program.name.startswith("python") else None


def check_requirements(scenario: Scenario) -> None:
    """Refuse to start where the worker's interpreter lacks what the scenario says it needs.

    Raises:
        EnvironmentLacks: Names the modules and how to get them.
    """
    python = _interpreter(scenario)
    if not scenario.worker.requires or python is None:
        return
    code = (
        "import importlib.util, sys\n"
        "def there(name):\n"
        "    try: return importlib.util.find_spec(name) is not None\n"
        "    except ModuleNotFoundError: return False\n"
        "print(*[name for name in sys.argv[1:] if not there(name)])"
    )
    done = _ask(python, code, *scenario.worker.requires)
    if done is None or done.split():
        lacking = "a Python interpreter" if done is None else ", ".join(done.split())
        raise EnvironmentLacks(
            f"the worker of {scenario.name} needs {lacking}",
            where=python,
            next_step=scenario.worker.requires_hint or "install it for that interpreter",
        )


def versions(scenario: Scenario) -> dict[str, str]:
    """Return the versions that a result depends on."""
    known = {"ackgap": __version__, "python": platform.python_version(), "platform": platform.platform(terse=True)}
    python = _interpreter(scenario)
    if python is not None:
        code = (
            "import importlib.metadata as m, json, platform, sys\n"
            "found = {}\n"
            "for name in sys.argv[1:]:\n"
            "    try: found[name] = m.version(name)\n"
            "    except m.PackageNotFoundError: pass\n"
            "print(json.dumps({'worker python': platform.python_version(), **found}))"
        )
        answer = _ask(python, code, *_LIBRARIES)
        if answer is not None:
            known |= json.loads(answer)
    return known


def _ask(python: str, code: str, *arguments: str) -> str | None:
    try:
        done = subprocess.run([python, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
