"""The content of a durable store: what its files say, row by row, so that two runs of the same work can be compared.

A file's bytes differ from run to run even where it says the same: SQLite leaves pages in the order in which they were
written, and rows hold packed data. Content is what is left of that. Which of it is a time stamp or a random id is
another question, see `ackgap.execute.state.masks`.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ackgap.execute.state.decode import Leaf, leaves
from ackgap.execute.state.sqlite_copy import BESIDE, ask_copy

__all__ = ["BESIDE_SQLITE", "Content", "Record", "Records", "Sheet", "UnreadableError", "sheets_of"]

Record = tuple[Leaf, ...]

BESIDE_SQLITE = (*BESIDE, "-shm")
"""Files beside a SQLite store that belong to it."""

_SQLITE = b"SQLite format 3\0"
_FILE_LIMIT_BYTES = 32 * 2**20
_OPAQUE_TABLES = ("sqlite_stat", "sqlite_autoindex")


class UnreadableError(Exception):
    """What a file says could not be found out; the text says why."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """What a file, or a table of a SQLite store, says.

    Attributes:
        name: The file's name in the store, with `/<table>` after it.
        records: Rows, lines, or one document.
        ordered: Whether their order says something too; that of rows does not.
    """

    name: str
    records: tuple[Record, ...]
    ordered: bool


Content = tuple[Sheet, ...]
"""All of a store, in the order of its files' names."""


class Records:
    """Decodes rows and lines, each only once: a store that grows is not decoded again from its beginning.

    Args:
        rename: Applied to names and values.
    """

    def __init__(self, rename: Callable[[str], str] = str) -> None:
        self.rename = rename
        self._known: dict[tuple[object, ...], Record] = {}

    def row(self, columns: tuple[str, ...], values: tuple[object, ...]) -> Record:
        """Return a row of a table."""
        key = (columns, values, *map(type, values))  # 1 and 1.0 are equal, and are not the same
        if key not in self._known:
            found = (leaves(value, f".{column}", 1) for column, value in zip(columns, values, strict=True))
            self._known[key] = self.record(leaf for part in found for leaf in part)
        return self._known[key]

    def line(self, line: str) -> Record:
        """Return a line of a text; one without its end is half a line, and another record than the whole one."""
        if (line,) not in self._known:
            whole = line.endswith(("\n", "\r"))
            found = _json(line) or [Leaf("", json.dumps(line.rstrip("\r\n"), ensure_ascii=False))]
            self._known[line,] = self.record(found if whole else [*found, Leaf("~unended", "true")])
        return self._known[line,]

    def record(self, found: Iterable[Leaf]) -> Record:
        """Return leaves with all of their text renamed."""
        return tuple(Leaf(self.rename(leaf.path), self.rename(leaf.value)) for leaf in found)


def sheets_of(name: str, path: str, records: Records) -> Content:
    """Return what a file says.

    A SQLite store is read from a copy together with what is beside it, so that nobody notices.

    Args:
        name: The file's name in the store.
        path: Where it is.
        records: What has been decoded of it before.

    Raises:
        UnreadableError: It is too large, or calls itself a SQLite store and is none.
        OSError: It cannot be read.
    """
    size = os.stat(path).st_size  # noqa: PTH116 - this runs at every boundary
    if size > _FILE_LIMIT_BYTES:
        raise UnreadableError(f"{name} is larger than {_FILE_LIMIT_BYTES >> 20} MiB")
    with open(path, "rb") as file:  # noqa: PTH123
        data = file.read()
    if data.startswith(_SQLITE):
        try:
            return ask_copy(Path(path), lambda connection: _tables(name, connection, records))
        except sqlite3.Error as error:
            raise UnreadableError(f"{name} cannot be read as a SQLite store: {error}") from None
    return (_plain(name, data, records),)


def _tables(name: str, connection: sqlite3.Connection, records: Records) -> Content:
    connection.text_factory = _text
    name = records.rename(name)
    schema = connection.execute("select type, name, tbl_name, sql from sqlite_master").fetchall()
    columns: tuple[str, ...] = ("type", "name", "table", "sql")
    sheets = [Sheet(f"{name}/", tuple(records.row(columns, row) for row in schema), ordered=False)]
    tables = sorted(str(row[1]) for row in schema if row[0] == "table")
    for table in tables:
        if table.startswith(_OPAQUE_TABLES):
            continue
        cursor = connection.execute('select * from "{}"'.format(table.replace('"', '""')))  # noqa: S608 - its own name
        columns = tuple(column[0] for column in cursor.description)
        sheets.append(Sheet(f"{name}/{table}", tuple(records.row(columns, row) for row in cursor), ordered=False))
    return tuple(sheets)


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def _plain(name: str, data: bytes, records: Records) -> Sheet:
    name = records.rename(name)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return Sheet(name, (records.record(leaves(data)),), ordered=True)
    document = _json(text)
    if document is not None:
        return Sheet(name, (records.record(document),), ordered=True)
    return Sheet(name, tuple(map(records.line, text.splitlines(keepends=True))), ordered=True)


def _json(text: str) -> list[Leaf] | None:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return list(leaves(json.loads(text)))
    except (ValueError, RecursionError):
        return None
