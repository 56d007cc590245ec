"""Paths of requests: taking them apart, matching them, and naming what nobody has named."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote, urlsplit

from ackgap.target.wire.secrets import without_secrets

__all__ = ["is_id_like", "learned_name", "path_values", "plain_path", "segments_of"]


def plain_path(request_target: str) -> str:
    """Return the path of a request target, without query and host."""
    if request_target.startswith("/"):
        return request_target.partition("?")[0].partition("#")[0]
    try:
        return urlsplit(request_target).path or "/" if "://" in request_target else request_target.partition("?")[0]
    except ValueError:  # the host is none
        return request_target.partition("?")[0]


def segments_of(path: str) -> tuple[str, ...]:
    """Return the parts of a path, without empty ones."""
    return tuple(segment for segment in path.split("/") if segment)


def path_values(pattern: str, segments: tuple[str, ...]) -> dict[str, str] | None:
    """Return the values of the `{...}` of a pattern, None where the path is not of that form.

    A last part such as `{key+}` takes all that is left, slashes included.
    """
    parts = segments_of(pattern)
    if parts and parts[-1].endswith("+}") and len(segments) > len(parts):
        rest = "/".join(segments[len(parts) - 1 :])
        segments = (*segments[: len(parts) - 1], rest)
    if len(parts) != len(segments):
        return None
    values: dict[str, str] = {}
    for part, segment in zip(parts, segments, strict=True):
        if part.startswith("{"):
            values[part[1:-1].removesuffix("+")] = unquote(segment)
        elif part != unquote(segment):
            return None
    return values


_ID_LIKE = re.compile(
    r"\d+"
    r"|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|(?=.*\d)[0-9a-fA-F]{8,}"
    r"|[A-Za-z][A-Za-z0-9]*[-_:](?=[^/]*\d)[A-Za-z0-9_:.-]+"
    r"|(?=.*\d)[A-Za-z0-9_-]{20,}"
)


def is_id_like(segment: str) -> bool:
    """Whether a path segment looks like an object's id rather than a word of the service's language."""
    return _ID_LIKE.fullmatch(unquote(segment)) is not None


def _is_drawn(part: str) -> bool:
    """Whether a part is no word: an id, or a secret, which must not become a part of a name."""
    return is_id_like(part) or without_secrets(unquote(part), lambda _: "") != unquote(part)


def learned_name(method: str, segments: tuple[str, ...]) -> str:
    """Return `<METHOD>/path` with ids left out, of nothing but characters that a crash point and a glob may hold."""
    parts = ["{id}" if _is_drawn(part) or part == "{id}" else quote(unquote(part), safe="~._-") for part in segments]
    return f"{quote(method, safe='')}/{'/'.join(parts)}"
