"""Durable writes through `sqlite3`: `sqlite.<file>.commit` around whatever makes something durable in a database file.

`sqlite3.connect` returns a connection of a class made from the one asked for. SQLite does not tell Python of commits,
so they are known by how they come about: `commit`, the end of a `with`, COMMIT as SQL, a statement outside of any
transaction, a script. One that writes nothing (no row changed, a table that is there already) is not announced.
"""

from __future__ import annotations

import contextvars
import os
import sys
from contextlib import suppress

from . import sql
from .announcer import Announcer
from .names import file_name
from .replacement import Replacement, around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["hook_aiosqlite", "hook_sqlite"]

_FACTORY_POSITION = 5


def hook_sqlite(module: Any, announcer: Announcer) -> None:
    """Have `connect` return connections that announce."""
    if isinstance(module.connect, Replacement):
        return
    original = module.connect
    classes = _Classes(module, announcer)

    def connect(*args: Any, **kwargs: Any) -> Any:
        if len(args) > _FACTORY_POSITION:
            args = (
                *args[:_FACTORY_POSITION],
                classes.connection(args[_FACTORY_POSITION]),
                *args[_FACTORY_POSITION + 1 :],
            )
        else:
            kwargs["factory"] = classes.connection(kwargs.get("factory") or module.Connection)
        connection = original(*args, **kwargs)
        if isinstance(connection, _Announcing):
            connection._ackgap_path = _database_path(connection, args[0] if args else kwargs.get("database"))
        return connection

    replacement = Replacement(original, connect, "sqlite3")
    for name in ("sqlite3.dbapi2", "sqlite3"):
        loaded = sys.modules.get(name)
        if loaded is not None and getattr(loaded, "connect", None) is original:
            loaded.connect = replacement  # type: ignore[attr-defined]


def hook_aiosqlite(module: Any, announcer: Announcer) -> None:  # noqa: ARG001
    """Let the thread of a connection know on whose behalf it works, so that a write inside another is known as one."""
    original = module.Connection._execute

    async def execute(self: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        return await original(self, contextvars.copy_context().run, function, *args, **kwargs)

    module.Connection._execute = around(original, execute)


def _database_path(connection: Any, database: Any) -> str:
    """Return the absolute path of the database file, empty if it is in memory."""
    try:
        text = os.fsdecode(database)
    except TypeError:
        return ""
    if text.startswith("file:"):  # perhaps a URI: only SQLite knows
        rows = list(connection.execute("PRAGMA database_list"))
        text = next((row[2] for row in rows if row[1] == "main"), "")
    return "" if text in ("", ":memory:") else os.path.abspath(text)


class _Announcing:
    """Mark of the classes made here."""

    _ackgap_path = ""


class _Classes:
    """Makes an announcing class from any connection or cursor class.

    Attributes:
        plain: `sqlite3.Connection`.
        is_complete: `sqlite3.complete_statement`.
    """

    def __init__(self, module: Any, announcer: Announcer) -> None:
        self.plain = module.Connection
        self._module = module
        self.is_complete = module.complete_statement
        self._announcer = announcer
        self._made: dict[type, type] = {}

    def connection(self, base: Any) -> Any:
        """Return the announcing class for a factory; a factory that is no class is left alone."""
        if not isinstance(base, type) or issubclass(base, _Announcing):
            return base
        if base not in self._made:
            self._made[base] = _connection_class(base, self, self._announcer)
        return self._made[base]

    def cursor(self, base: Any) -> Any:
        """Likewise for a cursor factory."""
        if base is None:
            base = self._module.Cursor
        if not isinstance(base, type) or issubclass(base, _Announcing):
            return base
        if base not in self._made:
            self._made[base] = _cursor_class(base)
        return self._made[base]


def _connection_class(base: Any, classes: _Classes, announcer: Announcer) -> Any:
    class Connection(_Announcing, base):  # type: ignore[misc]
        _ackgap_path = ""
        _ackgap_changes = 0
        _ackgap_changed = False
        _ackgap_savepoint = ""

        def cursor(self, factory: Any = None) -> Any:
            if factory is not None or base.cursor is classes.plain.cursor:
                return super().cursor(classes.cursor(factory))
            cursor = super().cursor()  # of a class that the user's connection chooses
            if not isinstance(cursor, _Announcing):
                with suppress(TypeError):
                    cursor.__class__ = classes.cursor(type(cursor))
            return cursor

        def execute(self, statement: Any, *args: Any) -> Any:
            # From 3.11 on this makes a cursor without asking `cursor` for it.
            if base.execute is classes.plain.execute:
                return classes.plain.cursor(self, classes.cursor(None)).execute(statement, *args)
            run = super().execute
            return self._ackgap_run(statement, lambda: run(statement, *args))

        def executemany(self, statement: Any, *args: Any) -> Any:
            if base.executemany is classes.plain.executemany:
                return classes.plain.cursor(self, classes.cursor(None)).executemany(statement, *args)
            run = super().executemany
            return self._ackgap_run(statement, lambda: run(statement, *args))

        def executescript(self, script: Any) -> Any:
            if base.executescript is classes.plain.executescript:
                return classes.plain.cursor(self, classes.cursor(None)).executescript(script)
            run = super().executescript
            return self._ackgap_script(script, lambda: run(script))

        def commit(self) -> None:
            if not self._ackgap_has_changes():
                super().commit()
                return
            with self._ackgap_write():
                super().commit()
            self._ackgap_settled()

        def rollback(self) -> None:
            super().rollback()
            self._ackgap_settled()

        def __exit__(self, kind: object, error: object, trace: object) -> Any:
            if kind is not None or not self._ackgap_has_changes():
                result = super().__exit__(kind, error, trace)
            else:
                with self._ackgap_write():
                    result = super().__exit__(kind, error, trace)
            self._ackgap_settled()
            return result

        def _ackgap_write(self) -> Any:
            return announcer.durable_write(f"sqlite.{file_name(self._ackgap_path)}.commit")

        def _ackgap_has_changes(self) -> bool:
            if not self._ackgap_path or not self.in_transaction:
                return False
            return self._ackgap_changed or self.total_changes != self._ackgap_changes

        def _ackgap_settled(self) -> None:
            """Whatever has changed so far is durable, or gone."""
            self._ackgap_changes = self.total_changes
            self._ackgap_changed = False
            self._ackgap_savepoint = ""

        def _ackgap_run(self, statement: str, run: Any) -> Any:
            """Run a statement, announced if it makes something durable."""
            if not self._ackgap_path or not isinstance(statement, str):
                return run()
            try:
                durable = self._ackgap_makes_durable(statement)
            except Exception as error:
                announcer.trouble("a statement of SQL could not be understood", error)
                durable = False
            if not durable:
                return run()
            with self._ackgap_write():
                result = run()
            if not self.in_transaction:
                self._ackgap_settled()
            return result

        def _ackgap_makes_durable(self, statement: str) -> bool:
            outside = not self.in_transaction
            if outside:
                self._ackgap_settled()
            verb = sql.verb(statement)
            if verb in ("COMMIT", "END"):
                return self._ackgap_has_changes()
            if verb == "SAVEPOINT" and outside:
                self._ackgap_savepoint = sql.savepoint(statement)
            if verb == "RELEASE":
                return sql.savepoint(statement) == self._ackgap_savepoint != "" and self._ackgap_has_changes()
            if not sql.writes(statement) or sql.is_done_already(statement, self._ackgap_rows):
                return False
            # Outside of a transaction Python opens one for DML, unless told not to; DDL is durable at once.
            if outside and (verb not in sql.DML or self._ackgap_is_autocommit()):
                return True
            self._ackgap_changed = self._ackgap_changed or verb not in sql.DML
            return False

        def _ackgap_is_autocommit(self) -> bool:
            mode = getattr(self, "autocommit", -1)
            return mode is True or (mode is not False and self.isolation_level is None)

        def _ackgap_rows(self, statement: str, *values: Any) -> list[Any]:
            """Ask the database something, past whatever the user has made of rows and texts."""
            cursor = base.cursor(self)
            cursor.row_factory = None
            return list(cursor.execute(statement, values))

        def _ackgap_script(self, script: str, run: Any) -> Any:
            """Run a script: what was open is committed first, and the whole of it is one boundary."""
            if not self._ackgap_path or not isinstance(script, str):
                return run()
            durable = self._ackgap_has_changes()
            for statement in sql.split(script, classes.is_complete):
                try:
                    writes = sql.writes(statement) and not sql.is_done_already(statement, self._ackgap_rows)
                except Exception:
                    writes = True
                durable = durable or writes
            if not durable:
                return run()
            with self._ackgap_write():
                result = run()
            self._ackgap_settled()
            return result

    Connection.__name__, Connection.__qualname__, Connection.__module__ = (
        base.__name__,
        base.__qualname__,
        base.__module__,
    )
    return Connection


def _cursor_class(base: Any) -> Any:
    class Cursor(_Announcing, base):  # type: ignore[misc]
        def execute(self, statement: Any, *args: Any) -> Any:
            run = super().execute
            connection = self.connection
            if not isinstance(connection, _Announcing):
                return run(statement, *args)
            return connection._ackgap_run(statement, lambda: run(statement, *args))  # type: ignore[attr-defined]

        def executemany(self, statement: Any, *args: Any) -> Any:
            run = super().executemany
            connection = self.connection
            if not isinstance(connection, _Announcing):
                return run(statement, *args)
            return connection._ackgap_run(statement, lambda: run(statement, *args))  # type: ignore[attr-defined]

        def executescript(self, script: Any) -> Any:
            run = super().executescript
            connection = self.connection
            if not isinstance(connection, _Announcing):
                return run(script)
            return connection._ackgap_script(script, lambda: run(script))  # type: ignore[attr-defined]

    Cursor.__name__, Cursor.__qualname__, Cursor.__module__ = base.__name__, base.__qualname__, base.__module__
    return Cursor
