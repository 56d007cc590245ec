"""Whatever makes something durable in PostgreSQL is a durable write, named after what it writes to."""

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

from ackgap.execute.services.postgres import OwnPostgres, find_binaries
from ackgap.execute.services.service import Place
from ackgap.scenario.services import ServiceSpec

pytestmark = pytest.mark.slow

DRIVERS = "pip install 'psycopg[binary]' asyncpg"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with needed():
        find_binaries()
    directory = tmp_path_factory.mktemp("postgres")
    place = Place(directory=directory, run_token="test", label="t", fill=str, above=())
    service = OwnPostgres(ServiceSpec(name="db", kind="postgres"), place)
    service.start()
    yield service
    service.stop()


@pytest.fixture
def database(server):
    server.renew()
    with server._connect(server.parts()["database"]) as wire:
        wire.ask("CREATE TABLE t (x int); CREATE TABLE other (x int); INSERT INTO t VALUES (1)")
    return server.parts()["url"]


def said(supervisor, code, database):
    supervisor.messages.clear()
    supervisor.run(code, DATABASE_URL=database)
    return supervisor.said()


def test_each_way_to_commit_by_psycopg_is_one_durable_write(supervisor, database):
    need("psycopg", hint=DRIVERS)
    for name, code in PSYCOPG_WAYS.items():
        assert said(supervisor, PSYCOPG + code, database) == COMMIT, name


def test_what_writes_nothing_by_psycopg_is_no_durable_write(supervisor, database):
    need("psycopg", hint=DRIVERS)
    for name, code in PSYCOPG_NOTHING.items():
        assert said(supervisor, PSYCOPG + code, database) == [], name


def test_each_way_to_commit_by_asynchronous_psycopg_is_one_durable_write(supervisor, database):
    need("psycopg", hint=DRIVERS)
    for name, code in ASYNC_PSYCOPG_WAYS.items():
        assert said(supervisor, ASYNC_PSYCOPG.format(code=code), database) == COMMIT, name


def test_each_way_to_commit_by_asyncpg_is_one_durable_write(supervisor, database):
    need("asyncpg", hint=DRIVERS)
    for name, code in ASYNCPG_WAYS.items():
        assert said(supervisor, ASYNCPG.format(code=code), database) == COMMIT, name
    for name, code in ASYNCPG_NOTHING.items():
        assert said(supervisor, ASYNCPG.format(code=code), database) == [], name


def test_a_commit_is_named_after_all_that_was_written(supervisor, database):
    need("psycopg", hint=DRIVERS)
    code = "c.execute('CREATE TABLE IF NOT EXISTS u (x int)')\nc.execute('UPDATE ONLY public.t SET x = 3')\nc.commit()"
    assert said(supervisor, PSYCOPG + code, database)[0] == "committing pg.create_u+t.commit"


def test_rows_are_there_at_committed_and_not_at_committing(supervisor, database, server):
    need("psycopg", hint=DRIVERS)

    def rows():
        with server._connect("ackgap") as wire:
            return wire.ask("SELECT count(*) FROM t")[0][0]

    before = server.digest()
    supervisor.hold(lambda one: True)
    worker = supervisor.start(PSYCOPG + PSYCOPG_WAYS["commit"], DATABASE_URL=database)
    supervisor.wait_for_write("committing", "pg.t.commit")
    assert (rows(), server.digest()) == ("1", before)
    supervisor.let_go_once()
    supervisor.wait_for_write("committed", "pg.t.commit")
    assert rows() == "2"
    assert server.digest() != before
    supervisor.let_go()
    supervisor.finish(worker)


def test_what_a_proxy_before_the_server_announces_no_hook_announces_again(supervisor, database):
    need("psycopg", "asyncpg", hint=DRIVERS)
    address = database.partition("@")[2].partition("/")[0]
    everything = (
        *(PSYCOPG + code for code in ("c.execute('INSERT INTO t VALUES (1)'); c.commit()", PSYCOPG_WAYS["a pipeline"])),
        ASYNC_PSYCOPG.format(code=ASYNC_PSYCOPG_WAYS["a transaction block"]),
        ASYNCPG.format(code=ASYNCPG_WAYS["execute"]),
    )
    for addresses, expected in (([address], []), (["127.0.0.1:1"], COMMIT)):
        supervisor.config = {"wire": addresses}
        assert [said(supervisor, code, database) for code in everything] == [expected] * len(everything)
