"""Which program of a project is the worker, how it is started, and who gives it its work."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ackgap.errors import UsageInvalid
from ackgap.starting.catalogue import ENGINES, HTTP_CLIENTS, SDKS
from ackgap.starting.facts import SourceFacts
from ackgap.starting.project import Project

__all__ = ["EntryPoint", "find_client", "find_entry_point", "server_in"]

_NAMES = {"agent": 4, "worker": 4, "__main__": 3, "main": 3, "run": 2, "bot": 2, "app": 2, "cli": 1}
_ASKERS = {
    "temporalio": frozenset({"execute_workflow", "start_workflow"}),
    "celery": frozenset({"apply_async", "delay", "send_task"}),
}
_WORKERS = frozenset({"Worker", "worker_main"})
_SERVERS = frozenset({"uvicorn.run", "web.run_app", "FastAPI", "Flask", "Starlette", "hypercorn.run", "serve_forever"})
_INTERPRETERS = {".py": "python", ".sh": "sh", ".mjs": "node", ".js": "node", ".cjs": "node", ".ts": "node"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPoint:
    """How a program is started.

    Attributes:
        command: As one writes it in a shell, or as words.
        file: Of the program, below the project; empty where it is not one of its sources.
        why: How it was found.
        others: Programs that it may have been as well.
        env: What the command needs in its environment.
    """

    command: str | tuple[str, ...]
    file: str
    why: str
    others: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


def find_entry_point(project: Project, command: str | None) -> EntryPoint:
    """Return how the worker is started.

    Args:
        project: Whose worker.
        command: As the user says; None where it is to be found.

    Raises:
        UsageInvalid: The command cannot be split, or there is no program to be found.
    """
    if command is not None:
        return _told(project, command)
    ranked = sorted(_programs(project), key=lambda facts: (-_weight(project, facts), facts.file))
    if not ranked:
        raise UsageInvalid(
            f"No program was found in {project.directory}: no file with a part for __main__, no console script, and no "
            "script that does something by itself.",
            where="ackgap init",
            next_step='Say what starts your agent: ackgap init --worker "python agent.py"',
        )
    others = tuple(facts.file for facts in ranked[1:] if not _asks(facts))
    return _started(project, ranked[0], others)


def find_client(project: Project, worker: EntryPoint) -> EntryPoint | None:
    """Return the program that hands the worker its work, None where the project has none beside it."""
    found = [
        facts
        for facts in project.sources.values()
        if facts.file != worker.file and (facts.guarded or facts.acts) and _asks(facts)
    ]
    found.sort(key=lambda facts: (facts.file.count("/"), facts.file))
    return _started(project, found[0], tuple(facts.file for facts in found[1:])) if found else None


def server_in(reached: Sequence[SourceFacts]) -> str:
    """Return the place where the worker begins to wait for requests, empty where it does not look like a server."""
    places = [call.place for facts in reached for call in facts.calls if {call.name, call.last} & _SERVERS]
    return places[0] if places else ""


def _told(project: Project, command: str) -> EntryPoint:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageInvalid(
            f"The command cannot be split into words: {error}.", where="--worker", next_step="Quote it as in a shell."
        ) from None
    if not words:
        raise UsageInvalid("The command is empty.", where="--worker", next_step='Write --worker "python agent.py".')
    return EntryPoint(command=command, file=_file_in(project, words), why="as --worker says")


def _file_in(project: Project, words: Sequence[str]) -> str:
    """Return the source that a command runs: a path in it, or a module as in `-m package.worker` and `app:app`."""
    for word in words:
        path = os.path.normpath(word)
        if path in project.sources:
            return path
    for word in words[1:]:
        module = word.partition(":")[0]
        if found := project.module(f"{module}.__main__") or project.module(module):
            return found
    target = project.scripts.get(words[0], "").partition(":")[0]
    return (project.module(target) or "") if target else ""


def _programs(project: Project) -> Iterator[SourceFacts]:
    """Yield what can be started."""
    of_scripts = {project.module(target.partition(":")[0]) for target in project.scripts.values()}
    imported = project.imported()
    for facts in project.sources.values():
        acts = facts.acts and facts.file not in imported
        if facts.guarded or facts.file in of_scripts or acts or _celery_module(facts):
            yield facts


def _celery_module(facts: SourceFacts) -> bool:
    """Whether a file makes a Celery application with tasks, and so is what `celery -A` is given."""
    return any(call.last == "Celery" for call in facts.calls) and not _asks(facts)


def _weight(project: Project, facts: SourceFacts) -> int:
    """Return how much speaks for a program."""
    reached = project.reached_from(facts.file)
    imports = {name for part in reached for name in (*part.roots, *part.imports)}
    stem = facts.file.rpartition("/")[2].partition(".")[0]
    called = {call.last for call in facts.calls}
    return (
        4 * facts.guarded
        + 4 * any(project.module(target.partition(":")[0]) == facts.file for target in project.scripts.values())
        + 3 * bool(imports & {*ENGINES, *HTTP_CLIENTS, *SDKS})
        + _NAMES.get(stem, 0)
        + 6 * bool(called & {*_WORKERS, "Celery"})
        + any(variable.name.endswith("_URL") for part in reached for variable in part.variables)
        - 12 * _asks(facts)
        - facts.file.removeprefix("src/").count("/")
        - (0 if facts.file.endswith(".py") else 4)
    )


def _asks(facts: SourceFacts) -> bool:
    """Whether a program hands work to a worker, and is none itself."""
    called = {call.last for call in facts.calls}
    asks = any(called & names for engine, names in _ASKERS.items() if engine in facts.roots)
    return asks and not called & _WORKERS


def _started(project: Project, facts: SourceFacts, others: tuple[str, ...]) -> EntryPoint:
    """Return how a file of the project is started."""
    module, root = _module_of(project, facts.file)
    env = {"PYTHONPATH": root.rstrip("/")} if root and facts.file.endswith(".py") else {}
    if _celery_module(facts) and not facts.guarded:
        command = f"python -m celery -A {module} worker --concurrency 1 --loglevel WARNING"
        return EntryPoint(
            command=command, file=facts.file, why="it makes the Celery application", others=others, env=env
        )
    for name, target in project.scripts.items():
        owner, _, function = target.partition(":")
        if project.module(owner) == facts.file and not facts.guarded:
            code = f"import sys; from {owner} import {function}; sys.exit({function}())"
            why = f"the console script {name}, called without being installed"
            return EntryPoint(command=("python", "-c", code), file=facts.file, why=why, others=others, env=env)
    why = "it has a part for __main__" if facts.guarded else "it does something by itself"
    if "/" in facts.file and facts.file.endswith(".py") and _in_package(project, facts.file):
        command = f"python -m {module.removesuffix('.__main__')}"
    else:
        command = f"{_INTERPRETERS[facts.file[facts.file.rindex('.') :]]} {shlex.quote(facts.file)}"
        env = {}
    return EntryPoint(command=command, file=facts.file, why=why, others=others, env=env)


def _module_of(project: Project, file: str) -> tuple[str, str]:
    """Return the dotted name of a file, and the root that it is below."""
    root = next((root for root in sorted(project.roots, reverse=True) if file.startswith(root)), "")
    return file.removeprefix(root).removesuffix(".py").removesuffix("/__init__").replace("/", "."), root


def _in_package(project: Project, file: str) -> bool:
    """Whether a file lies in a package, so that it has to be started by its module for its imports to work."""
    folder = file.rpartition("/")[0]
    return f"{folder}/__init__.py" in project.sources or file.endswith("/__main__.py")
