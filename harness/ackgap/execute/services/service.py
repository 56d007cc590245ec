"""What a slot asks of a service, whatever its kind, and where the service may put its things."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ackgap.execute.containers.dock import Dock

__all__ = ["Door", "Place", "Service", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a service runs.

    Attributes:
        directory: Its own.
        above: Directories that only this user can pass through.
        run_token: In the environment of every process of the run.
        label: What no other slot of no other run on this machine is called.
        fill: Fills in placeholders of a command or variable.
        dock: Where containers lie, in a slot that has any.
    """

    directory: Path
    run_token: str
    label: str
    fill: Callable[[str], str]
    above: tuple[Path, ...] = ()
    dock: Dock | None = None

    def open_to_others(self) -> None:
        """Let a server that runs as another user pass through to its directory; what lies beside it stays closed."""
        for directory in self.above:
            for beside in directory.iterdir():
                if beside not in (*self.above, self.directory):
                    beside.chmod(beside.stat().st_mode & ~0o077)
            directory.chmod(0o711)


def unknown() -> str:
    """Return what stands for a digest that could not be taken; it is another each time."""
    return f"unknown {secrets.token_hex(8)}"


class Door(Protocol):
    """Where a service announces what a life is about to make durable in it; from any thread."""

    def incarnation_of(self, peer_port: int, local_port: int) -> int | None:
        """Return which life holds the other end of a connection; 0 or None where it is no life's."""
        ...

    def is_over(self, incarnation: int) -> bool:
        """Whether a life is over."""
        ...

    async def committing(self, incarnation: int, write: tuple[int, int], name: str) -> None:
        """Stand before a durable write.

        Args:
            incarnation: Whose it is.
            write: No other of the cell has it.
            name: Of the boundary.

        Raises:
            Severed: The life is over.
        """
        ...

    async def committed(self, incarnation: int, write: tuple[int, int]) -> None:
        """Stand after a durable write.

        Raises:
            Severed: The life is over.
        """
        ...

    def failed(self, incarnation: int, write: tuple[int, int], *, gave_up: bool = False) -> None:
        """A durable write that was announced has come to nothing, or nobody will learn what became of it.

        Args:
            incarnation: Whose it was.
            write: Which.
            gave_up: The client has closed its connection while this stood parked.
        """
        ...


class Service(Protocol):
    """A server beside the worker; faults do not strike it."""

    name: str

    def parts(self) -> Mapping[str, str]:
        """Return its placeholders without its name; they are known before it runs, and stay the same."""
        ...

    @property
    def wire(self) -> int:
        """The port on which what is said to it is understood and announced; 0 where nobody does."""
        ...

    def announce_to(self, door: Door | None) -> None:
        """Say where to announce durable writes from now on; None for nowhere."""
        ...

    def start(self) -> None:
        """Start it and wait until it is ready.

        Raises:
            EnvironmentLacks: A program is missing.
            HarnessFailed: It did not come up.
        """
        ...

    def renew(self) -> None:
        """Make it as new, for the next cell.

        Raises:
            HarnessFailed: It is gone, or does not come back.
        """
        ...

    def digest(self) -> str | None:
        """Return a digest of what it keeps durably, None where its kind has none.

        Where it cannot be taken it is `unknown()`, which equals nothing: then nothing counts as proven.
        """
        ...

    async def drain(self) -> None:
        """Wait until it has noticed that connections of the dead are gone."""
        ...

    def go_away(self) -> None:
        """Stop answering, as a server does that is down; what it keeps durably is kept."""
        ...

    async def come_back(self) -> None:
        """Start again, with what it has kept, after `go_away`.

        Raises:
            HarnessFailed: It does not come up.
        """
        ...

    def trouble(self) -> str:
        """Return what became of it where it is not running any more, with its last lines; else an empty string."""
        ...

    def log_tail(self) -> str:
        """Return the end of what it has printed since the cell began."""
        ...

    def stop(self) -> None:
        """End it; called from any thread, and more than once."""
        ...
