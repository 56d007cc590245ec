"""Where scenarios are: the user's paths, and those shipped with ackgap."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

from ackgap.errors import AckgapError, UsageInvalid
from ackgap.scenario.words import did_you_mean

__all__ = ["find_scenario", "is_shipped", "profile_mistake", "shipped_scenarios"]

_FILE = "scenario.toml"


def _content() -> ModuleType | None:
    try:
        return importlib.import_module("ackgap.content")
    except ModuleNotFoundError:
        return None


def _directory() -> Path | None:
    content = _content()
    if content is None:
        return None
    directory: Path = content.scenarios_directory()
    return directory


def shipped_scenarios() -> dict[str, Path]:
    """Return the folder of each scenario shipped with ackgap by its name, in the order of names.

    A name is the folder's path below the scenarios' directory: `langgraph-ticket`, `known-answers/duplicate-broken`.
    """
    directory = _directory()
    if directory is None or not directory.is_dir():
        return {}
    files = sorted(directory.glob(f"**/{_FILE}"))
    return {file.parent.relative_to(directory).as_posix(): file.parent for file in files}


def is_shipped(path: Path) -> bool:
    """Say whether a scenario file is one of those shipped with ackgap."""
    directory = _directory()
    return directory is not None and path.absolute().is_relative_to(directory.absolute())


def find_scenario(text: str) -> Path:
    """Return the `scenario.toml` that a user means.

    Args:
        text: A path to the file or its folder, which wins, or the name of a shipped scenario.

    Raises:
        UsageInvalid: It is neither.
    """
    path = Path(text).expanduser()
    file = path / _FILE if path.is_dir() else path
    if file.is_file():
        return file
    shipped = shipped_scenarios()
    if folder := shipped.get(text.strip("/")):
        return folder / _FILE
    reason = f"The folder {text!r} has no {_FILE}" if path.is_dir() else f"There is no scenario {text!r}"
    top = [name for name in shipped if "/" not in name]
    raise UsageInvalid(
        f"{reason}; {did_you_mean(text, top or shipped)}.",
        where="SCENARIO",
        next_step="Give the path of a scenario.toml or of its folder, or the name of a shipped one (`ackgap list`).",
    )


def profile_mistake(profile: str) -> str:
    """Return why there is no such profile, or an empty string.

    Args:
        profile: Name of a shipped profile, or path of a TOML file.
    """
    content = _content()
    if content is None:
        return ""
    try:
        content.find_profile(profile)
    except AckgapError as error:
        return error.what
    return ""
