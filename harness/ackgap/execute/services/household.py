"""Household: the services of one slot: started with its first cell, made as new for each, ended with the slot."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ackgap.errors import EnvironmentLacks, HarnessFailed
from ackgap.execute.containers.dock import Dock
from ackgap.execute.services.command import CommandService
from ackgap.execute.services.compose import ComposeService
from ackgap.execute.services.daemon import free_port
from ackgap.execute.services.postgres import find_binaries, postgres
from ackgap.execute.services.redis import Redis, find_redis
from ackgap.execute.services.service import Door, Place, Service
from ackgap.execute.services.temporal import Temporal, find_temporal
from ackgap.execute.services.toxiproxy import Toxiproxy
from ackgap.model.event import Note
from ackgap.scenario.services import ServiceSpec
from ackgap.target.ports import Recorder

__all__ = ["Household", "check_services"]

_KINDS: Mapping[str, Callable[[ServiceSpec, Place], Service]] = {
    "postgres": postgres,
    "redis": Redis,
    "temporal": Temporal,
    "command": CommandService,
    "compose": ComposeService,
}


def check_services(specs: Iterable[ServiceSpec]) -> None:
    """Refuse to start where a program is missing that a service needs.

    Raises:
        EnvironmentLacks: Names the program and how to get it.
    """
    finders: Mapping[str, Callable[[], object]] = {
        "postgres": find_binaries,
        "redis": find_redis,
        "temporal": find_temporal,
    }
    for spec in specs:
        if spec.kind in finders and spec.url is None:
            try:
                finders[spec.kind]()
            except EnvironmentLacks as error:
                raise EnvironmentLacks(
                    error.what, where=f"services.{spec.name}, {error.where}", next_step=error.next_step
                ) from None


class Household:
    """What runs beside the cells of a slot.

    Args:
        specs: Of the scenario.
        directory: Each service gets one below it.
        above: Directories above it that only this user can pass through.
        run_token: In the environment of every process of the run.
        label: What no other slot of no other run on this machine is called.
        dock: Where containers of the slot lie, if it has any.
        links: Names of the services and targets that the worker reaches through Toxiproxy.
        target_ports: Ports of the slot's targets, by name.

    Attributes:
        network: What stands in the links; None where there are none.
    """

    def __init__(
        self,
        specs: tuple[ServiceSpec, ...],
        *,
        directory: Path,
        above: tuple[Path, ...] = (),
        run_token: str,
        label: str,
        dock: Dock | None = None,
        links: tuple[str, ...] = (),
        target_ports: Mapping[str, int] | None = None,
    ) -> None:
        self._stopping = threading.RLock()  # a second signal may come while one is dealt with, in the same thread
        self._stopped = False
        self._up = False
        self._services: list[Service] = []
        self._names = {"worker.port": str(free_port())}
        for spec in specs:
            own = directory / spec.name
            own.mkdir(parents=True, exist_ok=True)
            service = _KINDS[spec.kind](
                spec,
                Place(
                    directory=own,
                    run_token=run_token,
                    label=label,
                    fill=self._fill,
                    above=(*above, directory),
                    dock=dock,
                ),
            )
            self._services.append(service)
            self._names |= {f"{spec.name}.{part}": text for part, text in service.parts().items()}
        self.network: Toxiproxy | None = None
        self._host = "127.0.0.1" if dock is None else dock.gateway
        if links:
            ports = target_ports or {}
            own = directory.parent / Toxiproxy.name  # a service may have that name
            own.mkdir(parents=True, exist_ok=True)
            self.network = Toxiproxy(
                {link: f"{self._host}:{ports[link]}" if link in ports else self._address_of(link) for link in links},
                Place(directory=own, run_token=run_token, label=label, fill=self._fill, above=(*above, directory)),
                host=self._host,
            )
            self._services.append(self.network)

    def _address_of(self, name: str) -> str:
        return f"{self._names[f'{name}.host']}:{self._names[f'{name}.port']}"

    @property
    def links(self) -> Mapping[str, int]:
        """The ports at which the worker reaches what is behind links, by its name."""
        return {} if self.network is None else self.network.ports

    @property
    def names(self) -> Mapping[str, str]:
        """What each placeholder stands for: `db.url`; the same in every cell. `worker.port` is the worker's to use."""
        return self._names

    @property
    def names_behind_links(self) -> Mapping[str, str]:
        """What placeholders of services stand for where the worker is told them and a link leads there."""
        found = {}
        for link, port in self.links.items():
            if f"{link}.port" in self._names:
                changed = {"host": self._host, "port": str(port)}
                for key, text in self._names.items():
                    name, _, part = key.partition(".")
                    if name == link:
                        found[key] = changed.get(part, text.replace(self._address_of(link), f"{self._host}:{port}"))
        return found

    @property
    def wires(self) -> Mapping[str, int]:
        """Ports on which what a worker says to a service is understood, so that no hook in it has to; by its name."""
        return {service.name: service.wire for service in self._services if service.wire}

    def announce_to(self, door: Door | None) -> None:
        """Say where services announce what a life makes durable in them; None for nowhere."""
        for service in self._services:
            service.announce_to(door)

    def renew(self, recorder: Recorder) -> None:
        """Have every service as new, for a cell that is about to begin.

        Where nobody can tell whether anything durable has changed in one, the cell's history says so.

        Raises:
            AckgapError: One of them is not to be had.
        """
        self._renew()
        for service in self._services:
            if service.digest() is None:
                recorder.record(Note, code="store_unwatched", text=service.name)

    def _renew(self) -> None:
        if self._up:
            for service in self._services:
                service.renew()
            return
        for service in self._services:
            service.start()
            if not isinstance(service, Temporal):
                service.renew()
        self._up = True

    def hosts(self) -> list[str]:
        """Return the names by which containers find what runs beside them."""
        return [host for service in self._services for host in getattr(service, "hosts", ())]

    def digest(self) -> str:
        """Return a digest of what all of them keep durably."""
        return " ".join(service.digest() or "" for service in self._services)

    async def drain(self) -> None:
        """Wait until all of them have noticed that the connections of the dead are gone."""
        for service in self._services:
            await service.drain()

    def go_away(self, name: str) -> None:
        """Have one of them stop answering; what it keeps durably is kept."""
        self._named(name).go_away()

    async def come_back(self, name: str) -> None:
        """Have it start again.

        Raises:
            HarnessFailed: It does not come up.
        """
        await self._named(name).come_back()

    def _named(self, name: str) -> Service:
        return next(service for service in self._services if service.name == name)

    def check(self) -> None:
        """See that all of them are still there.

        Raises:
            HarnessFailed: One is not.
        """
        for service in self._services:
            if text := service.trouble():
                raise HarnessFailed(text, where=f"services.{service.name}", next_step="see what it printed")

    def log_tails(self) -> Mapping[str, str]:
        """Return what each has printed in this cell, the end of it, where it is anything."""
        tails = {service.name: service.log_tail().strip() for service in self._services}
        return {name: text for name, text in tails.items() if text}

    def stop(self) -> None:
        """End all of them; called from any thread, and more than once."""
        with self._stopping:
            if self._stopped:
                return
            self._stopped = True
            for service in self._services:
                service.stop()

    def _fill(self, text: str) -> str:
        for name, value in self._names.items():
            text = text.replace("{" + name + "}", value)
        return text
