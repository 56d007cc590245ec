"""Just enough of SQL to tell which statements write, and which of those have nothing left to do."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Callable

    Ask = Callable[..., Any]

__all__ = ["DML", "is_done_already", "savepoint", "split", "verb", "writes"]

DML = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE"})
_DDL = frozenset({"CREATE", "DROP", "ALTER", "REINDEX", "VACUUM"})

_LEADING = re.compile(r"(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z)|;)*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z]+")
_QUOTED = r"""(?:"(?P<double>[^"]+)"|`(?P<tick>[^`]+)`|\[(?P<square>[^\]]+)\]|'(?P<single>[^']+)'|(?P<bare>[\w$]+))"""
_CREATE = re.compile(
    r"CREATE\s+(?P<temp>TEMP(?:ORARY)?\s+)?(?:UNIQUE\s+|VIRTUAL\s+)?(?P<kind>TABLE|INDEX|VIEW|TRIGGER)\s+"
    rf"IF\s+NOT\s+EXISTS\s+(?:\w+\s*\.\s*)?{_QUOTED}",
    re.IGNORECASE,
)
_CREATE_TEMPORARY = re.compile(r"CREATE\s+TEMP(?:ORARY)?\b", re.IGNORECASE)
_DROP = re.compile(
    rf"DROP\s+(?P<kind>TABLE|INDEX|VIEW|TRIGGER)\s+IF\s+EXISTS\s+(?:\w+\s*\.\s*)?{_QUOTED}", re.IGNORECASE
)
_ADD_COLUMN = re.compile(
    r"ALTER\s+TABLE\s+(?P<table>\"[^\"]+\"|\[[^\]]+\]|`[^`]+`|[\w$]+)\s+ADD\s+(?:COLUMN\s+)?" + _QUOTED, re.IGNORECASE
)
_SAVEPOINT = re.compile(rf"(?:SAVEPOINT|RELEASE(?:\s+SAVEPOINT)?)\s+{_QUOTED}", re.IGNORECASE)
_WRITES_AFTER_WITH = re.compile(r"\b(?:INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)


def verb(statement: str) -> str:
    """Return the first word of a statement, in capitals, past comments."""
    match = _WORD.match(statement, _start(statement))
    return match[0].upper() if match else ""


def writes(statement: str) -> bool:
    """Whether a statement may change a database file."""
    first = verb(statement)
    if first == "WITH":
        return _WRITES_AFTER_WITH.search(statement) is not None
    if first == "CREATE" and _CREATE_TEMPORARY.match(statement, _start(statement)):
        return False
    return first in DML or first in _DDL


def is_done_already(statement: str, ask: Ask) -> bool:
    """Whether a statement of DDL finds its work done: the table or column is there, or is gone.

    Args:
        statement: Any statement.
        ask: Returns the rows that a query gives, with values for its placeholders.
    """
    start = _start(statement)
    match = _CREATE.match(statement, start)
    if match is not None:
        return _exists(ask, match["kind"], _name(match))
    match = _DROP.match(statement, start)
    if match is not None:
        return not _exists(ask, match["kind"], _name(match))
    match = _ADD_COLUMN.match(statement, start)
    if match is not None:
        columns = ask("SELECT lower(name) FROM pragma_table_info(?)", match["table"].strip('"[]`'))
        return (_name(match).lower(),) in [tuple(row) for row in columns]
    return False


def savepoint(statement: str) -> str:
    """Return the name in SAVEPOINT or RELEASE, in small letters."""
    match = _SAVEPOINT.match(statement, _start(statement))
    return _name(match).lower() if match is not None else ""


def split(script: str, is_complete: Callable[[str], bool]) -> Iterator[str]:
    """Yield the statements of a script.

    Args:
        script: Statements with semicolons between them.
        is_complete: `sqlite3.complete_statement`, which knows of strings, comments and triggers.
    """
    statement = ""
    for part in script.split(";"):
        statement += part + ";"
        if is_complete(statement):
            yield statement
            statement = ""
    if statement.strip("; \t\r\n"):
        yield statement


def _start(statement: str) -> int:
    match = _LEADING.match(statement)
    return match.end() if match is not None else 0


def _name(match: Any) -> str:
    return next(
        str(match[group]) for group in ("double", "tick", "square", "single", "bare") if match[group] is not None
    )


def _exists(ask: Ask, kind: str, name: str) -> bool:
    return bool(ask("SELECT 1 FROM sqlite_master WHERE type = ? AND lower(name) = ?", kind.lower(), name.lower()))
