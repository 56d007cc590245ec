"""What can be wrong with a profile before anyone asks what it means: the file itself, and headers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ackgap.errors import ProfileInvalid
from ackgap.files import FileUnfit, read_toml

__all__ = ["document_mistakes", "read_document"]

_HEADER_TABLES = frozenset({"headers", "replay_headers", "first_headers"})
_WRITTEN_ANYWAY = frozenset({"content-length", "transfer-encoding", "connection"})
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def read_document(file: Path) -> dict[str, Any]:
    """Read a profile's TOML: UTF-8 with or without a byte order mark, no NUL, no infinity, not nested without end.

    Raises:
        ProfileInvalid: Names file and line, or file and key.
    """
    try:
        return read_toml(file)
    except OSError as error:
        raise ProfileInvalid(
            f"The profile cannot be read: {error.strerror or error}.",
            where=str(file),
            next_step="A profile is a TOML file in UTF-8.",
        ) from error
    except FileUnfit as error:
        raise ProfileInvalid(
            f"The profile {error}.",
            where=error.where(file).replace(", ", ": ", 1).replace(": key ", ": "),
            next_step="A profile is a TOML file in UTF-8.",
        ) from None


def document_mistakes(document: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield key, what is wrong and what is allowed, for headers that HTTP cannot carry.

    Args:
        document: A profile as it is written.
    """
    yield from _walk(document, "")


def _walk(node: Any, key: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(node, Mapping):
        for name, value in node.items():
            below = f"{key}.{name}" if key else str(name)
            if name in _HEADER_TABLES and isinstance(value, Mapping):
                yield from _headers(value, below)
            elif name != "body":  # of an answer: whatever its author likes
                yield from _walk(value, below)
    elif isinstance(node, list):
        for place, value in enumerate(node):
            name = value.get("name") if isinstance(value, Mapping) else None
            yield from _walk(value, f"{key}[{name if isinstance(name, str) else place}]")


def _headers(table: Mapping[str, Any], key: str) -> Iterator[tuple[str, str, str]]:
    for name, value in table.items():
        if not _HEADER_NAME.fullmatch(str(name)):
            yield f"{key}.{name!r}", f"{name!r} cannot be the name of a header.", "letters, digits and !#$%&'*+-.^_`|~"
        if str(name).lower() in _WRITTEN_ANYWAY:
            yield f"{key}.{name}", f"The header {name!r} is written for every answer.", "other headers"
        if isinstance(value, str) and not _HEADER_VALUE.fullmatch(value):
            yield (
                f"{key}.{name}",
                f"The header has the value {value!r}, and a header is one line of Latin-1.",
                "a text without line breaks and other control characters",
            )
