"""Where scenarios are: the user's paths, and those shipped with ackgap."""

from __future__ import annotations

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from ackgap import content
from ackgap.errors import AckgapError, HarnessFailed, UsageInvalid

__all__ = ["find_scenario", "is_shipped", "profile_mistake", "shipped_scenarios"]

_FILE = "scenario.toml"


def shipped_scenarios() -> dict[str, Path]:
    """Return the folder of each scenario shipped with ackgap by its name, in the order of names.

    A name is the folder's path below the scenarios' directory: `langgraph-ticket`, `known-answers/duplicate-broken`.
    """
    try:
        directory = content.scenarios_directory()
    except HarnessFailed:  # an installation without them still runs the user's own
        return {}
    files = sorted(directory.glob(f"**/{_FILE}"))
    return {file.parent.relative_to(directory).as_posix(): file.parent for file in files}


def is_shipped(path: Path) -> bool:
    """Say whether a scenario file is one of those shipped with ackgap."""
    try:
        directory = content.scenarios_directory()
    except HarnessFailed:
        return False
    return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(directory))  # noqa: PTH100 - follows no links


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
    raise UsageInvalid(
        f"{reason}; {_nearest(text, shipped)}.",
        where="SCENARIO",
        next_step="Give the path of a scenario.toml or of its folder, or the name of a shipped one (`ackgap list`).",
    )


def _nearest(text: str, shipped: Mapping[str, Path]) -> str:
    """Return advice: the shipped name that is near, or that ends like the text, and the names of the first level."""
    last = {name.rpartition("/")[2]: name for name in shipped}
    near = get_close_matches(text, shipped, n=1) or [last[end] for end in get_close_matches(text, last, n=1)]
    top = [name for name in shipped if "/" not in name]
    groups = sorted({f"{name.partition('/')[0]}/..." for name in shipped if "/" in name})
    advice = f"did you mean {near[0]!r}? " if near else ""
    return f"{advice}allowed: {', '.join([*top, *groups]) or 'nothing'}"


def profile_mistake(profile: str) -> str:
    """Return why there is no such profile, or an empty string.

    Args:
        profile: Name of a shipped profile, or path of a TOML file.
    """
    try:
        content.find_profile(profile)
    except AckgapError as error:
        return error.what
    return ""
