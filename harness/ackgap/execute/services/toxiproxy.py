"""Toxiproxy: what stands in the links that a scenario has toxics for, one server for each slot.

A link is a port of the server's that the worker is given in the place of its target's or service's own. It keeps that
port from cell to cell, and leads there in every run, also where nothing is switched on.
"""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ackgap.errors import EnvironmentLacks, HarnessFailed
from ackgap.execute.peers import PeerUnknown, holder_of
from ackgap.execute.services.daemon import Daemon, Daemonised, free_port, port_answers
from ackgap.execute.services.service import Place
from ackgap.execute.services.toxiproxy_program import find_toxiproxy, obtain_toxiproxy
from ackgap.scenario.scenario import Scenario
from ackgap.scenario.toxics import DOWN, ToxicSpec

__all__ = ["Toxiproxy", "check_toxics"]

T = TypeVar("T")

_AGAIN_LIMIT_S = 3.0
"""Real seconds in which a port has to be free again that a link has given back."""
_CLOSING_LIMIT_S = 2.0


def check_toxics(scenario: Scenario) -> None:
    """See that what the toxics of a scenario need is here, and build the server where it can be built.

    Raises:
        EnvironmentLacks: It is not to be had; says what was tried, and how to get it.
    """
    if not scenario.toxics:
        return
    try:
        import toxiproxy  # noqa: F401 - whether it is there
    except ImportError as error:
        raise EnvironmentLacks(
            f"the Python client of Toxiproxy cannot be imported: {error}",
            where="[toxics]",
            next_step="pip install 'ackgap[network]'",
        ) from None
    obtain_toxiproxy()


class Toxiproxy(Daemonised):
    """The server of one slot, and its links.

    Args:
        upstreams: `HOST:PORT` by the name of the target or service that a link leads to.
        place: Where it may run.
        host: Address at which the worker reaches links: of loopback, or of the network that its container is in.

    Attributes:
        ports: Of that host, by the name of the link.
    """

    name = "toxiproxy"

    def __init__(self, upstreams: Mapping[str, str], place: Place, *, host: str = "127.0.0.1") -> None:
        self._host = host
        self._place = place
        self._upstreams = dict(upstreams)
        taken: set[int] = set()
        while len(taken) <= len(self._upstreams):
            taken.add(free_port())
        self._api_port, *ports = taken
        self.ports: Mapping[str, int] = dict(zip(self._upstreams, ports, strict=True))
        self._server: Any = None
        self._proxies: dict[str, Any] = {}
        self._on: dict[str, ToxicSpec] = {}
        self._asking = threading.Lock()

    def parts(self) -> Mapping[str, str]:
        """It has no placeholders; those of what it stands before lead to it."""
        return {}

    def start(self) -> None:
        """Start it, and make its links.

        Raises:
            EnvironmentLacks: It is not here.
            HarnessFailed: It did not come up, or refuses a link.
        """
        directory: Path = self._place.directory
        self._daemon = Daemon(
            self.name,
            [find_toxiproxy(), "-host", "127.0.0.1", "-port", str(self._api_port)],
            directory=directory,
            env={**os.environ, "ACKGAP_RUN": self._place.run_token},
            log=directory / "log",
            end=signal.SIGKILL,  # it keeps nothing
        )
        self._daemon.start(self.is_up, self._start_limit_s)
        self._server = self._client()
        for name, upstream in self._upstreams.items():
            listen = f"{self._host}:{self.ports[name]}"
            self._proxies[name] = self._asked(functools.partial(self._server.create, upstream, name, listen=listen))

    def renew(self) -> None:
        """Switch everything off, and end whatever connections there are.

        Raises:
            HarnessFailed: It does not answer.
        """
        for spec in tuple(self._on.values()):
            self.switch_off(spec)
        self.cut()
        if self._daemon is not None:
            self._daemon.mark_log()

    def digest(self) -> str:
        """It keeps nothing durably."""
        return ""

    async def drain(self) -> None:
        """Nothing to wait for: see `clear`."""

    def log_tail(self) -> str:
        """What it prints of each connection says no more than the history does."""
        return ""

    def is_up(self) -> bool:
        """Whether it answers."""
        return port_answers(self._api_port)

    def carries(self, peer_port: int, local_port: int) -> bool:
        """Whether the other end of a connection of ours is this server's, so that a life may be behind it."""
        pid = None if self._daemon is None else self._daemon.pid
        try:
            return pid is not None and holder_of(peer_port, local_port, [pid]) is not None
        except PeerUnknown:
            return False

    def switch_on(self, spec: ToxicSpec) -> None:
        """Switch a toxic on; when this returns, whatever goes over its link from now on meets it.

        Raises:
            HarnessFailed: The server refuses.
        """
        proxy = self._proxies[spec.link]
        self._on[spec.name] = spec
        if spec.type == DOWN:
            self._asked(proxy.disable)
            return
        self._asked(
            lambda: proxy.add_toxic(
                name=spec.name, type=spec.type, stream=spec.stream, attributes=dict(spec.attributes)
            )
        )
        # The client does not look at the status of every answer.
        if spec.name not in self._asked(proxy.toxics):
            raise self._failed(f"did not switch on the toxic {spec.name!r}")

    def switch_off(self, spec: ToxicSpec) -> None:
        """Switch a toxic off again.

        Raises:
            HarnessFailed: The server refuses, or somebody holds the port of a link that was down.
        """
        if self._on.pop(spec.name, None) is None:
            return
        proxy = self._proxies[spec.link]
        if spec.type != DOWN:
            self._asked(lambda: proxy.destroy_toxic(spec.name))
        elif not self._is_down(spec.link):
            self._enable(spec.link)

    async def clear(self, *, alone: bool) -> None:
        """Let nothing of a dead life be under way any more.

        Args:
            alone: No other life is there whose connections would end with it.
        """
        if alone:
            await asyncio.to_thread(self.cut)
            return
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + _CLOSING_LIMIT_S
        while self._abandoned() and loop.time() < ends_s:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.005)

    def cut(self) -> None:
        """End every connection; links that are not down take new ones at once.

        Raises:
            HarnessFailed: The server refuses, or somebody has taken the port of a link.
        """
        for name, proxy in self._proxies.items():
            if not self._is_down(name):
                self._asked(proxy.disable)
                self._enable(name)

    def _is_down(self, link: str) -> bool:
        return any(spec.link == link and spec.type == DOWN for spec in self._on.values())

    def _enable(self, link: str) -> None:
        ends_s = time.monotonic() + _AGAIN_LIMIT_S
        proxy = self._proxies[link]
        while True:
            self._asked(proxy.enable)
            # The client does not look at the status of every answer. Asking the port would be a call of nobody's.
            if self._asked(lambda: self._server.get_proxy(link).enabled):
                return
            if time.monotonic() > ends_s:
                raise self._failed(f"could not listen again on port {self.ports[link]}, for the link to {link}")
            time.sleep(0.02)

    def _abandoned(self) -> bool:
        """Whether connections are left at links whose clients are gone."""
        wanted = {f"{port:04X}" for port in self.ports.values()}
        try:
            lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            return False
        for line in lines:
            fields = line.split()
            if fields[2].rpartition(":")[2] in wanted and fields[9] == "0" and fields[3] != "06":  # TIME_WAIT
                return True
        return False

    def _client(self) -> Any:
        import requests
        import toxiproxy
        import toxiproxy.api

        # The client knows one server a process, and a slot is a process. Its requests go to loopback in any case:
        # not through a proxy that a variable names, and over one connection.
        session = requests.Session()
        session.trust_env = False
        toxiproxy.api.requests = session
        server = toxiproxy.Toxiproxy()
        server.update_api_consumer("127.0.0.1", self._api_port)
        return server

    def _asked(self, ask: Callable[[], T]) -> T:
        """Ask the server for something, one thing at a time.

        Raises:
            HarnessFailed: It refuses, or does not answer.
        """
        try:
            with self._asking:
                return ask()
        except Exception as error:
            raise self._failed(f"refused what it was asked: {type(error).__name__}: {error}") from error

    def _failed(self, what: str) -> HarnessFailed:
        said = "" if self._daemon is None else f"; {self._daemon.last_lines()}"
        return HarnessFailed(f"Toxiproxy {what}{said}", where="[toxics]", next_step="see what it printed")
