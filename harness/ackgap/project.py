"""What a project says of its runs: `[tool.ackgap]` of its `pyproject.toml`. Light: each start of pytest reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackgap.errors import UsageInvalid
from ackgap.files import FileUnfit, read_toml
from ackgap.scenario.words import did_you_mean

__all__ = ["NO_PROJECT", "ProjectOptions", "nearest_project", "read_project"]

FILE = "pyproject.toml"
TABLE = "tool.ackgap"
NETWORKS = ("auto", "isolated", "host")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectOptions:
    """What a project's file says; None where it says nothing. The command line wins.

    Attributes:
        jobs: Cells at a time.
        network: `auto`, `isolated` or `host`.
        warm: Fork Python workers from a warm parent.
        copies: Begin recoveries with copies of an undisturbed run.
        out: Directory below which results go.
        fail_on: Verdicts that fail, as for `--fail-on`.
        life_s: How long one life of a worker may take that comes without a scenario.
        collect: Whether pytest collects the scenarios that it finds, or only those that are named.
        slice_name: The slice of a collected scenario that pytest runs, where the scenario has one of that name.
    """

    jobs: int | None = None
    network: str | None = None
    warm: bool | None = None
    copies: bool | None = None
    out: Path | None = None
    fail_on: str | None = None
    life_s: float | None = None
    collect: bool | None = None
    slice_name: str | None = None


NO_PROJECT = ProjectOptions()


def nearest_project(directory: Path) -> ProjectOptions:
    """Return what the nearest `pyproject.toml` says, in a directory or above it.

    Raises:
        UsageInvalid: As `read_project` does.
    """
    for folder in (directory, *directory.parents):
        if (folder / FILE).is_file():
            return read_project(folder)
    return NO_PROJECT


def read_project(directory: Path) -> ProjectOptions:
    """Return what the `pyproject.toml` of a directory says; nothing where there is none.

    Raises:
        UsageInvalid: A key is not known, or a value is none; names file and key.
    """
    file = directory / FILE
    try:
        tools = read_toml(file).get("tool", {})
    except FileUnfit as error:
        raise UsageInvalid(f"The project's file {error}.", where=error.where(file), next_step="Correct it.") from None
    except OSError:
        return NO_PROJECT
    table = tools.get("ackgap", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        raise UsageInvalid(
            f"[{TABLE}] is no table.", where=f"{file}, key {TABLE}", next_step=f"Write [{TABLE}] and keys below it."
        )
    return _options(table, file)


def _options(table: Mapping[str, Any], file: Path) -> ProjectOptions:
    found: dict[str, Any] = {}
    for key, value in table.items():
        where = f"{file}, key {TABLE}.{key}"
        if key not in _KEYS:
            raise UsageInvalid(
                f"[{TABLE}] has an unknown key {key!r}; {did_you_mean(key, _KEYS)}.",
                where=where,
                next_step="Correct that key; docs/command-line.md lists every one.",
            )
        name, check, what = _KEYS[key]
        if not check(value):
            raise UsageInvalid(f"{key!r} must be {what}, not {value!r}.", where=where, next_step="Correct that value.")
        found[name] = file.parent / value if key == "out" else value
    return ProjectOptions(**found)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 86_400


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


_KEYS: dict[str, tuple[str, Callable[[object], bool], str]] = {
    "jobs": ("jobs", _is_count, "a number from 1"),
    "network": ("network", lambda value: value in NETWORKS, f"one of {', '.join(NETWORKS)}"),
    "warm": ("warm", _is_bool, "true or false"),
    "copies": ("copies", _is_bool, "true or false"),
    "out": ("out", _is_text, "the path of a directory"),
    "fail-on": ("fail_on", _is_text, "verdicts with commas between them, as for --fail-on"),
    "life": ("life_s", _is_seconds, "a number of seconds up to 86400"),
    "collect": ("collect", _is_bool, "true or false"),
    "slice": ("slice_name", _is_text, "the name of a slice"),
}
"""By key: the attribute, whether a value can be one, and what it has to be."""
