"""PostgreSQL: a throw-away cluster made from installed binaries, or databases of our own on a server of the user's.

A cluster of ours keeps nothing that a crash of the machine could take (no fsync): what is tested is the death of the
worker, and what a process has written survives that. Before each cell all databases are dropped and one is made anew
under the same name.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ackgap.errors import EnvironmentLacks, HarnessFailed
from ackgap.execute.services.daemon import Daemon, Daemonised, Identity, before_exec, free_port, harmless_identity
from ackgap.execute.services.postgres_databases import PostgresDatabases, quoted
from ackgap.execute.services.postgres_wire import Login, PostgresRefused, PostgresWire
from ackgap.execute.services.service import Place
from ackgap.scenario.services import ServiceSpec

__all__ = ["OwnPostgres", "UsersPostgres", "find_binaries", "postgres"]

_DATABASE = "ackgap"
_USER = "postgres"
_START_LIMIT_S = 60.0
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


class OwnPostgres(PostgresDatabases, Daemonised):
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
            wire.ask(f"DROP ROLE {quoted(str(role))}")


class UsersPostgres(PostgresDatabases):
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
                wire.ask(f"DROP DATABASE IF EXISTS {quoted(database)} WITH (FORCE)")
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
