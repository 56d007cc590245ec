"""Where things stand in a scenario's file, so that others can point at them: the line of an axis, a value, a target."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from ackgap.files import FileUnfit, read_text

__all__ = ["lines_of_keys", "path_in_project", "scenario_lines"]

_ROOTS = (".git", ".hg")
_MOST_LINES = 400
"""Of one value that is written over several lines; a file with a longer one has no lines to point at behind it."""


def scenario_lines(file: Path) -> Mapping[tuple[str, ...], int]:
    """Return the line of each key of a scenario's file, `("axes", "key")`; nothing where it cannot be read."""
    try:
        return lines_of_keys(read_text(file))
    except (OSError, FileUnfit):
        return {}


def lines_of_keys(text: str) -> dict[tuple[str, ...], int]:
    """Return the first line on which each key of a TOML document stands, from 1.

    A key within an inline table has the line on which that begins.
    """
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, statement in _statements(text):
        found = tuple(_paths(tomllib.loads(statement)))
        if statement.lstrip().startswith("["):
            table = found[0]
            found = (table,)
        else:
            found = tuple((*table, *path) for path in found)
        for path in found:
            for depth in range(1, len(path) + 1):
                lines.setdefault(path[:depth], number)
    return lines


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each table header and each assignment of a document, with the line on which it begins."""
    waiting: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not waiting and (not line.strip() or line.lstrip().startswith("#")):
            continue
        waiting.append(line)
        statement = "\n".join(waiting)
        if _is_whole(statement):
            yield number - len(waiting) + 1, statement
            waiting.clear()
        elif len(waiting) > _MOST_LINES:
            return


def _is_whole(statement: str) -> bool:
    try:
        tomllib.loads(statement)
    except (ValueError, RecursionError):
        return False
    return True


def _paths(document: object) -> Iterator[tuple[str, ...]]:
    """Yield the path of every leaf and of every table, the outer ones of a header first."""
    if isinstance(document, list) and len(document) == 1 and document[0] == {}:
        yield ()  # the header of an array of tables
    elif isinstance(document, dict) and document:
        for key, value in document.items():
            yield from ((key, *rest) for rest in _paths(value))
    else:
        yield ()


def path_in_project(file: Path) -> str:
    """Return the path of a file as seen from the root of the repository that it is in, with slashes.

    Outside of one, as seen from the current directory; where it does not lie below that, its name and its folder's.
    Never a path that only this machine has.
    """
    whole = file.resolve()
    for parent in whole.parents[:-1]:  # what lies below the root of the machine is no repository
        if any((parent / name).exists() for name in _ROOTS):
            return whole.relative_to(parent).as_posix()
    try:
        return whole.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return "/".join(whole.parts[-2:])
