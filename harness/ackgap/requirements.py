"""What a scenario needs of this machine, what is there, and what cannot be refused here."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ackgap import __version__
from ackgap.errors import EnvironmentLacks
from ackgap.execute.containers.images import identity_of
from ackgap.model.matrix import Variant
from ackgap.scenario.environment import EnvironmentSpec
from ackgap.scenario.scenario import Scenario
from ackgap.support import VERSIONS_QUESTION

__all__ = ["check_requirements", "network_note", "runs_python", "versions"]

_LIBRARIES = (
    "langgraph",
    "langgraph-checkpoint-sqlite",
    "dbos",
    "temporalio",
    "prefect",
    "celery",
    "kombu",
    "redis",
    "pydantic-ai-slim",
    "openai-agents",
    "llama-index-core",
    "openai",
    "anthropic",
    "mcp",
    "stripe",
    "boto3",
    "slack-sdk",
    "httpx",
    "requests",
    "psycopg",
)


def network_note(scenario: Scenario, *, isolated: bool) -> str:
    """Return what is refused, and what cannot be, in a sentence for before the start."""
    allowed = f" except to {', '.join(scenario.worker_hosts)}" if scenario.worker_hosts else ""
    if scenario.worker.container is not None:
        return (
            "Workers run in containers at a network without a way out: nothing but the targets, and what a Compose "
            "file brings, can be reached, in any language."
        )
    if isolated:
        what = "targets and services" if scenario.services else "targets"
        return f"Workers run in a network of their own: nothing but the {what} can be reached, in any language."
    if scenario.hosts:
        return (
            f"Calls to {', '.join(scenario.hosts)} are led to targets by HTTPS_PROXY. Python workers are refused "
            f"connections to other machines{allowed}; a program in another language that ignores that variable would "
            "reach the real host: make sure that it does not."
        )
    if scenario.worker.python_injector:
        return (
            f"Python workers are refused connections to other machines{allowed}. Programs in other languages cannot "
            "be refused here: make sure that they are given the targets' addresses."
        )
    return (
        "Connections to other machines cannot be refused here: make sure that the worker is given the targets' "
        "addresses."
    )


def runs_python(scenario: Scenario) -> bool:
    """Whether the worker is started by a Python interpreter."""
    return bool(scenario.worker.command) and _is_python(scenario.worker.command[0])


def _is_python(program: str) -> bool:
    return Path(program).name.startswith("python")


def _interpreters(scenario: Scenario, variants: Sequence[Variant]) -> dict[EnvironmentSpec | None, str]:
    """Return the Python that the worker has in each environment of some variants; None stands for no environment.

    Environments that have not been made are left out, and so is a worker of another language without one.
    """
    found: dict[EnvironmentSpec | None, str] = {}
    for home in dict.fromkeys(scenario.environment_of(variant) for variant in variants):
        if (home is not None and home.directory is None) or scenario.worker.container is not None:
            continue
        program = scenario.command_in(home, scenario.worker.command)[0]
        if _is_python(program):
            found[home] = program
        elif home is not None:  # a program that the environment brings along, such as uvicorn
            found[home] = str(home.interpreter)
    return found


def check_requirements(scenario: Scenario, variants: Sequence[Variant]) -> None:
    """Refuse to start where the worker's interpreter lacks what the scenario says it needs.

    Args:
        scenario: Whose worker.
        variants: That are going to run. Those whose environment has not been made yet are passed over.

    Raises:
        EnvironmentLacks: Names the modules and how to get them.
    """
    if scenario.worker.requires:
        for home, python in _interpreters(scenario, variants).items():
            _check_modules(scenario, home, python)


def _check_modules(scenario: Scenario, home: EnvironmentSpec | None, python: str) -> None:
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
            where=python if home is None else f"{scenario.source}, key environments.{home.name}.requirements",
            next_step="add it there" if home else scenario.worker.requires_hint or "install it for that interpreter",
        )


def versions(scenario: Scenario, variants: Sequence[Variant]) -> dict[str, str]:
    """Return the versions that a result depends on; those of an environment are called `NAME: PACKAGE`."""
    known = {"ackgap": __version__, "python": platform.python_version(), "platform": platform.platform(terse=True)}
    if scenario.worker.container is not None:
        known["image"] = identity_of(scenario.worker.container)
    for home, python in _interpreters(scenario, variants).items():
        names = dict.fromkeys((*(home.packages if home else ()), *_LIBRARIES))
        answer = _ask(python, VERSIONS_QUESTION, *names)
        if answer is None:
            continue
        version, packages = json.loads(answer)
        if home is None:
            known |= {"worker python": version, **packages}
        else:  # what was asked for comes first, since the head of a report has room for little
            known |= {f"{home.name}: {name}": text for name, text in {**packages, "python": version}.items()}
    return known


def _ask(python: str, code: str, *arguments: str) -> str | None:
    try:
        done = subprocess.run([python, "-c", code, *arguments], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
