"""Dock: where the containers of one slot lie: a private network without a way out, and an address for each life.

    worker (172.18.0.2) -- bridge without a route -- gateway (172.18.0.1, this machine): targets, and a name server

The network is *internal*, so that the engine lets nothing out of it, in any language. We do not rely on its firewall
alone: the way out that containers are given leads to an address at which there is nobody. Targets listen at the
gateway's address. Which life a connection comes from is told by its address: each life has one of its own, the same in
every cell, since durable state may contain it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

from ackgap.errors import HarnessFailed
from ackgap.execute.containers.docker import Api, connect, error_text, labels_of
from ackgap.execute.containers.images import image_of
from ackgap.execute.containers.reaper import remove_run
from ackgap.scenario.container import ContainerSpec

__all__ = ["INJECTOR_PLACE", "Dock", "Manifest"]

INJECTOR_PLACE = "/ackgap/worker"
"""Where a container has what runs inside the worker."""

_INJECTOR = Path(__file__).parents[2] / "worker"
_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a container of a life is made of.

    Attributes:
        command: Argument vector; empty leaves it to the image.
        directory: Where it runs; the same path as outside.
        env: Added to the image's.
        number: Of the life; it has an address by that.
        hostname: What it takes itself to be.
        mounts: Paths outside by those inside.
        memory_bytes: Memory, swapped or not, that it may have; None for as much as there is.
        processes: How many processes and threads there may be in it; None for as many as it likes.
    """

    command: Sequence[str]
    directory: Path
    env: Mapping[str, str]
    number: int
    hostname: str
    mounts: Mapping[str, Path]
    memory_bytes: int | None = None
    processes: int | None = None


class Dock:
    """The containers of a slot, and their network.

    Args:
        spec: How the containers are made.
        run_token: Of the run.
        owner: The harness, as `pid:seconds`.
        slot: Number of the slot.

    Attributes:
        name: What the names of everything in it begin with.
        network: Id of the network. The engine allows several of one name, so that only the id tells which is ours.
        gateway: This machine's address in the network.
        api: A client of the engine.
    """

    def __init__(self, spec: ContainerSpec, *, run_token: str, owner: str, slot: int) -> None:
        self.spec = spec
        self._run_token = run_token
        self._slot = slot
        self.labels = dict(labels_of(run_token, owner=owner, slot=slot))
        self.name = f"ackgap-{run_token[:8]}-s{slot}"
        self.image = image_of(spec)
        self.api: Api = connect()
        self._closed = False
        self._made = 0
        self.network, self._subnet = self._make_network()
        self.gateway = str(self._subnet[1])
        self.image_env = self._environment_of_image()

    def address(self, number: int) -> str:
        """Return the address of a life."""
        return str(self._subnet[1 + number])

    def address_beside(self, number: int) -> str:
        """Return an address for what is no life, from 1; they are at the other end of the network."""
        return str(self._subnet[-2 - number])

    def life_at(self, address: str) -> int:
        """Return which life, from 1, may have an address; 0 where it is no life's."""
        with contextlib.suppress(ValueError):
            found = IPv4Address(address)
            if found in self._subnet:
                return max(0, int(found) - int(self._subnet[1]))
        return 0

    def create(self, manifest: Manifest) -> str:
        """Make a container that has not been started; return its id.

        Raises:
            docker.errors.APIError: The engine refuses.
        """
        binds = {str(outside): {"bind": inside, "mode": "rw"} for inside, outside in manifest.mounts.items()}
        binds[str(_INJECTOR)] = {"bind": INJECTOR_PLACE, "mode": "ro"}
        self._made += 1
        made = self.api.create_container(
            self.image,
            command=list(manifest.command) or None,
            name=f"{self.name}-{manifest.number}-{self._made}",
            environment=dict(manifest.env),
            working_dir=str(manifest.directory),
            user=f"{os.getuid()}:{os.getgid()}",  # what it writes has to be removed by us
            hostname=manifest.hostname,
            labels=self.labels,
            host_config=self.api.create_host_config(
                binds=binds,
                network_mode=self.network,
                init=self.spec.init or None,
                dns=[self.gateway],
                security_opt=["no-new-privileges"],
                log_config={"type": "none"},
                mem_limit=manifest.memory_bytes,
                memswap_limit=manifest.memory_bytes,
                pids_limit=manifest.processes,
            ),
            networking_config=self.api.create_networking_config(
                {self.network: self.api.create_endpoint_config(ipv4_address=self.address(manifest.number))}
            ),
        )
        return str(made["Id"])

    def close(self) -> None:
        """Take everything of the slot away; called from any thread, and more than once."""
        if not self._closed:
            self._closed = True
            remove_run(self._run_token, slot=self._slot)

    def _environment_of_image(self) -> dict[str, str]:
        config: Mapping[str, Any] = self.api.inspect_image(self.image)["Config"] or {}
        pairs = (text.partition("=") for text in config.get("Env") or ())
        return {name: value for name, _, value in pairs}

    def _make_network(self) -> tuple[str, IPv4Network]:
        """Make the network, and make it once more with the same addresses: only then may we give them out.

        What is there of this slot before that was left by a predecessor that was killed, or by a try that failed.

        Raises:
            HarnessFailed: The engine refuses.
        """
        import docker

        problem: Exception | None = None
        for _ in range(_TRIES):
            remove_run(self._run_token, slot=self._slot)
            try:
                first, addresses = self._made_network(None)
                self.api.remove_network(first)
                return self._made_network(addresses)
            except docker.errors.APIError as error:  # another slot was given the same addresses in between
                problem = error
        remove_run(self._run_token, slot=self._slot)
        raise HarnessFailed(
            f"the Docker engine gives no network: {error_text(problem or Exception())}",
            where=self.name,
            next_step="remove networks that nobody needs (`docker network prune`); each slot needs one",
        )

    def _made_network(self, addresses: IPv4Network | None) -> tuple[str, IPv4Network]:
        import docker

        pools = []
        if addresses is not None:
            nobody = {"DefaultGatewayIPv4": str(addresses[-2])}
            pools = [docker.types.IPAMPool(subnet=str(addresses), gateway=str(addresses[1]), aux_addresses=nobody)]
        made = self.api.create_network(
            self.name,
            driver="bridge",
            internal=True,
            labels=self.labels,
            ipam=docker.types.IPAMConfig(pool_configs=pools) if pools else None,
        )
        identity = str(made["Id"])
        return identity, IPv4Network(self.api.inspect_network(identity)["IPAM"]["Config"][0]["Subnet"])
