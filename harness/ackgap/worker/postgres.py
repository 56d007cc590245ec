"""Durable writes to PostgreSQL: `pg.<tables>.commit` around what makes something durable by psycopg (3) or asyncpg.

That is `commit`, the end of a transaction block, COMMIT as SQL, a statement outside of any transaction, and the end of
a pipeline. What a transaction has written to so far is kept at its connection; one that has written nothing, or no row,
is not announced. What a function writes that SELECT calls is not seen. Where a proxy in front of the server announces
all of this, nothing is announced here.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from . import pgsql
from .announcer import Announcer
from .replacement import around
from .wire import is_on_wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["hook_asyncpg", "hook_psycopg"]

_IDLE, _IN_TRANSACTION = 0, 2

_of_connections: WeakKeyDictionary[Any, dict[str, None]] = WeakKeyDictionary()


class _Statement:
    """What a statement is about to do on a connection.

    Args:
        announcer: Told where something cannot be understood.
        connection: Of either library.
        text: SQL.
        outside: It runs outside of any transaction, so that it is durable at once.
    """

    def __init__(self, announcer: Announcer, connection: Any, text: str, *, outside: bool) -> None:
        self._connection = connection
        self.names: list[str] = []
        self.only_data = self.ends = self.undoes = False
        try:
            self.names = pgsql.targets(text)
            self.only_data = pgsql.is_data(self.names, text)
            self.ends = pgsql.commits(text)
            self.undoes = not self.ends and pgsql.rolls_back(text)
        except Exception as error:
            announcer.trouble("a statement of SQL could not be understood", error)
        self.durable = self.ends or (outside and not text.lstrip().upper().startswith(("BEGIN", "START")))

    @property
    def boundary(self) -> str:
        """The name of the durable write that it is, empty if it is none."""
        names = [*_written(self._connection), *self.names] if self.ends else self.names
        if not self.durable or not names or is_on_wire(self._connection):
            return ""
        return pgsql.name_of(list(dict.fromkeys(names)))

    def done(self, row_count: int) -> None:
        """Keep what it has written to; a negative count is not known."""
        if self.ends or self.undoes:
            _written(self._connection).clear()
        elif not self.durable and not (self.only_data and row_count == 0):
            _written(self._connection).update(dict.fromkeys(self.names))


def _written(connection: Any) -> dict[str, None]:
    """Return what the transaction of a connection has written to so far."""
    return _of_connections.setdefault(connection, {})


# ------------------------------------------------------------------- psycopg


def hook_psycopg(module: Any, announcer: Announcer) -> None:
    """Hook cursors, connections, transactions and pipelines, synchronous and asynchronous."""
    for cls in (module.Cursor, module.AsyncCursor):
        for name in ("execute", "executemany"):
            hook = _psycopg_execute if cls is module.Cursor else _psycopg_execute_async
            setattr(cls, name, hook(getattr(cls, name), announcer))
    module.Connection.commit = _psycopg_commit(module.Connection.commit, announcer)
    module.AsyncConnection.commit = _psycopg_commit_async(module.AsyncConnection.commit, announcer)
    module.Transaction.__exit__ = _psycopg_block(module.Transaction.__exit__, announcer)
    module.AsyncTransaction.__aexit__ = _psycopg_block_async(module.AsyncTransaction.__aexit__, announcer)
    pipeline, async_pipeline = module.Pipeline, module.AsyncPipeline
    pipeline.__enter__ = _psycopg_enter(pipeline.__enter__)
    async_pipeline.__aenter__ = _psycopg_enter_async(async_pipeline.__aenter__)
    for name in ("sync", "__exit__"):
        setattr(pipeline, name, _psycopg_sync(getattr(pipeline, name), announcer))
    for name in ("sync", "__aexit__"):
        setattr(async_pipeline, name, _psycopg_sync_async(getattr(async_pipeline, name), announcer))


def _psycopg_statement(announcer: Announcer, cursor: Any, query: Any) -> _Statement:
    connection = cursor.connection
    outside = (
        connection.autocommit
        and connection.pgconn.transaction_status == _IDLE
        and getattr(connection, "_pipeline", None) is None
    )
    text = query
    try:
        if hasattr(query, "as_string"):
            text = query.as_string(connection)
        elif isinstance(query, bytes):
            text = query.decode("utf-8", "replace")
    except Exception as error:
        announcer.trouble("a statement of SQL could not be read", error)
    return _Statement(announcer, connection, text if isinstance(text, str) else "", outside=outside)


def _psycopg_execute(original: Any, announcer: Announcer) -> Any:
    def execute(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        statement = _psycopg_statement(announcer, self, query)
        if statement.boundary:
            with announcer.durable_write(statement.boundary):
                result = original(self, query, *args, **kwargs)
        else:
            result = original(self, query, *args, **kwargs)
        statement.done(self.rowcount)
        return result

    return around(original, execute)


def _psycopg_execute_async(original: Any, announcer: Announcer) -> Any:
    async def execute(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        statement = _psycopg_statement(announcer, self, query)
        if statement.boundary:
            async with announcer.durable_write(statement.boundary):
                result = await original(self, query, *args, **kwargs)
        else:
            result = await original(self, query, *args, **kwargs)
        statement.done(self.rowcount)
        return result

    return around(original, execute)


def _pending(connection: Any) -> str:
    """Return the name of the durable write that the end of a connection's transaction is, empty if it is none."""
    written = [] if is_on_wire(connection) else list(_written(connection))
    return pgsql.name_of(written) if written and connection.pgconn.transaction_status == _IN_TRANSACTION else ""


def _psycopg_commit(original: Any, announcer: Announcer) -> Any:
    def commit(self: Any) -> None:
        name = _pending(self)
        if name:
            with announcer.durable_write(name):
                original(self)
        else:
            original(self)
        _written(self).clear()

    return around(original, commit)


def _psycopg_commit_async(original: Any, announcer: Announcer) -> Any:
    async def commit(self: Any) -> None:
        name = _pending(self)
        if name:
            async with announcer.durable_write(name):
                await original(self)
        else:
            await original(self)
        _written(self).clear()

    return around(original, commit)


def _ending(transaction: Any, kind: object) -> str:
    """Return the name of the durable write that the end of a transaction block is, empty if it is none."""
    inner = not getattr(transaction, "_outer_transaction", True)
    if kind is not None or inner or transaction.force_rollback:
        return ""
    return _pending(transaction.connection)


def _psycopg_block(original: Any, announcer: Announcer) -> Any:
    def leave(self: Any, kind: Any, error: Any, trace: Any) -> Any:
        name = _ending(self, kind)
        if name:
            with announcer.durable_write(name):
                result = original(self, kind, error, trace)
        else:
            result = original(self, kind, error, trace)
        _forget_if_idle(self.connection)
        return result

    return around(original, leave)


def _psycopg_block_async(original: Any, announcer: Announcer) -> Any:
    async def leave(self: Any, kind: Any, error: Any, trace: Any) -> Any:
        name = _ending(self, kind)
        if name:
            async with announcer.durable_write(name):
                result = await original(self, kind, error, trace)
        else:
            result = await original(self, kind, error, trace)
        _forget_if_idle(self.connection)
        return result

    return around(original, leave)


def _forget_if_idle(connection: Any) -> None:
    if connection.pgconn.transaction_status == _IDLE:
        _written(connection).clear()


def _began_outside(pipeline: Any) -> None:
    connection = pipeline._conn
    if getattr(connection, "_pipeline", None) in (None, pipeline):
        pipeline._ackgap_outside = connection.autocommit and connection.pgconn.transaction_status == _IDLE


def _psycopg_enter(original: Any) -> Any:
    def enter(self: Any) -> Any:
        _began_outside(self)
        return original(self)

    return around(original, enter)


def _psycopg_enter_async(original: Any) -> Any:
    async def enter(self: Any) -> Any:
        _began_outside(self)
        return await original(self)

    return around(original, enter)


def _synced(pipeline: Any) -> str:
    """Return the name of the durable write that the end of a pipeline is, empty if it is none."""
    written = [] if is_on_wire(pipeline._conn) else list(_written(pipeline._conn))
    return pgsql.name_of(written) if written and getattr(pipeline, "_ackgap_outside", False) else ""


def _psycopg_sync(original: Any, announcer: Announcer) -> Any:
    def sync(self: Any, *args: Any) -> Any:
        name = _synced(self)
        if not name:
            return original(self, *args)
        with announcer.durable_write(name):
            result = original(self, *args)
        _written(self._conn).clear()
        return result

    return around(original, sync)


def _psycopg_sync_async(original: Any, announcer: Announcer) -> Any:
    async def sync(self: Any, *args: Any) -> Any:
        name = _synced(self)
        if not name:
            return await original(self, *args)
        async with announcer.durable_write(name):
            result = await original(self, *args)
        _written(self._conn).clear()
        return result

    return around(original, sync)


# ------------------------------------------------------------------- asyncpg


def hook_asyncpg(module: Any, announcer: Announcer) -> None:
    """Hook what statements of connections and prepared statements go through."""
    cls = module.connection.Connection
    for name in ("execute", "_execute", "_executemany"):
        setattr(cls, name, _asyncpg_run(getattr(cls, name), announcer))
    for name in ("_PreparedStatement__bind_execute", "executemany"):
        prepared = module.prepared_stmt.PreparedStatement
        setattr(prepared, name, _asyncpg_run_prepared(getattr(prepared, name), announcer))


def _asyncpg_run(original: Any, announcer: Announcer) -> Any:
    async def run(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        text = query if isinstance(query, str) else ""
        return await _asyncpg(announcer, self, text, lambda: original(self, query, *args, **kwargs))

    return around(original, run)


def _asyncpg_run_prepared(original: Any, announcer: Announcer) -> Any:
    async def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        text = self.get_query()
        return await _asyncpg(announcer, self._connection, text, lambda: original(self, *args, **kwargs))

    return around(original, run)


async def _asyncpg(announcer: Announcer, connection: Any, text: str, run: Any) -> Any:
    statement = _Statement(announcer, connection, text, outside=not connection.is_in_transaction())
    if statement.boundary:
        async with announcer.durable_write(statement.boundary):
            result = await run()
    else:
        result = await run()
    statement.done(_row_count(result))
    return result


def _row_count(status: Any) -> int:
    """Return how many rows a status such as `INSERT 0 1` speaks of, -1 if it does not."""
    last = status.rpartition(" ")[2] if isinstance(status, str) else ""
    return int(last) if last.isdigit() else -1
