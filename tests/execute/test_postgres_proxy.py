"""The proxy before a real PostgreSQL: clients notice nothing, what is durable is announced, the dead hold nothing."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from needs import need, needed
from ways_to_commit import (
    ASYNC_PSYCOPG,
    ASYNC_PSYCOPG_WAYS,
    ASYNCPG,
    ASYNCPG_NOTHING,
    ASYNCPG_WAYS,
    COMMIT,
    PSYCOPG,
    PSYCOPG_NOTHING,
    PSYCOPG_WAYS,
)

from ackgap.execute.pgwire.frames import message
from ackgap.execute.services.household import Household, check_services
from ackgap.execute.services.postgres_wire import PostgresWire
from ackgap.scenario.services import ServiceSpec
from ackgap.target.ports import Severed

pytestmark = pytest.mark.slow

LIMIT_S = 30.0
SYNC = message(b"S")


class Door:
    """Stands in for the gatekeeper: every connection is life 1's, which can be killed at a point."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.dead = False
        self.kill_at = ""
        self.parked = threading.Event()

    def incarnation_of(self, peer_port: int, local_port: int) -> int | None:
        return 1

    def is_over(self, incarnation: int) -> bool:
        return self.dead

    async def _stand(self, point: str) -> None:
        self.said.append(point)
        if point == self.kill_at:
            self.parked.set()
            while not self.dead:  # noqa: ASYNC110 - the test's own thread says so
                await asyncio.sleep(0.002)
        if self.dead:
            raise Severed

    async def committing(self, incarnation: int, write: tuple[int, int], name: str) -> None:
        await self._stand(f"committing {name}")
        self.name = name

    async def committed(self, incarnation: int, write: tuple[int, int]) -> None:
        await self._stand(f"committed {self.name}")

    def failed(self, incarnation: int, write: tuple[int, int], *, gave_up: bool = False) -> None:
        self.said.append("gave up" if gave_up else "failed")


class Notes:
    def record(self, kind: type, /, **values: str) -> None:
        pass


class Server:
    """A service with its proxy, and what was announced there."""

    def __init__(self, household: Household) -> None:
        self.household = household
        self.url = household.names["db.url"]
        self.port = int(household.names["db.port"])
        self.authority = household.names["db.ca"]
        self.service = household._services[0]
        self.door = Door()
        self.raws: list[Raw] = []

    def fresh(self) -> None:
        self.household.announce_to(None)
        self.service._proxy.renew()
        asyncio.run(self.household.drain())
        self.ask("DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP ROLE IF EXISTS someone")
        self.ask("CREATE TABLE a (x int PRIMARY KEY); CREATE TABLE b (x int, y text)")
        self.door = Door()
        self.household.announce_to(self.door)

    def raw(self, *, start: bool = True) -> Raw:
        self.raws.append(Raw(self.port, start=start))
        return self.raws[-1]

    def ask(self, sql: str) -> list[tuple[str | None, ...]]:
        """Ask the server itself."""
        with PostgresWire(host="127.0.0.1", port=self.service._port, user="postgres", database="ackgap") as wire:
            return wire.ask(sql)

    def backends(self) -> int:
        others = "backend_type = 'client backend' AND datname = 'ackgap' AND pid <> pg_backend_pid()"
        return int(self.ask(f"SELECT count(*) FROM pg_stat_activity WHERE {others}")[0][0] or 0)

    def drain(self) -> float:
        """Wait as before the next life; return the seconds that it took."""
        began_s = time.monotonic()
        asyncio.run(self.household.drain())
        return time.monotonic() - began_s

    @property
    def said(self) -> list[str]:
        return self.door.said


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    spec = ServiceSpec(name="db", kind="postgres", wire=True, park=("insert into b",))
    with needed():
        check_services([spec])
    directory = tmp_path_factory.mktemp("proxy")
    household = Household((spec,), directory=directory, run_token="token", label=f"proxy_{os.getpid()}")
    household.renew(Notes())
    try:
        yield Server(household)
    finally:
        household.stop()


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    running.fresh()
    yield running
    while running.raws:
        running.raws.pop().socket.close()


class Raw:
    """A client that says single bytes.

    Args:
        port: Of the server.
        start: Log in at once.
    """

    def __init__(self, port: int, *, start: bool = True) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        if start:
            try:
                self.start()
            except BaseException:
                self.socket.close()
                raise

    def start(self) -> None:
        words = b"user\0postgres\0database\0ackgap\0\0"
        self.socket.sendall(struct.pack(">II", len(words) + 8, 3 << 16) + words)
        self.until(b"Z")

    def exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def receive(self) -> tuple[bytes, bytes]:
        head = self.exactly(5)
        return head[:1], self.exactly(struct.unpack(">I", head[1:])[0] - 4)

    def until(self, kind: bytes) -> list[tuple[bytes, bytes]]:
        got = [self.receive()]
        while got[-1][0] != kind:
            got.append(self.receive())
        return got

    def query(self, text: str) -> list[tuple[bytes, bytes]]:
        self.socket.sendall(message(b"Q", text.encode() + b"\0"))
        return self.until(b"Z")


def killed_at(server: Server, point: str, act: Callable[[], object]) -> None:
    """Kill the life while `act` stands parked at a point."""
    server.door.kill_at = point

    def acts() -> None:
        with pytest.raises((EOFError, OSError)):
            act()

    thread = threading.Thread(target=acts)
    thread.start()
    assert server.door.parked.wait(LIMIT_S)
    server.door.dead = True
    thread.join(LIMIT_S)
    assert not thread.is_alive()


@pytest.mark.parametrize(("phase", "rows"), [("committing", "0"), ("committed", "1")])
@pytest.mark.parametrize("how", ["query", "block", "extended", "copy"])
def test_killed_before_it_was_asked_nothing_is_there_and_killed_before_the_answer_all_is(server, how, phase, rows):
    raw = server.raw()
    if how == "block":
        raw.query("BEGIN; INSERT INTO a VALUES (1)")
    if how == "copy":
        raw.socket.sendall(message(b"Q", b"COPY a FROM STDIN\0"))
        raw.until(b"G")

    def act() -> None:
        if how == "copy":
            raw.socket.sendall(message(b"d", b"1\n") + message(b"c"))
        elif how == "extended":
            bind = message(b"B", b"\0\0\0\0\0\0\0\0")
            raw.socket.sendall(
                message(b"P", b"\0INSERT INTO a VALUES (1)\0\0\0") + bind + message(b"E", b"\0" * 5) + SYNC
            )
        else:
            raw.socket.sendall(message(b"Q", b"COMMIT\0" if how == "block" else b"INSERT INTO a VALUES (1)\0"))
        while raw.receive()[0] not in b"CZ":
            pass

    killed_at(server, f"{phase} pg.a.commit", act)
    assert server.drain() < 1.5
    assert server.ask("SELECT count(*) FROM a") == [(rows,)]
    assert server.backends() == 0


def test_a_dead_life_keeps_no_lock_and_the_next_one_gets_it_at_once(server):
    holder, waiter = server.raw(), server.raw()
    holder.query("SELECT pg_advisory_lock(7); BEGIN; INSERT INTO a VALUES (1); SELECT * FROM b FOR UPDATE")
    holder.socket.sendall(message(b"Q", b"SELECT pg_sleep(60)\0"))  # in its block, and nobody will ask it to commit
    waiter.query("BEGIN")
    waiter.socket.sendall(message(b"Q", b"SELECT pg_advisory_lock(7)\0"))
    while server.ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") != [("1",)]:
        pass
    server.door.dead = True
    assert server.drain() < 1.5
    assert server.backends() == 0
    server.door.dead = False
    next_life = server.raw()
    rows = next_life.query("SET lock_timeout = '1ms'; SELECT pg_try_advisory_lock(7); INSERT INTO a VALUES (1)")
    assert (b"D", struct.pack(">HI", 1, 1) + b"t") in rows
    assert [kind for kind, _ in rows if kind == b"E"] == []


def test_a_commit_that_is_under_way_is_carried_out_and_known_before_the_next_life(server):
    server.ask("""
        CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.7); RETURN NULL; END';
        CREATE CONSTRAINT TRIGGER t AFTER INSERT ON a DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION slowly()
    """)
    raw = server.raw()
    raw.query("BEGIN; INSERT INTO a VALUES (1)")
    raw.socket.sendall(message(b"Q", b"COMMIT\0"))
    while not server.ask("SELECT 1 FROM pg_stat_activity WHERE query = 'COMMIT' AND state = 'active'"):
        pass
    server.door.dead = True
    server.drain()
    assert server.backends() == 0
    assert server.ask("SELECT count(*) FROM a") == [("1",)]


def test_a_client_that_does_not_wait_while_it_stands_parked_is_told_of_and_nothing_becomes_durable(server):
    server.door.kill_at = "committing pg.a.commit"
    raw = server.raw()
    raw.socket.sendall(message(b"Q", b"INSERT INTO a VALUES (1)\0"))
    assert server.door.parked.wait(LIMIT_S)
    raw.socket.close()
    ends_s = time.monotonic() + LIMIT_S
    while server.said[-1] != "gave up" and time.monotonic() < ends_s:
        pass
    assert server.said == ["committing pg.a.commit", "gave up"]
    server.door.dead = True
    server.drain()
    assert server.ask("SELECT count(*) FROM a") == [("0",)]


def test_passers_by_are_not_announced(server):
    server.household.announce_to(None)
    with PostgresWire(host="127.0.0.1", port=server.port, user="postgres", database="ackgap") as wire:
        wire.ask("INSERT INTO a VALUES (1)")
    assert server.said == []
    assert server.ask("SELECT x FROM a") == [("1",)]


def both(*names: str) -> list[str]:
    return [f"{phase} {name}" for name in names for phase in ("committing", "committed")]


def test_psycopg_notices_nothing_and_its_commits_have_the_names_that_its_hook_gives(server):
    need("psycopg", hint="pip install 'psycopg[binary]'")
    import psycopg

    with psycopg.connect(server.url) as connection:
        connection.execute("INSERT INTO a VALUES (1)")
        connection.execute("UPDATE b SET y = 'none there'")
        connection.commit()
        assert connection.execute("SELECT x FROM a").fetchall() == [(1,)]
        connection.rollback()
        with connection.transaction():
            connection.execute("DELETE FROM a")
        connection.autocommit = True
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("INSERT INTO missing VALUES (1)")
        with connection.pipeline():
            connection.execute("INSERT INTO a VALUES (%s)", (2,))
            connection.execute("INSERT INTO a VALUES (%s)", (3,))
        with connection.cursor().copy("COPY a FROM STDIN") as copy:
            copy.write_row((4,))
        with pytest.raises(psycopg.errors.UniqueViolation), connection.cursor().copy("COPY a FROM STDIN") as copy:
            copy.write_row((4,))
        connection.execute("SELECT x FROM a")
        with connection.cursor().copy("COPY (SELECT x FROM a ORDER BY x) TO STDOUT") as copy:
            assert b"".join(copy) == b"2\n3\n4\n"
        rows = connection.cursor(name="big", withhold=True)
        rows.execute("SELECT repeat('x', 1000) FROM generate_series(1, 3000)")
        assert sum(len(text) for (text,) in rows) == 3_000_000
        rows.close()
    assert server.said == [
        *both("pg.a.commit"),
        *both("pg.a.commit"),
        "committing pg.missing.commit",
        "failed",
        *both("pg.a.commit"),
        *both("pg.a.commit"),
        "committing pg.a.commit",
        "failed",
    ]
    assert server.ask("SELECT x FROM a ORDER BY x") == [("2",), ("3",), ("4",)]


@pytest.mark.parametrize(
    ("frame", "ways", "expected"),
    [
        ("psycopg", PSYCOPG_WAYS, COMMIT),
        ("psycopg", PSYCOPG_NOTHING, []),
        ("asynchronous psycopg", ASYNC_PSYCOPG_WAYS, COMMIT),
        ("asyncpg", ASYNCPG_WAYS, COMMIT),
        ("asyncpg", ASYNCPG_NOTHING, []),
    ],
)
def test_each_way_to_commit_is_the_boundary_that_the_hook_makes_of_it(server, monkeypatch, frame, ways, expected):
    need("psycopg", "asyncpg", hint="pip install 'psycopg[binary]' asyncpg")
    monkeypatch.setenv("DATABASE_URL", server.url)
    server.ask("CREATE TABLE t (x int); CREATE TABLE other (x int); INSERT INTO t VALUES (1)")
    found = {}
    for name, way in ways.items():
        server.said.clear()
        if frame == "psycopg":
            exec(f"{PSYCOPG}\n{way}\nc.close()", {})
        else:
            exec((ASYNCPG if frame == "asyncpg" else ASYNC_PSYCOPG).format(code=way), {})
        found[name] = [point for point in server.said if point != "failed"]
    assert found == dict.fromkeys(ways, expected)


def test_a_driver_that_no_hook_looks_into_is_understood_too(server):
    need("psycopg2", hint="pip install psycopg2-binary")
    import psycopg2

    with contextlib.closing(psycopg2.connect(server.url)) as connection:
        with connection, connection.cursor() as cursor:
            cursor.executemany("INSERT INTO a VALUES (%s)", [(1,), (2,)])
            cursor.copy_expert("COPY a FROM STDIN", io.StringIO("3\n"))
        with pytest.raises(psycopg2.errors.UniqueViolation), connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO a VALUES (1)")
        connection.tpc_begin(connection.xid(1, "both", "phases"))
        connection.cursor().execute("DELETE FROM a WHERE x = 1")
        connection.tpc_prepare()
        connection.tpc_commit()
        connection.autocommit = True
        connection.cursor().execute("TRUNCATE b")
    assert server.said == both("pg.a.commit", "pg.a.prepare", "pg.a.commit_prepared", "pg.b.commit")
    assert server.ask("SELECT x FROM a ORDER BY x") == [("2",), ("3",)]


def test_asyncpg_notices_nothing(server):
    need("asyncpg", hint="pip install asyncpg")
    import asyncpg

    async def work() -> None:
        pool = await asyncpg.create_pool(server.url, min_size=2, max_size=3)
        async with pool.acquire() as connection, connection.transaction():
            await connection.execute("INSERT INTO a VALUES ($1)", 1)
            with pytest.raises(asyncpg.UniqueViolationError):
                async with connection.transaction():
                    await connection.execute("INSERT INTO a VALUES ($1)", 1)
        await pool.execute("INSERT INTO a VALUES ($1)", 2)
        await pool.executemany("INSERT INTO a VALUES ($1)", [(3,), (4,)])
        await pool.copy_records_to_table("a", records=[(5,)])
        async with pool.acquire() as connection, connection.transaction():
            assert [row["x"] async for row in connection.cursor("SELECT x FROM a ORDER BY x")] == [1, 2, 3, 4, 5]
        heard: asyncio.Queue[str] = asyncio.Queue()
        async with pool.acquire() as connection:
            listener = lambda *said: heard.put_nowait(said[-1])  # noqa: E731
            await connection.add_listener("work", listener)
            await pool.execute("SELECT pg_notify('work', 'come')")
            assert await asyncio.wait_for(heard.get(), LIMIT_S) == "come"
            await connection.remove_listener("work", listener)
        with pytest.raises(asyncio.TimeoutError):
            await pool.fetch("SELECT pg_sleep(60)", timeout=0.2)  # which asyncpg ends by a request to cancel
        assert await pool.fetchval("SELECT 1") == 1
        await pool.close()

    asyncio.run(work())
    assert server.said == both(*["pg.a.commit"] * 4)


@pytest.mark.parametrize("mode", ["verify-full", "require", "prefer", "disable"])
def test_clients_that_want_tls_get_it(server, mode):
    need("psycopg", hint="pip install 'psycopg[binary]'")
    import psycopg

    with psycopg.connect(server.url, sslmode=mode, sslrootcert=server.authority) as connection:
        assert connection.pgconn.ssl_in_use is (mode != "disable")
        connection.execute("INSERT INTO b VALUES (1, %s)", ("x" * 300_000,))
        connection.commit()
        assert connection.execute("SELECT length(y) FROM b").fetchone() == (300_000,)
    assert server.said == both("pg.insert_into_b.statement", "pg.b.commit")


def test_an_answer_of_any_size_is_said_whole_under_tls(server):
    need("psycopg", hint="pip install 'psycopg[binary]'")
    import psycopg

    with psycopg.connect(server.url, sslmode="require") as connection:
        (text,) = connection.execute("SELECT repeat('x', 1000000)").fetchone()
    assert len(text) == 1_000_000


def test_a_password_is_proven_under_tls_although_no_channel_binding_is_offered(server):
    need("psycopg", hint="pip install 'psycopg[binary]'")
    import psycopg

    server.ask("SET password_encryption = 'scram-sha-256'; CREATE ROLE someone LOGIN PASSWORD 'pass'")
    hba = Path(str(server.ask("SHOW data_directory")[0][0])) / "pg_hba.conf"
    before = hba.read_text()
    hba.write_text("host all someone 127.0.0.1/32 scram-sha-256\n" + before)
    server.ask("SELECT pg_reload_conf()")
    url = f"postgresql://someone:pass@127.0.0.1:{server.port}/ackgap?sslmode=require"
    try:
        with psycopg.connect(url) as connection:
            assert connection.pgconn.ssl_in_use
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(url.replace("pass@", "wrong@"))
        with pytest.raises(psycopg.OperationalError, match="channel binding"):
            psycopg.connect(url + "&channel_binding=require")
    finally:
        hba.write_text(before)
        server.ask("SELECT pg_reload_conf()")


def test_a_server_that_was_given_by_its_url_is_understood_on_the_wire_too(server, tmp_path):
    server.ask("CREATE ROLE someone CREATEDB LOGIN PASSWORD 'pass'")
    url = f"postgresql://someone:pass@127.0.0.1:{server.service._port}/ackgap"
    spec = ServiceSpec(name="theirs", kind="postgres", url=url, wire=True)
    household = Household((spec,), directory=tmp_path, run_token="token", label="given")
    household.renew(Notes())
    try:
        household.announce_to(door := Door())
        names = household.names
        port, database = int(names["theirs.port"]), names["theirs.database"]
        with PostgresWire(host="127.0.0.1", port=port, user="someone", password="pass", database=database) as wire:
            wire.ask("CREATE TABLE t (x int)")
        assert door.said == both("pg.create_t.commit")
    finally:
        household.stop()


def test_tls_may_begin_at_once(server):
    context = ssl.create_default_context(cafile=server.authority)
    context.set_alpn_protocols(["postgresql"])
    raw = server.raw(start=False)
    raw.socket = context.wrap_socket(raw.socket, server_hostname="localhost")
    assert raw.socket.selected_alpn_protocol() == "postgresql"
    raw.start()
    assert raw.query("INSERT INTO a VALUES (1)")[0][0] == b"C"
    assert server.said == both("pg.a.commit")


def test_encryption_that_nobody_speaks_is_declined_and_the_connection_goes_on(server):
    raw = server.raw(start=False)
    raw.socket.sendall(struct.pack(">II", 8, 80877104))
    assert raw.exactly(1) == b"N"
    raw.start()
    assert raw.query("SELECT 1")[-1] == (b"Z", b"I")


def test_a_statement_is_cancelled_by_another_connection(server):
    raw = server.raw(start=False)
    words = b"user\0postgres\0database\0ackgap\0\0"
    raw.socket.sendall(struct.pack(">II", len(words) + 8, 3 << 16) + words)
    (key,) = [body for kind, body in raw.until(b"Z") if kind == b"K"]
    raw.socket.sendall(message(b"Q", b"SELECT pg_sleep(60)\0"))
    while not server.ask("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'"):
        pass
    other = server.raw(start=False)
    other.socket.sendall(struct.pack(">II", 16, 80877102) + key)
    assert other.socket.recv(1) == b""
    assert [kind for kind, _ in raw.until(b"Z")][-2] == b"E"


def test_large_and_split_messages_pass_unchanged(server):
    raw = server.raw()
    text = "INSERT INTO a VALUES (1)"
    data = message(b"Q", text.encode() + b"\0")
    for byte in data:
        raw.socket.sendall(bytes([byte]))
    assert raw.until(b"Z")[0] == (b"C", b"INSERT 0 1\0")
    big = "y" * 3_000_000
    assert raw.query(f"INSERT INTO b VALUES (1, '{big}')")[0] == (b"C", b"INSERT 0 1\0")
    (row,) = [body for kind, body in raw.query("SELECT y FROM b") if kind == b"D"]
    assert row[6:] == big.encode()
    assert server.said == both("pg.a.commit", "pg.b.commit")


@pytest.mark.parametrize(
    ("data", "logged_in"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", False),
        (b"\0\0\0\3", False),
        (struct.pack(">II", 8, 80877103) + b"smuggled", False),
        (b"\x16\x03\x01\0\5nothi", False),
        (struct.pack(">II", 9, 2 << 16) + b"\0", False),
        (b"Z\0\0\0\5I", True),
        (b"Q\0\0\0\0", True),
        (b"\0" * 64, True),
    ],
)
def test_a_client_that_speaks_something_else_is_told_so_and_cut_off(server, data, logged_in):
    raw = server.raw(start=logged_in)
    raw.socket.sendall(data)
    if data[:4] == b"\0\0\0\3":
        raw.socket.sendall(b"\0" * 8)
    answer = b""
    while piece := raw.socket.recv(4096):
        answer += piece
    assert data[:1] == b"\x16" or b"ackgap: " in answer
    assert server.raw().query("SELECT 1")[-1] == (b"Z", b"I"), "others are served"


def test_a_server_that_is_down_refuses_and_comes_back_with_what_it_has_kept(server):
    raw = server.raw()
    raw.query("INSERT INTO a VALUES (1)")
    server.household.go_away("db")
    with pytest.raises((EOFError, OSError)):
        raw.query("SELECT 1")
    with pytest.raises(ConnectionRefusedError):
        server.raw()
    asyncio.run(server.household.come_back("db"))
    assert (b"D", struct.pack(">HI", 1, 1) + b"1") in server.raw().query("SELECT x FROM a")


def test_rows_come_through_about_as_fast_as_the_client_takes_them(server):
    code = f"""
        import sys, time
        sys.path[:0] = {sys.path!r}
        from ackgap.execute.services.postgres_wire import PostgresWire
        wire = PostgresWire(host="127.0.0.1", port=int(sys.argv[1]), user="postgres", database="ackgap")
        began = time.monotonic()
        assert len(wire.ask("SELECT repeat('x', 400) FROM generate_series(1, 20000)")) == 20000
        print(time.monotonic() - began)
    """.replace("        ", "")

    def seconds(port: int) -> float:
        done = subprocess.run([sys.executable, "-c", code, str(port)], capture_output=True, text=True, check=True)
        return float(done.stdout)

    assert seconds(server.port) < 5 * seconds(server.service._port) + 1.0
