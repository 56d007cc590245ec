"""A digest of what a PostgreSQL server keeps, as the next life will find it: what has been committed, and nothing else.

Rows that a transaction has written and not committed are not in it; a dead worker's transaction is rolled back. Values
of sequences are not in it either: they move outside of transactions and record no work.

Asked at every boundary, so most of the time one query has to do: as long as no transaction has begun to write or has
ended since, which the list of running transactions shows, nothing can have changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from ackgap.execute.services.postgres_wire import PostgresRefused, PostgresWire
from ackgap.execute.services.service import unknown

__all__ = ["PostgresDigest"]

_RUNNING = "SELECT txid_current_snapshot()::text, (SELECT string_agg(gid, ',' ORDER BY gid) FROM pg_prepared_xacts)"
_RELATIONS = """
SELECT n.nspname, c.relname, c.relkind::text,
    (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ',' ORDER BY a.attnum)
        FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
    EXISTS (SELECT FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database()
        WHERE l.relation = c.oid AND l.mode = 'AccessExclusiveLock' AND l.granted),
    c.relispopulated
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
ORDER BY 1, 2
"""
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL lock_timeout = '50ms'"
_GONE = ("3D000", "57P01", "57P03")
"""SQLSTATE: there is no such database, or it is just being dropped."""

_Table = tuple[str, str, str]


class PostgresDigest:
    """Keeps one connection for asking whether anything can have changed, and opens others to look at the rows.

    No other connection stays open: a worker may drop its database, or make a copy of it.

    Args:
        connect: Opens a connection to a database.
        databases: Names the databases that count, asked over the connection that it is given.
        home: Database for the connection that stays open.
    """

    def __init__(
        self, connect: Callable[[str], PostgresWire], databases: Callable[[PostgresWire], list[str]], home: str
    ) -> None:
        self._connect = connect
        self._databases = databases
        self._home = home
        self._open: PostgresWire | None = None
        self._running: tuple[str | None, ...] = ()
        self._last = ""
        self._content: dict[_Table, str] = {}

    def digest(self) -> str:
        """Return the digest, `unknown()` where the server does not tell."""
        try:
            return self._digest()
        except PostgresRefused:
            self.close()
        try:
            return self._digest()
        except PostgresRefused:
            self.close()
            return unknown()

    def forget(self) -> None:
        """All databases are new."""
        self._running, self._last = (), ""
        self._content.clear()

    def close(self) -> None:
        """Hang up."""
        if self._open is not None:
            self._open.close()
        self._open = None
        self._running = ()

    def home(self) -> PostgresWire:
        """Return the connection that stays open."""
        if self._open is None:
            self._open = self._connect(self._home)
        return self._open

    def _digest(self) -> str:
        wire = self.home()
        running = wire.ask(_RUNNING)[0]
        if running == self._running:
            return self._last
        total = hashlib.blake2b(str(running[1]).encode(), digest_size=12)
        for database in self._databases(wire):
            try:
                with self._connect(database) as there:
                    for line in self._lines(there, database):
                        total.update(line.encode() + b"\n")
            except PostgresRefused as error:
                if error.code not in _GONE:
                    raise
        self._running, self._last = running, total.hexdigest()
        return self._last

    def _lines(self, wire: PostgresWire, database: str) -> list[str]:
        wire.ask(_BEGIN)
        lines = [database]
        tables: list[_Table] = []
        for schema, name, kind, columns, locked, populated in wire.ask(_RELATIONS):
            lines.append(f"{kind} {schema}.{name} ({columns})")
            if kind in ("r", "m") and populated == "t":
                table = (database, str(schema), str(name))
                # Somebody is changing the table itself, and would be waited for: as long as that is not committed,
                # it is as it was when it was last looked at.
                if locked == "t":
                    lines.append(self._content.get(table, ""))
                else:
                    tables.append(table)
        for table in tables:
            self._content[table] = self._rows(wire, table)
            lines.append(f"{table[1]}.{table[2]} {self._content[table]}")
        return lines

    def _rows(self, wire: PostgresWire, table: _Table) -> str:
        name = ".".join('"' + part.replace('"', '""') + '"' for part in table[1:])
        sql = (
            "SELECT md5(coalesce(string_agg(line, '' ORDER BY line), '')) "  # noqa: S608 - the name is quoted
            f"FROM (SELECT md5(ackgap_row::text) AS line FROM {name} AS ackgap_row) AS lines"
        )
        try:
            return str(wire.ask(f"SAVEPOINT look; {sql}")[0][0])
        except PostgresRefused as error:
            if error.code not in ("55P03", "42P01"):  # locked since, or gone since
                raise
            wire.ask("ROLLBACK TO SAVEPOINT look")
            return self._content.get(table, "")
