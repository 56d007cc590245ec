"""The `ackgap_target` fixture: fake services alone, for tests of code that is not killed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ackgap.errors import HarnessFailed
from ackgap.model.event import AttemptReceived, EffectApplied, Event
from ackgap.serve.served import ServedTargets
from ackgap.serve.spec import environment, seconds_of, served_targets
from ackgap.target.mcp.server import MCP_PATH

__all__ = ["RunningTarget", "TargetFactory"]

T = TypeVar("T")

_LIMIT_S = 30.0


class RunningTarget:
    """A fake service that listens, with its ledger.

    Args:
        served: It alone.
        call: Runs a function in the thread that serves.
        stop: Ends it.
    """

    def __init__(
        self, served: ServedTargets, call: Callable[[Callable[[], Any]], Any], stop: Callable[[], None]
    ) -> None:
        self._served = served
        self._call = call
        self.stop = stop
        """End it; the fixture does at the end of the test."""
        self.name = served.targets[0].name
        """What its operations begin with."""
        self.url = served.urls[self.name]
        """Base URL."""
        self.mcp = self.url + MCP_PATH
        """Address of its tools, for an MCP client."""

    @property
    def env(self) -> dict[str, str]:
        """Variables by which an agent and the official clients find it."""
        return environment({self.name: (self._served.targets[0].profile, self.url)})

    @property
    def ledger(self) -> dict[str, Any]:
        """Everything that reached it, as `ackgap serve` tells it: `events`, and `totals` with the actions."""
        document: dict[str, Any] = self._call(self._served.watch.document)
        return document

    @property
    def attempts(self) -> tuple[AttemptReceived, ...]:
        """Requests that reached it."""
        return tuple(event for event in self._events() if isinstance(event, AttemptReceived))

    @property
    def effects(self) -> tuple[EffectApplied, ...]:
        """Changes that it made."""
        return tuple(event for event in self._events() if isinstance(event, EffectApplied))

    @property
    def repeated(self) -> tuple[str, ...]:
        """Actions that had more than one effect, in words."""
        actions = self._call(lambda: self._served.watch.repeated)
        return tuple(f"{action.operation}: {action.text} ×{action.count}" for action in actions)

    def forward(self, time: str | float) -> None:
        """Let time go by for it: seconds, or a text such as `72h`."""
        seconds = seconds_of(time) if isinstance(time, str) else float(time)
        self._call(lambda: self._served.forward(seconds))

    def reset(self) -> None:
        """Have it begin anew: no objects, no keys, an empty ledger."""
        self._call(self._served.reset)

    def _events(self) -> tuple[Event, ...]:
        events: tuple[Event, ...] = self._call(lambda: self._served.watch.events)
        return events


class TargetFactory:
    """Starts fake services for a test, in one thread of theirs, and ends them after it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ackgap-targets", daemon=True)
        self._thread.start()
        self._running: list[ServedTargets] = []

    def __call__(
        self,
        profile: str,
        *,
        name: str | None = None,
        port: int = 0,
        protection: str | None = None,
        settings: Mapping[str, Any] | None = None,
        reads: Sequence[str] = (),
    ) -> RunningTarget:
        """Start one.

        Args:
            profile: Name of a shipped profile, or the path of one of your own.
            name: What its operations begin with; the profile's name where it is None.
            port: Where it listens; a free one for 0.
            protection: How it treats repeats; the profile's default where it is None.
            settings: What the profile lets a scenario set.
            reads: Globs of operations without an effect, over `<name>.<operation>`.

        Raises:
            AckgapError: There is no such profile, protection or setting, or the port is taken.
        """
        text = f"{name}:{profile}" if name else profile
        (target,) = served_targets([f"{text}={port}"], protections=[] if protection is None else [protection])
        served = ServedTargets([replace(target, settings=dict(settings or {}))], reads=reads)
        self._wait(served.start())
        self._running.append(served)
        return RunningTarget(served, self._in_loop, lambda: self._end(served))

    def close(self) -> None:
        """End all of them."""
        for served in list(self._running):
            self._end(served)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_LIMIT_S)
        self._loop.close()

    def _end(self, served: ServedTargets) -> None:
        if served in self._running:
            self._running.remove(served)
            self._wait(served.stop())

    def _in_loop(self, function: Callable[[], T]) -> T:
        """Call a function in the thread that serves, between two requests."""

        async def called() -> T:
            return function()

        return self._wait(called())

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(_LIMIT_S)
        except TimeoutError:
            raise HarnessFailed("the fake services do not answer", where="ackgap_target") from None
