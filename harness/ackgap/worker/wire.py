"""Stores in front of which a proxy understands what is said to them: what it announces, no hook announces again."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = ["is_on_wire", "remember"]

_addresses: frozenset[str] = frozenset()


def remember(addresses: frozenset[str]) -> None:
    """Take note of such stores, `host:port`."""
    global _addresses  # noqa: PLW0603 - a process knows of one cell
    _addresses = addresses


def is_on_wire(owner: Any) -> bool:
    """Whether a connection, pool or engine of psycopg, asyncpg or SQLAlchemy leads to such a store."""
    if not _addresses:
        return False
    try:
        return any(f"{host}:{port}".lower() in _addresses for host, port in _ends(owner))
    except Exception:
        return False  # the connection is broken, or of another kind: the hook says what it sees


def _ends(owner: Any) -> Iterator[tuple[Any, Any]]:
    if (connection := getattr(owner, "pgconn", None)) is not None:
        yield connection.host.decode(), connection.port.decode()
    elif isinstance(text := getattr(owner, "conninfo", None), str):
        from psycopg.conninfo import conninfo_to_dict

        given = conninfo_to_dict(text)
        yield given.get("host"), given.get("port")
    elif isinstance(address := getattr(owner, "_addr", None), tuple):
        yield address[0], address[1]
    elif (url := getattr(owner, "url", None)) is not None:
        yield url.host, url.port
