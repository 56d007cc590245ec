"""PostgreSQL: a throw-away cluster made from installed binaries, or databases of our own on a server of the user's.

A cluster of ours keeps nothing that a crash of the machine could take (no fsync): what is tested is the death of the
worker, and what a process has written survives that. Before each cell all databases are dropped and one is made anew
under the same name.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from ackgap.errors import EnvironmentLacks, HarnessFailed
from ackgap.execute.services.daemon import Daemon, Daemonised, Identity, before_exec, free_port, harmless_identity
from ackgap.execute.services.postgres_digest import PostgresDigest
from ackgap.execute.services.postgres_proxy import PostgresProxy
from ackgap.execute.services.postgres_wire import Login, PostgresRefused, PostgresWire
from ackgap.execute.services.service import Door, Place
from ackgap.scenario.services import ServiceSpec

__all__ = ["OwnPostgres", "UsersPostgres", "find_binaries", "postgres"]

_DATABASE = "ackgap"
_USER = "postgres"
_START_LIMIT_S = 60.0
_DRAIN_LIMIT_S = 2.0
_HOMES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/opt/postgresql@*/bin",
)
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "shared_buffers": "32MB",
    "max_connections": "100",
    "dynamic_shared_memory_type": "mmap",  # inside its directory, so that nothing is left when it is killed
    "log_min_messages": "warning",
    "log_destination": "stderr",
    "logging_collector": "off",
    "max_prepared_transactions": "10",
}


def find_binaries() -> Path:
    """Return the directory with `postgres` and `initdb`: that on PATH, else the newest version's.

    Raises:
        EnvironmentLacks: PostgreSQL is not installed.
    """
    found = shutil.which("postgres")
    if found is not None and shutil.which("initdb", path=str(Path(found).resolve().parent)):
        return Path(found).resolve().parent
    candidates = [path for pattern in _HOMES for path in Path("/").glob(pattern[1:]) if (path / "initdb").exists()]
    if not candidates:
        raise EnvironmentLacks(
            "PostgreSQL is not installed: there is no `postgres` on PATH or in /usr/lib/postgresql/*/bin",
            where="kind = 'postgres'",
            next_step="apt-get install postgresql (or brew install postgresql@17), or give the url of a server",
        )
    return max(candidates, key=lambda path: [int(part) for part in re.findall(r"\d+", str(path))])


def postgres(spec: ServiceSpec, place: Place) -> OwnPostgres | UsersPostgres:
    """Return the service that a specification asks for."""
    return OwnPostgres(spec, place) if spec.url is None else UsersPostgres(spec, place)


class _Postgres:
    """What is the same whoever has started the server."""

    def __init__(
        self,
        spec: ServiceSpec,
        place: Place,
        *,
        host: str,
        port: int,
        user: str,
        password: str,
        home: str,
        database: str,
    ) -> None:
        self.name = spec.name
        self._proxy = (
            PostgresProxy(free_port(), (host, port), authority=place.directory / "ca.pem", park=spec.park)
            if spec.wire
            else None
        )
        self._host = host
        self._port = port
        self._user = user
        self._password = password
        self._database = database
        self._digest = PostgresDigest(self._connect, self._databases, home)

    def parts(self) -> Mapping[str, str]:
        """Return its placeholders."""
        secret = f":{quote(self._password, safe='')}" if self._password else ""
        host, port = (self._host, self._port) if self._proxy is None else ("127.0.0.1", self._proxy.port)
        parts = {
            "url": f"postgresql://{quote(self._user, safe='')}{secret}@{host}:{port}/{self._database}",
            "host": host,
            "port": str(port),
            "database": self._database,
            "user": self._user,
        }
        return parts if self._proxy is None else {**parts, "ca": str(self._proxy.authority)}

    @property
    def wire(self) -> int:
        """The port on which what the worker says is understood and announced; 0 where it speaks to the server."""
        return 0 if self._proxy is None else self._proxy.port

    def announce_to(self, door: Door | None) -> None:
        """Say where commits are announced from now on."""
        if self._proxy is not None:
            self._proxy.door = door

    def renew(self) -> None:
        """Drop every database of ours, and make the one that the worker is told of.

        Raises:
            HarnessFailed: The server refuses.
        """
        self._digest.forget()
        if self._proxy is not None:
            self._proxy.renew()
        try:
            wire = self._digest.home()
            for database in self._databases(wire):
                wire.ask(f"DROP DATABASE IF EXISTS {_quoted(database)} WITH (FORCE)")
            self._drop_roles(wire)
            wire.ask(f"CREATE DATABASE {_quoted(self._database)} TEMPLATE template0")
        except PostgresRefused as error:
            self._digest.close()
            raise HarnessFailed(
                f"the service {self.name} could not be made as new: {error}",
                where=f"{self._host}:{self._port}",
                next_step="the user in its url must be allowed to create databases (CREATEDB); needs PostgreSQL 13",
            ) from error

    def digest(self) -> str | None:
        """Return a digest of what has been committed."""
        return self._digest.digest()

    async def drain(self) -> None:
        """Wait until the server has noticed that the connections of the dead are gone, and rolled back their work.

        A statement that had been sent goes on to its end, as it would anywhere; what takes longer than
        `_DRAIN_LIMIT_S` real seconds is ended. Where a proxy knows that a transaction has not been asked to commit, it
        is ended at once: it never will be.
        """
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + _DRAIN_LIMIT_S
        doomed = () if self._proxy is None else await self._proxy.drop_dead()
        try:
            if doomed:
                ports = ",".join(map(str, doomed))
                self._digest.home().ask(
                    f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE client_port IN ({ports})"  # noqa: S608
                    " AND pid <> pg_backend_pid()"
                )
            while orphans := self._orphans():
                if loop.time() > ends_s:
                    for pid in orphans:
                        self._digest.home().ask(f"SELECT pg_terminate_backend({pid})")
                    if loop.time() > ends_s + 1:
                        return
                await asyncio.sleep(0.003)
        except PostgresRefused:
            self._digest.close()

    def _orphans(self) -> list[int]:
        """Return server processes whose client is gone."""
        mine = "backend_type = 'client backend' AND pid <> pg_backend_pid() AND client_port > 0 AND "
        ours = "usename = current_user AND " if self._password else ""
        sql = f"SELECT pid, client_port FROM pg_stat_activity WHERE {mine}{ours}{self._like('datname')}"  # noqa: S608
        rows = self._digest.home().ask(sql)
        if not rows:
            return []
        alive = _held_ports(self._port)
        return [int(str(pid)) for pid, port in rows if alive is not None and int(str(port)) not in alive]

    def _connect(self, database: str) -> PostgresWire:
        return PostgresWire(
            host=self._host, port=self._port, user=self._user, password=self._password, database=database
        )

    def _databases(self, wire: PostgresWire) -> list[str]:
        rows = wire.ask(
            f"SELECT datname FROM pg_database WHERE NOT datistemplate AND {self._like('datname')} ORDER BY 1"  # noqa: S608
        )
        return [str(name) for (name,) in rows]

    def _like(self, column: str) -> str:
        """Return the condition under which a database is ours."""
        raise NotImplementedError

    def _drop_roles(self, wire: PostgresWire) -> None:
        """Drop what else the worker may have made."""


class OwnPostgres(_Postgres, Daemonised):
    """A cluster that this slot has made.

    Args:
        spec: What the scenario says.
        place: Where it may run.
    """

    def __init__(self, spec: ServiceSpec, place: Place) -> None:
        super().__init__(
            spec,
            place,
            host="127.0.0.1",
            port=free_port(),
            user=_USER,
            password="",
            home="postgres",
            database=_DATABASE,
        )
        self._place = place

    def start(self) -> None:
        """Make the cluster and start it.

        Raises:
            EnvironmentLacks: PostgreSQL is not installed, or there is no user that it would run as.
            HarnessFailed: It did not come up.
        """
        binaries = find_binaries()
        identity = self._identity()
        directory = self._place.directory
        data = directory / "data"
        data.mkdir(mode=0o700)
        if identity is not None and not identity.mapped:
            os.chown(data, identity.user, identity.group)
            self._place.open_to_others()
        env = _environment(self._place)
        self._make_cluster(binaries, data, env, identity)
        options = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
        self._daemon = Daemon(
            self.name,
            [str(binaries / "postgres"), "-D", str(data), "-p", str(self._port), *options],
            directory=data,
            env=env,
            log=directory / "log",
            identity=identity,
            end=signal.SIGQUIT,  # immediate, and it still takes its shared memory along
        )
        self._daemon.start(self.is_up, self._start_limit_s)
        if self._proxy is not None:
            self._proxy.start()

    def go_away(self) -> None:
        """Stop answering; what has been committed is kept."""
        if self._proxy is not None:
            self._proxy.go_away()
        super().go_away()

    async def come_back(self) -> None:
        """Start again, with what has been committed.

        Raises:
            HarnessFailed: It does not come up.
        """
        await super().come_back()
        if self._proxy is not None:
            self._proxy.start()

    def renew(self) -> None:
        """Drop all databases and make the one that the worker is told of."""
        super().renew()
        if self._daemon is not None:
            self._daemon.mark_log()

    def _keep(self) -> None:
        self._digest.close()  # what has been committed is on disk, and is recovered from there

    def stop(self) -> None:
        """End it."""
        if self._proxy is not None:
            self._proxy.stop()
        self._digest.close()
        super().stop()

    def _identity(self) -> Identity | None:
        identity = harmless_identity(_USER, "nobody")
        if identity is None and os.geteuid() == 0:
            raise EnvironmentLacks(
                "PostgreSQL refuses to run as root, and this machine has neither a user `postgres` nor `nobody`",
                where=f"services.{self.name}",
                next_step="run ackgap as another user, or give the url of a server",
            )
        return identity

    def _make_cluster(self, binaries: Path, data: Path, env: Mapping[str, str], identity: Identity | None) -> None:
        command = [str(binaries / "initdb"), "-D", str(data), "-U", _USER, "-A", "trust", "-E", "UTF8"]
        try:
            done = subprocess.run(
                [*command, "--locale=C", "--no-sync"],
                cwd=data,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_START_LIMIT_S,
                check=False,
                preexec_fn=before_exec(identity, signal.SIGKILL),
            )
            problem = (done.stderr or done.stdout).strip()[-1000:] if done.returncode else ""
        except (OSError, subprocess.SubprocessError) as error:
            problem = str(error)
        if problem:
            raise HarnessFailed(
                f"the service {self.name} could not be made: {problem}",
                where=str(command[0]),
                next_step="run that command by hand in an empty directory to see why",
            )

    def is_up(self) -> bool:
        """Whether it takes connections."""
        with contextlib.suppress(PostgresRefused):
            self._connect("postgres").close()
            return True
        return False

    def _like(self, column: str) -> str:
        return f"{column} <> 'postgres'"

    def _drop_roles(self, wire: PostgresWire) -> None:
        rows = wire.ask(f"SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' AND rolname <> '{_USER}'")  # noqa: S608
        for (role,) in rows:
            wire.ask(f"DROP ROLE {_quoted(str(role))}")


class UsersPostgres(_Postgres):
    """Databases of our own, one a slot, on a server that was given by its URL.

    Databases whose name begins with ours are ours as well: engines make those for themselves.

    Args:
        spec: What the scenario says.
        place: Its label makes the name of the database.
    """

    def __init__(self, spec: ServiceSpec, place: Place) -> None:
        login = Login.of(str(spec.url))
        super().__init__(
            spec,
            place,
            host=login.host,
            port=login.port,
            user=login.user,
            password=login.password,
            home=login.database,
            database=re.sub(r"\W", "_", f"ackgap_{place.label}".lower()),
        )

    def start(self) -> None:
        """See that it answers.

        Raises:
            HarnessFailed: It does not.
        """
        try:
            self._digest.home()
        except PostgresRefused as error:
            raise HarnessFailed(
                f"the service {self.name} cannot be used: {error}",
                where=f"services.{self.name}.url",
                next_step="see that the server runs, that the url is right, and that it takes connections without TLS",
            ) from error
        if self._proxy is not None:
            self._proxy.start()

    def go_away(self) -> None:
        """It is not ours to stop; a scenario that asks for that is refused when it is read."""

    async def come_back(self) -> None:
        """It has not gone."""

    def trouble(self) -> str:
        """Nobody asked us to look after it."""
        return ""

    def log_tail(self) -> str:
        """Its log is not ours."""
        return ""

    def stop(self) -> None:
        """Take our databases along."""
        if self._proxy is not None:
            self._proxy.stop()
        with contextlib.suppress(PostgresRefused):
            wire = self._connect_again()
            for database in self._databases(wire):
                wire.ask(f"DROP DATABASE IF EXISTS {_quoted(database)} WITH (FORCE)")
            self._digest.close()

    def _connect_again(self) -> PostgresWire:
        self._digest.close()
        return self._digest.home()

    def _like(self, column: str) -> str:
        return f"starts_with({column}::text, '{self._database}')"


def _environment(place: Place) -> dict[str, str]:
    """Return an environment without anything that would tell the server something else than its command line."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "ACKGAP_", "LC_"))}
    return {**kept, "ACKGAP_RUN": place.run_token, "LC_ALL": "C", "TZ": "UTC"}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _held_ports(server_port: int) -> set[int] | None:
    """Return the local ports of connections to a port that some process still holds; None where it cannot be told."""
    held: set[int] = set()
    wanted = f":{server_port:04X}"
    readable = False
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[2].endswith(wanted) and fields[9] != "0":
                    held.add(int(fields[1].rpartition(":")[2], 16))
            readable = True
    return held if readable else None
