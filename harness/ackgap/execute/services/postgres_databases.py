"""Our databases on a PostgreSQL server, whoever has started it: made as new, watched, rid of what the dead left."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from ackgap.errors import HarnessFailed
from ackgap.execute.services.daemon import free_port
from ackgap.execute.services.postgres_digest import PostgresDigest
from ackgap.execute.services.postgres_proxy import PostgresProxy
from ackgap.execute.services.postgres_wire import PostgresRefused, PostgresWire
from ackgap.execute.services.service import Door, Place
from ackgap.scenario.services import ServiceSpec

__all__ = ["PostgresDatabases", "quoted"]

_DRAIN_LIMIT_S = 2.0


class PostgresDatabases:
    """Our databases on a server, and a proxy in front of it where the scenario says so."""

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
                wire.ask(f"DROP DATABASE IF EXISTS {quoted(database)} WITH (FORCE)")
            self._drop_roles(wire)
            wire.ask(f"CREATE DATABASE {quoted(self._database)} TEMPLATE template0")
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


def quoted(name: str) -> str:
    """Return a name as SQL takes any."""
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
