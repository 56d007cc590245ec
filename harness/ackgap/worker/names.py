"""Names of durable writes: the same from run to run, whatever is random in the names of files and nodes."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["TEMPORARY", "file_name", "is_below", "is_journal", "path_of_descriptor", "remember_temporary", "word"]

_UNUSABLE = r"[\s@,;#]+"
_UUID = r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}"
_TEMPORARY = r"tmp[a-z0-9_]{8}"
_LOG = r"(?i)\.log(\.[^/]*)?$"

TEMPORARY = "tmp"
"""What a file with a made-up name is called."""

_made_up: dict[str, None] = {}
_MADE_UP_LIMIT = 4096


def word(text: object) -> str:
    """Return a text as a part of a boundary's name, which has no white space and none of `@ , ; #`."""
    import re

    return re.sub(_UNUSABLE, "_", str(text)) or "_"


def remember_temporary(part: str) -> None:
    """Take note of a random part that `tempfile` has made up for a name."""
    while len(_made_up) >= _MADE_UP_LIMIT:
        _made_up.pop(next(iter(_made_up)), None)
    _made_up[part] = None


def file_name(path: str) -> str:
    """Return the last part of a path as it would read in any other run.

    A name with a random part of `tempfile`'s, or with this process's id, is `tmp`; a UUID reads `uuid`.
    """
    import re

    name = os.path.basename(path)
    if re.search(_TEMPORARY, name) or any(part in name for part in tuple(_made_up)):
        return TEMPORARY
    if re.search(rf"(?<!\d){os.getpid()}(?!\d)", name):
        return TEMPORARY
    return word(re.sub(_UUID, "uuid", name))


def is_below(path: str, directory: str) -> bool:
    """Whether an absolute path lies in a directory."""
    return bool(directory) and (path == directory or path.startswith(directory.rstrip("/") + "/"))


def is_journal(path: str, *places: str) -> bool:
    """Whether a file at that absolute path may hold durable state: below the workspace, no log, no bytecode.

    Args:
        path: Absolute.
        places: The workspace, and where else parts of it are to be found; empty ones are none.
    """
    if not any(
        place and (is_below(path, place) or is_below(os.path.realpath(path), os.path.realpath(place)))
        for place in places
    ):
        return False
    import re

    return not (path.endswith(".pyc") or "/__pycache__/" in path or re.search(_LOG, path))


def path_of_descriptor(descriptor: int) -> str:
    """Return the path of an open file, or an empty text if the system does not tell."""
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


def absolute(path: Any) -> str:
    """Return a path, in any form that `open` takes, as absolute text; empty if it is none.

    Raises:
        TypeError: It is nothing that `open` takes.
    """
    if isinstance(path, int):
        return path_of_descriptor(path)
    return os.path.abspath(os.fsdecode(path))
