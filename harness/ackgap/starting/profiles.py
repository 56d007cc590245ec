"""Which shipped fake service has the paths that a program asks for."""

from __future__ import annotations

from collections.abc import Iterable

from ackgap.content import profile_names
from ackgap.errors import AckgapError
from ackgap.target.profiles.profile import load_profile

__all__ = ["near_profile"]


def near_profile(paths: Iterable[str]) -> str:
    """Return the described profile with the most of some paths as operations of its own, empty where none has any.

    Args:
        paths: Of requests, such as `/tickets`.
    """
    wanted = set(paths)
    if not wanted:
        return ""
    best: tuple[int, str] = (0, "")
    for name in profile_names():
        try:
            profile = load_profile(name)
        except AckgapError:
            continue  # it says so itself where it is used
        if profile.described and not profile.graphql:
            found = len(wanted & {operation.path for operation in profile.operations if operation.effect})
            best = max(best, (found, name), key=lambda item: item[0])
    return best[1]
