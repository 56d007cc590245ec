"""What a project holds: its sources and what they say, and what it declares. Reads files, and runs nothing."""

from __future__ import annotations

import ast
import configparser
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackgap.errors import UsageInvalid
from ackgap.files import FileUnfit, read_text, read_toml
from ackgap.starting.facts import SourceFacts
from ackgap.starting.python_source import facts_of, parsed, settings_of
from ackgap.starting.scripts import SCRIPT_SUFFIXES, facts_of_script

__all__ = ["Project", "read_project"]

_PASSED_OVER = frozenset(
    {
        "venv", "node_modules", "site-packages", "__pycache__", "build", "dist", "reports", "docs", "tests", "test",
        "testing", "migrations", "benchmarks", "examples",
    }
)  # fmt: skip
_NO_WORKER = re.compile(r"(?:test_.*|.*_test|conftest|setup|noxfile|tasks_test|fabfile)\.py")
_SOURCES_LIMIT = 2_000
_SOURCE_LIMIT_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project as it lies there.

    Attributes:
        directory: Where it is.
        name: What it calls itself, else its folder's name.
        sources: What its files say, by path below the directory.
        declared: Distributions that it declares it needs, in lower case with hyphens.
        scripts: Its console scripts: what is called, as `package.module:function`, by name.
        roots: Directories below which its modules are found: `""`, and `src` where there is one.
        unread: Files that could not be read, each with the reason.
        bytes: How large its files are, without what is not copied into a cell.
        collected: Whether pytest looks for tests in the directory itself, and so finds a scenario there.
        dotenv: Variables that an `.env` file or an example of one names.
    """

    directory: Path
    name: str
    sources: dict[str, SourceFacts]
    declared: frozenset[str]
    scripts: dict[str, str]
    roots: tuple[str, ...]
    unread: tuple[str, ...]
    bytes: int
    collected: bool
    dotenv: frozenset[str]

    def module(self, dotted: str) -> str | None:
        """Return the file of a module of the project's own, None for another's."""
        path = dotted.replace(".", "/")
        for root in self.roots:
            for name in (f"{root}{path}.py", f"{root}{path}/__init__.py"):
                if name in self.sources:
                    return name
        return None

    def reached_from(self, file: str) -> tuple[SourceFacts, ...]:
        """Return what a file and all that it imports of the project's own say, in the order of files."""
        seen: set[str] = set()
        waiting = [file]
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self.sources:
                continue
            seen.add(name)
            waiting += self._imported_by(self.sources[name])
        return tuple(self.sources[name] for name in sorted(seen))

    def imported(self) -> frozenset[str]:
        """Return the files that other sources of the project import."""
        return frozenset(
            name for facts in self.sources.values() for name in self._imported_by(facts) if name != facts.file
        )

    def _imported_by(self, facts: SourceFacts) -> frozenset[str]:
        beside = _folder(facts.file)
        return frozenset(name for imported in facts.imports for name in self._files_of(imported, beside))

    def _files_of(self, imported: str, beside: str) -> Iterator[str]:
        """Yield the files that an import runs: the module, and the packages that it is in."""
        parts = imported.split(".")
        for length in range(1, len(parts) + 1):
            dotted = ".".join(parts[:length])
            if (found := self.module(dotted)) is not None:
                yield found
            elif f"{beside}{dotted.replace('.', '/')}.py" in self.sources:  # a script finds what lies beside it
                yield f"{beside}{dotted.replace('.', '/')}.py"


def read_project(directory: Path) -> Project:
    """Read a project.

    Raises:
        UsageInvalid: There is no such directory, or its `pyproject.toml` cannot be read.
    """
    if not directory.is_dir():
        raise UsageInvalid(
            f"There is no directory {str(directory)!r}.",
            where="DIR",
            next_step="Name the folder that your agent is in.",
        )
    declared, scripts, name = _declared(directory)
    trees: dict[str, ast.Module] = {}
    sources: dict[str, SourceFacts] = {}
    unread: list[str] = []
    size = 0
    for path in _files(directory):
        size += path.stat().st_size if path.is_file() else 0
        file = path.relative_to(directory).as_posix()
        if len(trees) + len(sources) >= _SOURCES_LIMIT or not _may_be_source(path):
            continue
        try:
            text = read_text(path, limit_bytes=_SOURCE_LIMIT_BYTES)
        except (OSError, FileUnfit) as error:
            unread.append(f"{file} {error}")
            continue
        if path.suffix != ".py":
            sources[file] = facts_of_script(file, text)
        elif (tree := parsed(text)) is None:
            unread.append(f"{file} is no Python that this interpreter reads")
        else:
            trees[file] = tree
    settings = {name: value for tree in trees.values() for name, value in settings_of(tree).items()}
    sources |= {file: facts_of(file, tree, settings) for file, tree in trees.items()}
    testpaths = _testpaths(directory)
    return Project(
        directory=directory,
        name=_name(name or directory.absolute().name),
        sources=dict(sorted(sources.items())),
        declared=declared,
        scripts=scripts,
        roots=("", "src/") if (directory / "src").is_dir() else ("",),
        unread=tuple(unread),
        bytes=size,
        collected=not testpaths or bool({".", "./"} & set(testpaths)),
        dotenv=frozenset(_dotenv(directory)),
    )


def _folder(file: str) -> str:
    return file[: file.rfind("/") + 1]


def _name(text: str) -> str:
    """Return what a scenario may be called, and its folder of results."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-_") or "agent"


def _files(directory: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name.lower() not in _PASSED_OVER)
        if (Path(folder) / "pyvenv.cfg").exists():
            folders[:] = []
            continue
        for name in sorted(names):
            yield Path(folder) / name


def _may_be_source(path: Path) -> bool:
    if path.suffix == ".py":
        return _NO_WORKER.fullmatch(path.name) is None
    return path.suffix in SCRIPT_SUFFIXES


def _declared(directory: Path) -> tuple[frozenset[str], dict[str, str], str]:
    """Return needed distributions, console scripts and the name that `pyproject.toml` and requirements files tell."""
    document = _pyproject(directory)
    project = _table(document.get("project"))
    poetry = _table(_table(document.get("tool")).get("poetry"))
    lines = [str(line) for line in _list(project.get("dependencies"))]
    for extra in _table(project.get("optional-dependencies")).values():
        lines += [str(line) for line in _list(extra)]
    lines += [str(name) for name in _table(poetry.get("dependencies"))]
    for file in sorted(directory.glob("requirements*.txt")):
        try:
            lines += read_text(file).splitlines()
        except (OSError, FileUnfit):
            continue  # said by nobody: it is a hint, and pip will say it better
    scripts = {**_table(poetry.get("scripts")), **_table(project.get("scripts"))}
    name = project.get("name") or poetry.get("name") or ""
    return frozenset(_distributions(lines)), {str(key): str(value) for key, value in scripts.items()}, str(name)


def _pyproject(directory: Path) -> dict[str, Any]:
    file = directory / "pyproject.toml"
    try:
        return read_toml(file)
    except FileNotFoundError:
        return {}
    except FileUnfit as error:
        raise UsageInvalid(f"The project's pyproject.toml {error}.", where=error.where(file)) from None
    except OSError as error:
        raise UsageInvalid(f"pyproject.toml cannot be read: {error.strerror or error}.", where=str(file)) from None


def _testpaths(directory: Path) -> tuple[str, ...]:
    """Return where pytest looks for tests when it is told nothing; empty where the project does not say."""
    options = _table(_table(_table(_pyproject(directory).get("tool")).get("pytest")).get("ini_options"))
    said = options.get("testpaths")
    if said is None:
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        for file, section in (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
            try:
                parser.read_string(read_text(directory / file))
            except (OSError, FileUnfit, configparser.Error):
                continue
            said = said or parser.get(section, "testpaths", fallback=None)
    return tuple(said.split()) if isinstance(said, str) else tuple(map(str, _list(said)))


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _distributions(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if found := re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", line):
            yield re.sub(r"[-_.]+", "-", found[1]).lower()


def _dotenv(directory: Path) -> Iterator[str]:
    """Yield the names of the variables in `.env` files; what they are set to is none of our business."""
    for file in sorted(directory.glob(".env*")):
        try:
            text = read_text(file)
        except (OSError, FileUnfit):
            continue
        yield from re.findall(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=", text, re.MULTILINE)
