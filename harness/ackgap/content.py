"""Where the shipped targets and scenarios are: inside an installed package, or beside the package in a checkout.

Nothing here follows symbolic links: some installers link the package out of a cache, and the answer would be a path
inside that cache.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from ackgap.errors import HarnessFailed, UsageInvalid

__all__ = ["find_profile", "profile_names", "scenarios_directory", "targets_directory"]

_PACKAGE = Path(__file__).parent


def targets_directory() -> Path:
    """Return the folder with the shipped target profiles.

    Raises:
        HarnessFailed: This installation has none.
    """
    return _directory("targets")


def scenarios_directory() -> Path:
    """Return the folder with the shipped scenarios.

    Raises:
        HarnessFailed: This installation has none.
    """
    return _directory("scenarios")


def profile_names() -> tuple[str, ...]:
    """Return the names of the shipped profiles, sorted."""
    return tuple(sorted(file.stem for file in targets_directory().glob("*.toml")))


def find_profile(name_or_path: str) -> Path:
    """Return the file of a profile.

    Args:
        name_or_path: Name of a shipped profile; or the path of a TOML file, which is told by its ending or a slash.

    Raises:
        UsageInvalid: There is no such profile.
    """
    if name_or_path.endswith(".toml") or "/" in name_or_path:
        path = Path(name_or_path).expanduser()
        if path.is_file():
            return path
        raise UsageInvalid(
            f"There is no target profile at {name_or_path!r}.",
            where="profile",
            next_step="Give the path of a TOML file, or the name of a shipped profile (`ackgap targets`).",
        )
    names = profile_names()
    if name_or_path in names:
        return targets_directory() / f"{name_or_path}.toml"
    close = get_close_matches(name_or_path, names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"the shipped ones are {', '.join(names)}"
    raise UsageInvalid(
        f"There is no target profile {name_or_path!r}; {hint}.",
        where="profile",
        next_step="`ackgap targets` lists the shipped profiles; `any` accepts every request.",
    )


def _directory(kind: str) -> Path:
    installed = _PACKAGE / "_content" / kind
    if installed.is_dir():
        return installed
    checkout = _PACKAGE.parent.parent
    if _PACKAGE.parent.name == "harness" and (checkout / "pyproject.toml").is_file() and (checkout / kind).is_dir():
        return checkout / kind
    raise HarnessFailed(
        f"This installation of ackgap has no {kind}.",
        where=str(installed),
        next_step="Install it again: pip install --force-reinstall ackgap",
    )
