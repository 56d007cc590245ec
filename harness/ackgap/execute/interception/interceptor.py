"""Interceptor: has a slot's targets stand for hosts, by whichever way a worker can be led to them.

In a network of its own the slot answers look-ups of those names itself, with an address of loopback where the target
listens: that reaches clients that know nothing of proxies. Elsewhere the worker is told of a proxy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ackgap.execute.interception.authority import Authority
from ackgap.execute.interception.ports import PortWitness
from ackgap.execute.interception.proxy import ConnectProxy
from ackgap.execute.witness import NameWitness
from ackgap.target.door import Entrance
from ackgap.target.service import TargetService

__all__ = ["HTTPS_PORT", "HTTP_PORT", "Interceptor"]

HTTP_PORT, HTTPS_PORT = 80, 443
_PER_NETWORK = 250
_TO_PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_PAST_PROXY = ("NO_PROXY", "no_proxy")
_ALL = ("ALL_PROXY", "all_proxy")
_NODE = "NODE_USE_ENV_PROXY"


class Interceptor:
    """Stands for hosts, from cell to cell.

    Args:
        hosts: Target's name by host.
        targets: Services by the scenario's names for them.
        directory: For the files of the authority.
        allowed: Hosts that the worker may reach for real.

    Attributes:
        unwatched: Why connections to the hosts at other ports are not seen; empty where they are.
    """

    def __init__(
        self, hosts: Mapping[str, str], targets: Mapping[str, TargetService], directory: Path, allowed: Iterable[str]
    ) -> None:
        self._hosts = hosts
        self._targets = targets
        self._allowed = tuple(allowed)
        self._authority = Authority(directory)
        self._proxy: ConnectProxy | None = None
        self._ports = PortWitness((HTTPS_PORT, HTTP_PORT))
        self.unwatched = ""

    async def open(self, witness: NameWitness | None) -> None:
        """Be there.

        Args:
            witness: Answers look-ups of names, in a network of our own; None where there is none.

        Raises:
            HarnessFailed: A port is not to be had.
        """
        contexts = {host: self._authority.context(host) for host in self._hosts}
        if witness is not None:
            for number, (host, name) in enumerate(self._hosts.items()):
                address = f"127.77.{number // _PER_NETWORK}.{number % _PER_NETWORK + 1}"
                await self._targets[name].stand_for(host, address, HTTPS_PORT, contexts[host])
                await self._targets[name].stand_for(host, address, HTTP_PORT)
                witness.answers[host] = address
                self._watch(host, address)
            return
        self._proxy = ConnectProxy(
            {host: self._targets[name].receive for host, name in self._hosts.items()},
            lambda host, port, tls: Entrance(port=port, host=host, tls=contexts[host] if tls else None, single=not tls),
        )
        await self._proxy.open()

    def _watch(self, host: str, address: str) -> None:
        try:
            self._ports.watch(host, address)
        except OSError as error:
            self.unwatched = f"connections to {host} at other ports than 443 and 80 are refused and not seen: {error}"

    @property
    def asked(self) -> Callable[[str], None] | None:
        """Called with each host that nobody is led to, or `HOST:PORT`; None while nobody wants to know."""
        return self._ports.asked

    @asked.setter
    def asked(self, whom: Callable[[str], None] | None) -> None:
        self._ports.look()  # what has come by now is for whoever was asked before
        self._ports.asked = whom
        if self._proxy is not None:
            self._proxy.asked = whom

    def look(self) -> None:
        """Tell at once of connections that nobody has been told of yet: a life is about to begin."""
        self._ports.look()

    @property
    def authority(self) -> Path:
        """File with the authority alone."""
        return self._authority.certificate

    @property
    def names_answered(self) -> tuple[str, ...]:
        """Hosts whose names lead here by themselves, so that nobody has to be kept from looking them up."""
        return tuple(self._hosts) if self._proxy is None else ()

    def addresses(self) -> dict[str, str]:
        """Return target names by each host and port at which they stand for somebody."""
        return {f"{host}:{port}": name for host, name in self._hosts.items() for port in (HTTPS_PORT, HTTP_PORT)}

    def environment(self, inherited: Mapping[str, str], told: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a life, changed so that its calls come here and are taken for the hosts'.

        Args:
            inherited: All that it would have.
            told: What of it the scenario says, which is left as it is.
        """
        own = self._authority.variables({name: text for name, text in inherited.items() if name not in told})
        env = {name: text for name, text in inherited.items() if name in told or name not in (*_TO_PROXY, *_ALL)}
        if self._proxy is not None:
            past = ["localhost", "127.0.0.1", "::1", *(host.removeprefix("*") for host in self._allowed)]
            own |= dict.fromkeys(_TO_PROXY, f"http://127.0.0.1:{self._proxy.port}")
            own |= {**dict.fromkeys(_PAST_PROXY, ",".join(past)), _NODE: "1"}
        return env | {name: text for name, text in own.items() if name not in told}

    async def close_cell(self) -> None:
        """A cell is over: whoever has not said yet whom he wants will not be heard."""
        if self._proxy is not None:
            await self._proxy.drop()
