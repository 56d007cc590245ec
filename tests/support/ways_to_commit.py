"""Ways to make something durable in PostgreSQL from Python, and ways that make nothing durable, by what they are."""

from __future__ import annotations

__all__ = [
    "ASYNCPG",
    "ASYNCPG_NOTHING",
    "ASYNCPG_WAYS",
    "ASYNC_PSYCOPG",
    "ASYNC_PSYCOPG_WAYS",
    "COMMIT",
    "PSYCOPG",
    "PSYCOPG_NOTHING",
    "PSYCOPG_WAYS",
]

COMMIT = ["committing pg.t.commit", "committed pg.t.commit"]

PSYCOPG = """
import os, psycopg
from psycopg import sql
url = os.environ["DATABASE_URL"]
c = psycopg.connect(url)
"""
PSYCOPG_WAYS = {
    "commit": "c.execute('INSERT INTO t VALUES (1)'); c.commit()",
    "with": "with c: c.execute('INSERT INTO t VALUES (1)')",
    "COMMIT": "c.execute('INSERT INTO t VALUES (1)'); c.execute('commit')",
    "a cursor": "with c.cursor() as cursor: cursor.executemany('INSERT INTO t VALUES (%s)', [(1,), (2,)])\nc.commit()",
    "composed SQL": "c.execute(sql.SQL('INSERT INTO {} VALUES (1)').format(sql.Identifier('public', 't'))); c.commit()",
    "bytes": "c.execute(b'INSERT INTO t VALUES (1)'); c.commit()",
    "autocommit": "c.autocommit = True; c.execute('INSERT INTO t VALUES (1)')",
    "autocommit, many": "c.autocommit = True\n"
    "with c.cursor() as cursor: cursor.executemany('INSERT INTO t VALUES (%s)', [(1,), (2,)])",
    "a script": "c.autocommit = True; c.execute('BEGIN; INSERT INTO t VALUES (1); COMMIT')",
    "a transaction block": "c.autocommit = True\nwith c.transaction():\n"
    "    with c.transaction(): c.execute('UPDATE t SET x = 2')\n    c.execute('INSERT INTO t VALUES (1)')",
    "a pipeline": "c.autocommit = True\nwith c.pipeline():\n"
    "    c.execute('INSERT INTO t VALUES (1)'); c.execute('INSERT INTO t VALUES (2)')",
    "an upsert": "c.execute('INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING'); c.commit()",
    "a common table expression": "c.execute('WITH n AS (SELECT 1) INSERT INTO t SELECT * FROM n'); c.commit()",
    "rolled back, then done": "c.execute('DELETE FROM other'); c.rollback()\n"
    "c.execute('INSERT INTO t VALUES (1)'); c.commit()",
    "beside reads": "c.execute('SELECT * FROM t FOR UPDATE'); c.execute('INSERT INTO t VALUES (1)'); c.commit()",
}
PSYCOPG_NOTHING = {
    "nothing": "c.commit()\nwith c.transaction(): pass",
    "reading": "c.execute('SELECT 1 FROM t FOR UPDATE'); c.commit()",
    "no row": "c.execute('UPDATE t SET x = 1 WHERE x = 77'); c.commit()",
    "rollback": "c.execute('INSERT INTO t VALUES (1)'); c.rollback(); c.commit()",
    "ROLLBACK": "c.execute('INSERT INTO t VALUES (1)'); c.execute('ROLLBACK'); c.commit()",
    "an exception": "try:\n    with c.transaction(): c.execute('INSERT INTO t VALUES (1)'); raise KeyError\n"
    "except KeyError: c.commit()",
    "a failed transaction": "c.execute('INSERT INTO t VALUES (1)')\ntry: c.execute('SELECT nonsense')\n"
    "except psycopg.Error: c.commit()",
    "a text that looks like a write": "c.execute(\"SELECT 'INSERT INTO t'\"); c.commit()",
}
ASYNC_PSYCOPG = """
import asyncio, os, psycopg
async def main():
    c = await psycopg.AsyncConnection.connect(os.environ["DATABASE_URL"])
    {code}
    await c.close()
asyncio.run(main())
"""
ASYNC_PSYCOPG_WAYS = {
    "commit": "await c.execute('INSERT INTO t VALUES (1)'); await c.commit()",
    "autocommit": "await c.set_autocommit(True); await c.execute('INSERT INTO t VALUES (1)')",
    "a transaction block": "await c.set_autocommit(True)\n"
    "    async with c.transaction(): await c.execute('INSERT INTO t VALUES (1)')",
    "a pipeline": "await c.set_autocommit(True)\n"
    "    async with c.pipeline(): await c.execute('INSERT INTO t VALUES (1)')",
}
ASYNCPG = """
import asyncio, os, asyncpg
async def main():
    c = await asyncpg.connect(os.environ["DATABASE_URL"])
    {code}
    await c.close()
asyncio.run(main())
"""
ASYNCPG_WAYS = {
    "execute": "await c.execute('INSERT INTO t VALUES (1)')",
    "with arguments": "await c.execute('INSERT INTO t VALUES ($1)', 1)",
    "returning": "assert await c.fetchval('INSERT INTO t VALUES (1) RETURNING x') == 1",
    "many": "await c.executemany('INSERT INTO t VALUES ($1)', [(1,), (2,)])",
    "a prepared statement": "s = await c.prepare('INSERT INTO t VALUES ($1)'); await s.fetch(1)",
    "a transaction": "async with c.transaction():\n"
    "        await c.execute('INSERT INTO t VALUES (1)'); await c.execute('INSERT INTO t VALUES (2)')",
    "nested transactions": "async with c.transaction():\n"
    "        async with c.transaction(): await c.execute('INSERT INTO t VALUES (1)')",
}
ASYNCPG_NOTHING = {
    "reading": "await c.fetch('SELECT * FROM t FOR UPDATE')",
    "no row": "async with c.transaction(): await c.execute('DELETE FROM t WHERE x = 77')",
    "rolled back": "t = c.transaction(); await t.start()\n"
    "    await c.execute('INSERT INTO t VALUES (1)'); await t.rollback()",
}
