"""What is installed beside ackgap: servers of scenarios, tools, and engines with their versions."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from ackgap.errors import AckgapError, UsageInvalid
from ackgap.execute.services.postgres import find_binaries
from ackgap.execute.services.redis import find_redis
from ackgap.execute.services.temporal import find_temporal
from ackgap.execute.services.toxiproxy_program import find_toxiproxy
from ackgap.starting.checkup import Checkup
from ackgap.starting.docker import docker_checks
from ackgap.support import VERSIONS_QUESTION

__all__ = ["engine_checks", "server_checks", "tool_checks"]

_LIMIT_S = 1.0
_ENGINES = {
    "langgraph": "langgraph",
    "langgraph-checkpoint-sqlite": "langgraph",
    "langgraph-checkpoint-postgres": "langgraph-postgres",
    "dbos": "dbos",
    "temporalio": "temporal",
    "prefect": "prefect",
    "celery": "celery",
    "pydantic-ai-slim": "pydantic-ai",
    "openai-agents": "openai-agents",
    "llama-index-workflows": "llamaindex",
}
"""Distribution, and the extra of ackgap that brings it."""
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def server_checks() -> Iterator[Checkup]:
    """Yield the servers that ackgap can start beside a worker."""
    yield _server("postgresql", lambda: str(find_binaries() / "postgres"), 'kind = "postgres" of [services]')
    yield _server("redis", find_redis, 'kind = "redis" of [services]')
    yield _server("temporal", find_temporal, 'kind = "temporal" of [services]')
    yield _server("toxiproxy", find_toxiproxy, "[toxics]: faults of the network")


def _server(name: str, find: Callable[[], str], used_for: str) -> Checkup:
    try:
        program = find()
    except AckgapError as error:
        return Checkup(
            group="servers",
            name=name,
            there=False,
            found="not installed",
            used_for=used_for,
            remedy=error.next_step.partition(", or give")[0],
        )
    return Checkup(group="servers", name=name, there=True, found=_described(program), used_for=used_for)


def tool_checks() -> Iterator[Checkup]:
    """Yield programs that are nice to have."""
    yield from docker_checks()
    for name, programs, used_for, remedy in (
        (
            "strace",
            ("strace",),
            "looking at a worker by yourself; ackgap has system calls stand without it",
            "apt-get install strace",
        ),
        (
            "compiler",
            ("cc", "gcc", "clang"),
            'injector = "preload": durable writes of workers in any language',
            "apt-get install gcc libc6-dev",
        ),
    ):
        program = next((found for found in map(shutil.which, programs) if found), None)
        yield Checkup(
            group="tools",
            name=name,
            there=program is not None,
            found=program or "not installed",
            used_for=used_for,
            remedy="" if program else remedy,
        )
    browser = next((found for found in map(shutil.which, _BROWSERS) if found), None) or _playwright_browser()
    yield Checkup(
        group="tools",
        name="chromium",
        there=browser is not None,
        found=browser or "not installed",
        used_for="the tests of ackgap's own report page",
        remedy="" if browser else "apt-get install chromium, or playwright install chromium",
    )


def _playwright_browser() -> str | None:
    home = Path(os.environ.get("HOME") or "/")
    named = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    caches = [home / ".cache" / "ms-playwright", home / "Library" / "Caches" / "ms-playwright"]
    for place in [Path(named), *caches] if named else caches:
        found = sorted(place.glob("chromium*"))
        if found:
            return str(found[-1])
    return None


def _described(program: str) -> str:
    """Return version and place of a program; it is asked for its version, which ends at once."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, errors="replace", timeout=_LIMIT_S, check=False
        )
        if found := re.search(r"\d+(\.\d+)+", done.stdout + done.stderr):
            return f"{found[0]}, {program}"
    return program


def engine_checks(python: str | None) -> Iterator[Checkup]:
    """Yield the engines that an interpreter has.

    Args:
        python: Path or name of an interpreter; the one that runs ackgap where it is None.

    Raises:
        UsageInvalid: It does not answer.
    """
    if python is None:
        found = {name: version for name in _ENGINES if (version := _version(name))}
    else:
        version, found = _asked(python)
        yield Checkup(group="engines", name="python", there=True, found=f"{version}, {python}")
    for name, extra in _ENGINES.items():
        yield Checkup(
            group="engines",
            name=name,
            there=name in found,
            found=found.get(name, "not installed"),
            remedy="" if name in found else f"pip install {name}" if python else f"pip install 'ackgap[{extra}]'",
        )


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _asked(python: str) -> tuple[str, dict[str, str]]:
    """Return the version of an interpreter and those of the engines that it has."""
    mistake = "it does not answer as a Python does"
    try:
        done = subprocess.run(
            [os.path.expanduser(python), "-c", VERSIONS_QUESTION, *_ENGINES],  # noqa: PTH111 - no home is no mistake
            capture_output=True, text=True, errors="replace", timeout=10, check=False,
        )  # fmt: skip
        version, found = json.loads(done.stdout.splitlines()[-1])
        return str(version), {str(name): str(text) for name, text in found.items()}
    except OSError as error:
        mistake = error.strerror or str(error)
    except (subprocess.TimeoutExpired, ValueError, IndexError, TypeError, AttributeError):
        pass
    raise UsageInvalid(
        f"{python!r} cannot be asked: {mistake}.",
        where="--python",
        next_step="Give the path of an interpreter, such as .venv/bin/python.",
    )
