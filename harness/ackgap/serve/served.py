"""ServedTargets: the services of one `ackgap serve`, their clock, and a fresh start whenever somebody asks for one."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence

from ackgap.errors import HarnessFailed, ScenarioInvalid, UsageInvalid
from ackgap.model.event import Note
from ackgap.serve.spec import Served
from ackgap.serve.watch import Watch
from ackgap.target.clock import VirtualClock, iso_time
from ackgap.target.ledger import Numbering
from ackgap.target.ports import OpenGate
from ackgap.target.service import TargetService
from ackgap.target.wire.redaction import Redactor

__all__ = ["ServedTargets", "base_url"]


class ServedTargets:
    """Targets that run alone, all on one virtual clock.

    Args:
        targets: What to serve.
        host: Address to listen on.
        offset_s: Seconds by which their clock is ahead at first.
        drift: Shifts the wording of scripted models.
        reads: Globs of operations without an effect, over `<target>.<operation>`.
    """

    def __init__(
        self,
        targets: Sequence[Served],
        *,
        host: str = "127.0.0.1",
        offset_s: float = 0.0,
        drift: int = 0,
        reads: Sequence[str] = (),
    ) -> None:
        self.targets = tuple(targets)
        self._host = host
        self._first_offset_s = offset_s
        self._drift = drift
        self._reads = tuple(reads)
        self._clock = VirtualClock(offset_s)
        self._services = {target.name: TargetService(target.name, host=host, port=target.port) for target in targets}
        self.watch = Watch(
            clock=self._now_s,
            currencies={target.name: target.profile.currency for target in targets},
            redactor=Redactor.of(os.environ),
        )

    @property
    def urls(self) -> dict[str, str]:
        """Base URLs by name."""
        return {name: base_url(self._host, service.port) for name, service in self._services.items()}

    @property
    def now(self) -> str:
        """The targets' time, ISO."""
        return iso_time(self._clock.now_s())

    @property
    def offset_s(self) -> float:
        """Seconds by which the targets' clock is ahead of real time."""
        return self._clock.offset_s

    async def start(self) -> None:
        """Listen, each on its port, with fresh state.

        Raises:
            UsageInvalid: A port or the address is not to be had, or a setting has a wrong value.
        """
        self._begin()
        try:
            for target in self.targets:
                await self._listen(target)
        except BaseException:
            await self.stop()
            raise

    def forward(self, seconds: float) -> None:
        """Let virtual time pass.

        Raises:
            ValueError: `seconds` is negative.
        """
        self._clock.move(seconds)
        self.watch.record(Note, code="clock_moved", text=f"the clock was moved by {seconds:g} seconds to {self.now}")

    def reset(self) -> None:
        """Begin anew: no objects, no keys, an empty ledger, and the clock where it was at the start."""
        self._begin()
        self.watch.reset()
        self.watch.record(Note, code="reset", text="everything was forgotten")

    async def stop(self) -> None:
        """Drop all connections and give the ports back."""
        for service in self._services.values():
            await service.stop()

    def _now_s(self) -> float:
        return self._clock.now_s()  # of the present clock: a reset brings another

    def _begin(self) -> None:
        self._clock = VirtualClock(self._first_offset_s)
        numbers, gate = Numbering(), OpenGate()
        for target in self.targets:
            try:
                self._services[target.name].begin(
                    profile=target.profile,
                    protection=target.protection,
                    settings=target.settings,
                    reads=self._reads,
                    recorder=self.watch,
                    gate=gate,
                    clock=self._clock,
                    drift=self._drift,
                    numbers=numbers,
                )
            except ScenarioInvalid as error:
                where = error.where.replace(f"targets.{target.name}.settings.", f"--set {target.name}.")
                raise UsageInvalid(error.what, where=where, next_step=error.next_step) from None

    async def _listen(self, target: Served) -> None:
        try:
            await self._services[target.name].start()
        except HarnessFailed as error:
            cause = error.__cause__
            taken = isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE
            if taken:
                raise UsageInvalid(
                    f"Port {target.port} is taken.",
                    where=target.text,
                    next_step="Choose another, or leave it out and a free one is taken.",
                ) from error
            raise UsageInvalid(
                error.what, where=target.text, next_step="Choose another port, or another address with --host."
            ) from error


def base_url(host: str, port: int) -> str:
    """Return the base URL of an address, without a slash at the end."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
