"""The servers of a Compose file, at the private network of a slot, beside the worker's containers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping

from ackgap.errors import HarnessFailed
from ackgap.execute.containers.dock import Dock
from ackgap.execute.containers.docker import error_text
from ackgap.execute.services.service import Door, Place
from ackgap.scenario.compose_file import ComposeServer, read_compose
from ackgap.scenario.services import ServiceSpec

__all__ = ["ComposeService"]

_NANOSECONDS = 10**9
_LOOK_EVERY_S = 0.05
_LOG_LINES = 40
_GRACE_S = 5


class ComposeService:
    """All servers of one file; made anew, with empty volumes, for each cell.

    Args:
        spec: What the scenario says.
        place: Where it may run.
    """

    def __init__(self, spec: ServiceSpec, place: Place) -> None:
        assert spec.compose is not None
        assert place.dock is not None, "checked with the scenario"
        self.name = spec.name
        self._dock: Dock = place.dock
        self._api = self._dock.api
        self._limit_s = spec.ready.limit_s
        self._servers = read_compose(spec.compose)
        self._ids: dict[str, str] = {}
        self._began_new = False
        names = [server.name for server in self._servers]
        self.hosts = (*names, *(self._dock.address_beside(number) for number in range(1, len(names) + 1)))

    def parts(self) -> Mapping[str, str]:
        """Return its placeholders: there are none, its servers are found by their names."""
        return {}

    @property
    def wire(self) -> int:
        """Nobody understands what is said to them."""
        return 0

    def announce_to(self, door: Door | None) -> None:
        """There is nothing to announce."""

    def start(self) -> None:
        """Start each server, and wait until it is up.

        Raises:
            HarnessFailed: One did not come up.
        """
        import docker

        for number, server in enumerate(self._servers, 1):
            try:
                self._ids[server.name] = self._create(server, number)
                self._api.start(self._ids[server.name])
            except docker.errors.APIError as error:
                raise self._failed(server, error_text(error)) from error
            self._wait(server)
        self._began_new = True

    def renew(self) -> None:
        """Make all of them anew.

        Raises:
            HarnessFailed: One did not come back.
        """
        if not self._began_new:
            self.stop()
            self.start()
        self._began_new = False

    def digest(self) -> str | None:
        """Nothing is known of what they keep."""
        return None

    async def drain(self) -> None:
        """Nothing is known of them."""

    def go_away(self) -> None:
        """Stop all of them; what they keep is kept."""
        for identity in self._ids.values():
            self._api.stop(identity, timeout=_GRACE_S)

    async def come_back(self) -> None:
        """Start all of them again.

        Raises:
            HarnessFailed: One does not come up.
        """
        for server in self._servers:
            await asyncio.to_thread(self._api.start, self._ids[server.name])
            await asyncio.to_thread(self._wait, server)

    def trouble(self) -> str:
        """Return what became of the first that does not run any more; else an empty string."""
        for name, identity in self._ids.items():
            state = self._api.inspect_container(identity)["State"]
            if not state["Running"]:
                return (
                    f"the server {name} of the service {self.name} ended with {state['ExitCode']}: {self._said(name)}"
                )
        return ""

    def log_tail(self) -> str:
        """Return the end of what they have printed."""
        return "\n".join(filter(None, map(self._said, self._ids)))

    def stop(self) -> None:
        """Take all of them away, with their volumes; called from any thread, and more than once."""
        for identity in self._ids.values():
            with contextlib.suppress(Exception):  # it is gone, or goes with the slot
                self._api.remove_container(identity, force=True, v=True)
        self._ids.clear()
        for server in self._servers:
            for volume in server.volumes:
                with contextlib.suppress(Exception):
                    self._api.remove_volume(self._volume(volume), force=True)

    def _create(self, server: ComposeServer, number: int) -> str:
        api, dock = self._api, self._dock
        binds = {str(path): {"bind": place, "mode": "ro"} for place, path in server.binds.items()}
        for volume, place in server.volumes.items():
            api.create_volume(self._volume(volume), labels=dock.labels)
            binds[self._volume(volume)] = {"bind": place, "mode": "rw"}
        health = server.health
        made = api.create_container(
            server.image,
            command=list(server.command) or None,
            entrypoint=list(server.entrypoint) or None,
            name=f"{dock.name}-{self.name}-{server.name}",
            environment=dict(server.environment),
            user=server.user or None,
            working_dir=server.working_dir or None,
            hostname=server.name,
            labels=dock.labels,
            healthcheck=None
            if health is None
            else {
                "test": list(health.test),
                "interval": int(health.interval_s * _NANOSECONDS),
                "timeout": int(health.timeout_s * _NANOSECONDS),
                "retries": health.retries,
                "start_period": int(health.start_period_s * _NANOSECONDS),
            },
            host_config=api.create_host_config(
                binds=binds, network_mode=dock.network, tmpfs=dict.fromkeys(server.tmpfs, ""), dns=[dock.gateway]
            ),
            networking_config=api.create_networking_config(
                {
                    dock.network: api.create_endpoint_config(
                        ipv4_address=dock.address_beside(number), aliases=[server.name]
                    )
                }
            ),
        )
        return str(made["Id"])

    def _volume(self, name: str) -> str:
        return f"{self._dock.name}-{self.name}-{name}"

    def _wait(self, server: ComposeServer) -> None:
        """Wait until a server is up.

        Raises:
            HarnessFailed: It ends, or takes too long.
        """
        ends_s = time.monotonic() + self._limit_s
        while True:
            state = self._api.inspect_container(self._ids[server.name])["State"]
            if not state["Running"]:
                raise self._failed(server, f"it ended with {state['ExitCode']}: {self._said(server.name)}")
            if server.health is None or state.get("Health", {}).get("Status") == "healthy":
                return
            if time.monotonic() > ends_s:
                raise self._failed(server, f"it was not healthy within {self._limit_s:g} s: {self._said(server.name)}")
            time.sleep(_LOOK_EVERY_S)

    def _failed(self, server: ComposeServer, why: str) -> HarnessFailed:
        return HarnessFailed(
            f"the server {server.name} of the service {self.name} did not come up: {why}",
            where=f"services.{self.name}.compose, key services.{server.name}",
            next_step="its image has to be on this machine; see what it printed",
        )

    def _said(self, name: str) -> str:
        with contextlib.suppress(Exception):
            raw: bytes = self._api.logs(self._ids[name], tail=_LOG_LINES)
            return raw.decode("utf-8", "replace").strip()
        return ""
