"""Small helpers that turn a mistake into words: dotted keys, did-you-mean, names, programs, placeholders."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

__all__ = [
    "NAME_RULE",
    "PYTHONS",
    "a_few",
    "did_you_mean",
    "dotted",
    "is_name",
    "placeholder_mistake",
    "program_mistake",
    "with_python",
]

PYTHONS = frozenset({"python", "python3"})
"""Programs that mean whatever interpreter is in force."""
NAME_RULE = "letters, digits, '_', '-', '.' and '+' only, beginning with a letter or digit"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]*", re.ASCII)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_PLACEHOLDER = re.compile(r"\{([A-Za-z0-9_.+-]+)\.([a-z]+)\}", re.ASCII)
_ADDRESS_PARTS = ("url", "mcp", "host", "port")


def dotted(location: Iterable[str | int]) -> str:
    """Return a key as it would be written in TOML: `axes.durability.values.sync.env`, `approved[0].field`."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
            continue
        written = part if _BARE_KEY.fullmatch(part) else f'"{part}"'
        text += f".{written}" if text else written
    return text


def did_you_mean(wrong: str, allowed: Iterable[str]) -> str:
    """Return advice: the nearest allowed word if one is near, and the whole list."""
    words = list(allowed)
    near = difflib.get_close_matches(wrong, words, n=1, cutoff=0.6)
    advice = f"did you mean {near[0]!r}? " if near else ""
    return f"{advice}allowed: {', '.join(words) if words else 'nothing'}"


def a_few(names: Sequence[str], most: int) -> str:
    """Return so many names at most, and how many more there are."""
    named = ", ".join(names[:most])
    return named if len(names) <= most else f"{named} and {len(names) - most} more"


def is_name(text: str) -> bool:
    """Say whether a text may name a target, an axis or a value; cell ids are made of these names."""
    return _NAME.fullmatch(text) is not None


def with_python(command: tuple[str, ...], *, own_python: bool | None) -> tuple[str, ...]:
    """Settle which interpreter a command that begins with `python` means.

    `{python}` is always the interpreter that runs ackgap, wherever it stands. A plain `python` or `python3` is that
    one for the scenarios shipped with ackgap, since their extra is installed there. Everywhere else the user's PATH
    decides, and ackgap's interpreter stands in only where PATH has none.

    Args:
        command: Argument vector.
        own_python: Whether a plain one is ackgap's; None leaves it as it is, since that depends on the variant.
    """
    command = tuple(sys.executable if word == "{python}" else word for word in command)
    program = command[0]
    if own_python is not None and program in PYTHONS and (own_python or shutil.which(program) is None):
        return (sys.executable, *command[1:])
    return command


def program_mistake(command: tuple[str, ...], directory: Path, env: dict[str, str] | None = None) -> str:
    """Return why a command cannot be started from a directory, or an empty string.

    A program with a slash is looked up from the directory, as the operating system will do in the cell's copy of it.
    """
    program = command[0]
    if os.sep in program:
        path = directory / program  # an absolute program replaces the directory
        if not path.is_file():
            return f"there is no program {program!r}" + ("" if path.is_absolute() else f" in {directory}")
        if not os.access(path, os.X_OK):
            return f"{program!r} is not executable"
        return ""
    if shutil.which(program, path=(env or {}).get("PATH")) is None:
        return f"there is no program {program!r} on PATH"
    return ""


def placeholder_mistake(text: str, targets: Iterable[str], services: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return what is wrong with the `{NAME.url}` placeholders in a text, or an empty string.

    Other braces, such as JSON in a variable, are the author's own.

    Args:
        text: Of a command or variable.
        targets: Names of targets.
        services: What can be filled in of each service.
    """
    names, others = list(targets), services or {}
    for name, part in _PLACEHOLDER.findall(text):
        if name in others and name not in names:
            if part not in others[name]:
                return f"{name!r} has no {part!r}; {did_you_mean(part, others[name])}"
            continue
        if part in _ADDRESS_PARTS and name not in names:
            return f"{{{name}.{part}}} names no target; {did_you_mean(name, [*names, *others])}"
        if name in names and part not in _ADDRESS_PARTS:
            return f"a target has no {part!r}; {did_you_mean(part, _ADDRESS_PARTS)}"
    return ""
