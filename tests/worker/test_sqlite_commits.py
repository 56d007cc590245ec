"""Whatever makes something durable in a SQLite file is a durable write; what writes nothing is none."""

import sys

import pytest

COMMIT = ["committing sqlite.agent.db.commit", "committed sqlite.agent.db.commit"]
OPEN = "import sqlite3\nc = sqlite3.connect('agent.db')\n"
TABLE = OPEN + "c.execute('CREATE TABLE IF NOT EXISTS t (x)')\n"

ONE_COMMIT = {
    "commit": "c.execute('INSERT INTO t VALUES (1)'); c.commit()",
    "with": "with c: c.execute('INSERT INTO t VALUES (1)')",
    "COMMIT": "c.execute('INSERT INTO t VALUES (1)'); c.execute('  commit -- now')",
    "END": "c.execute('BEGIN'); c.execute('INSERT INTO t VALUES (1)'); c.cursor().execute('/* done */ END')",
    "a cursor": "cursor = c.cursor(); cursor.executemany('INSERT INTO t VALUES (?)', [(1,), (2,)]); c.commit()",
    "autocommit": "c.isolation_level = None; c.execute('INSERT INTO t VALUES (1)')",
    "autocommit with a common table expression": "c.isolation_level = None\n"
    "c.execute('WITH n AS (SELECT 1) INSERT INTO t SELECT * FROM n')",
    "autocommit, many": "c.isolation_level = None; c.executemany('INSERT INTO t VALUES (?)', [(1,), (2,)])",
    "explicit transaction": "c.isolation_level = None\n"
    "c.execute('BEGIN IMMEDIATE'); c.execute('INSERT INTO t VALUES (1)'); c.execute('COMMIT')",
    "savepoint": "c.isolation_level = None\n"
    "for s in ('SAVEPOINT a', 'SAVEPOINT b', 'INSERT INTO t VALUES (1)', 'RELEASE b', 'RELEASE SAVEPOINT a'):\n"
    "    c.execute(s)",
    "script": "c.executescript('INSERT INTO t VALUES (\";\"); UPDATE t SET x = 2; -- the end')",
    "script after an open transaction": "c.execute('INSERT INTO t VALUES (1)'); c.executescript('SELECT 1;')",
    "DDL": "c.execute('CREATE INDEX i ON t (x)')",
    "DDL in a transaction": "c.execute('BEGIN'); c.execute('CREATE INDEX i ON t (x)'); c.commit()",
    "new column": "c.execute('ALTER TABLE t ADD COLUMN y')",
    "rolled back, then done": "c.execute('INSERT INTO t VALUES (1)'); c.rollback()\n"
    "c.execute('INSERT INTO t VALUES (1)'); c.commit()",
}

NO_COMMIT = {
    "nothing": "c.commit()\nwith c: pass",
    "reading": "with c: c.execute('SELECT * FROM t').fetchall()",
    "reading in a transaction": "c.execute('BEGIN'); c.execute('SELECT * FROM t').fetchall(); c.commit()",
    "no row": "c.execute('UPDATE t SET x = 1 WHERE x = 77'); c.commit()",
    "rollback": "c.execute('INSERT INTO t VALUES (1)'); c.rollback(); c.commit()",
    "ROLLBACK": "c.execute('INSERT INTO t VALUES (1)'); c.execute('ROLLBACK'); c.commit()",
    "an exception": "try:\n    with c: c.execute('INSERT INTO t VALUES (1)'); raise KeyError\nexcept KeyError: pass",
    "closed without a commit": "c.execute('INSERT INTO t VALUES (1)'); c.close()",
    "a table that is there": "c.execute('CREATE TABLE IF NOT EXISTS \"T\" (x)')",
    "a table that is gone": "c.execute('DROP TABLE IF EXISTS other')",
    "a column that is there": "try: c.execute('ALTER TABLE t ADD COLUMN x')\nexcept sqlite3.OperationalError: pass",
    "a script that finds its work done": "c.executescript('PRAGMA user_version; CREATE TABLE IF NOT EXISTS t (x)')",
    "temporary": "c.execute('CREATE TEMP TABLE u (x)')",
    "pragma": "c.execute('PRAGMA journal_mode=WAL')",
}


@pytest.mark.parametrize("way", ONE_COMMIT)
def test_each_way_to_commit_is_one_durable_write(supervisor, way):
    supervisor.run(TABLE + ONE_COMMIT[way] + "\nc.close()")
    assert supervisor.said() == COMMIT * 2  # the first is the table's


def test_what_writes_nothing_is_no_durable_write(supervisor):
    for number, (name, code) in enumerate(NO_COMMIT.items()):
        supervisor.messages.clear()
        supervisor.run(TABLE + code, "")
        assert supervisor.said() == (COMMIT if number == 0 else []), name


def test_rows_are_there_at_committed_and_not_at_committing(supervisor):
    import sqlite3

    def rows():
        connection = sqlite3.connect(supervisor.workspace / "agent.db")
        try:
            return connection.execute("SELECT count(*) FROM t").fetchone()[0]
        finally:
            connection.close()

    supervisor.run(TABLE)
    supervisor.messages.clear()
    supervisor.hold(lambda one: True)
    worker = supervisor.start(OPEN + "c.execute('INSERT INTO t VALUES (1)'); c.commit()")
    supervisor.wait_for_write("committing", "sqlite.agent.db.commit")
    assert rows() == 0
    supervisor.let_go_once()
    supervisor.wait_for_write("committed", "sqlite.agent.db.commit")
    assert rows() == 1
    supervisor.let_go()
    supervisor.finish(worker)


def test_databases_in_memory_are_not_durable(supervisor):
    supervisor.run(
        """
        import sqlite3
        for name, uri in ((":memory:", False), ("", False), ("file::memory:", True), ("file:x?mode=memory", True)):
            with sqlite3.connect(name, uri=uri) as connection:
                connection.execute("CREATE TABLE t (x)"); connection.execute("INSERT INTO t VALUES (1)")
        """
    )
    assert supervisor.said() == []


def test_a_uri_and_a_path_object_are_understood(supervisor):
    supervisor.run(
        """
        import sqlite3
        from pathlib import Path
        sqlite3.dbapi2.connect(Path("agent.db")).execute("CREATE TABLE t (x)")
        with sqlite3.connect("file:agent.db?mode=rw", uri=True) as connection:
            connection.execute("INSERT INTO t VALUES (1)")
        """
    )
    assert supervisor.said() == COMMIT * 2


def test_classes_of_the_user_are_respected(supervisor):
    out = supervisor.run(
        """
        import sqlite3

        class Mine(sqlite3.Connection):
            def execute(self, *args):
                print("mine", args[0][:6])
                return super().execute(*args)

            def cursor(self, factory=None):
                return super().cursor(factory or MyCursor)

        class MyCursor(sqlite3.Cursor):
            def fetchone(self):
                return ("mine", *super().fetchone())

        connection = sqlite3.connect("agent.db", 5.0, 0, "DEFERRED", True, Mine)
        connection.row_factory = sqlite3.Row
        connection.execute("CREATE TABLE t (x)")
        with connection:
            connection.execute("INSERT INTO t VALUES (1)")
        cursor = connection.cursor()
        print(isinstance(connection, Mine), isinstance(cursor, MyCursor))
        print(cursor.execute("SELECT x FROM t").fetchone())
        print(type(connection).__name__, isinstance(connection, sqlite3.Connection))
        connection.isolation_level = None
        cursor.execute("INSERT INTO t VALUES (2)")
        """
    )
    assert out == "mine CREATE\nmine INSERT\nTrue True\n('mine', 1)\nMine True\n"
    assert supervisor.said() == COMMIT * 3


def test_a_commit_that_fails_is_reported_as_failed(supervisor):
    supervisor.run(
        """
        import sqlite3
        first = sqlite3.connect("agent.db", timeout=0)
        first.execute("CREATE TABLE t (x)")
        reader = sqlite3.connect("agent.db", timeout=0)
        first.execute("INSERT INTO t VALUES (1)"); first.execute("INSERT INTO t VALUES (2)"); first.commit()
        cursor = reader.execute("SELECT * FROM t"); cursor.fetchone()
        first.execute("INSERT INTO t VALUES (3)")
        try:
            first.commit()
        except sqlite3.OperationalError as error:
            print(error)
        cursor.close()
        first.commit()
        """
    )
    assert supervisor.said() == [*COMMIT, *COMMIT, COMMIT[0], *COMMIT]
    assert [one["op"] for one in supervisor.of_type("failed")] == [supervisor.reached[4]["op"]]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the attribute is new in Python 3.12")
def test_the_autocommit_attribute_is_understood(supervisor):
    supervisor.run(
        """
        import sqlite3
        with sqlite3.connect("agent.db", autocommit=False) as c:
            c.execute("CREATE TABLE t (x)")
        c.commit()
        sqlite3.connect("agent.db", autocommit=True).execute("INSERT INTO t VALUES (1)")
        """
    )
    assert supervisor.said() == COMMIT * 2


def test_aiosqlite_parks_its_own_thread_and_not_the_loop(supervisor):
    pytest.importorskip("aiosqlite")
    supervisor.hold(lambda one: one["phase"] == "committing")
    worker = supervisor.start(
        """
        import aiosqlite, asyncio

        async def main():
            async with aiosqlite.connect("agent.db") as connection:
                creating = asyncio.ensure_future(connection.execute("CREATE TABLE t (x)"))
                for _ in range(20):
                    await asyncio.sleep(0.01)
                print("siblings ran", creating.done(), flush=True)
                await creating

        asyncio.run(main())
        """
    )
    held = supervisor.wait_for_write("committing", "sqlite.agent.db.commit")
    assert held["blocks_loop"] is False
    assert worker.stdout.readline() == "siblings ran False\n"
    supervisor.let_go()
    supervisor.finish(worker)
    assert supervisor.said() == COMMIT


def test_sqlalchemy_is_announced_through_the_driver(supervisor):
    pytest.importorskip("sqlalchemy")
    supervisor.run(
        """
        import sqlalchemy
        engine = sqlalchemy.create_engine("sqlite:///agent.db")
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text("CREATE TABLE t (x)"))
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text("INSERT INTO t VALUES (1)"))
        """
    )
    assert supervisor.said() == COMMIT * 2
