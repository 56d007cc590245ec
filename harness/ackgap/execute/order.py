"""Order and Surroundings: which cell to run and how, and what a slot lends to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ackgap.execute.containers.dock import Dock
from ackgap.execute.interception.interceptor import Interceptor
from ackgap.execute.nursery import Nursery
from ackgap.execute.state.masks import Learned
from ackgap.execute.witness import NameWitness
from ackgap.execute.workspace import OutsideState
from ackgap.model.matrix import Variant
from ackgap.model.schedule import Schedule
from ackgap.scenario.scenario import HoldProof, Scenario
from ackgap.target.profiles.profile import Profile
from ackgap.target.service import TargetService

if TYPE_CHECKING:
    from ackgap.execute.interposing import Interposing
    from ackgap.execute.services.household import Household

__all__ = ["Order", "Surroundings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a slot lends to a cell: the same paths and addresses from cell to cell.

    Attributes:
        directory: The cell's directory is `work` in it, its scratch directory `tmp`, its channel `c`.
        targets: Services by the scenario's names for them, listening.
        run_token: In the environment of every process of the run, to find orphans by.
        outside: State that lies outside the cell, saved before the run.
        guard_egress: Refuse connections to other machines inside Python workers.
        witness: Sees which hosts are asked for, where the slot has a network of its own.
        interposing: What it keeps for targets that stand in front of real services.
        interceptor: Has targets stand for hosts, where any does.
        household: Services that run beside the cells.
        reset_door: Runs the reset command outside of the slot's network; None where it can be run here.
        dock: Where containers lie, for a worker that runs in one.
        nursery_for: Returns the slot's nursery for an interpreter, modules, an environment, an offset of the clock and
            the number of a life.
    """

    directory: Path
    targets: Mapping[str, TargetService]
    run_token: str
    outside: OutsideState | None = None
    guard_egress: bool = True
    witness: NameWitness | None = None
    interposing: Interposing | None = None
    interceptor: Interceptor | None = None
    household: Household | None = None
    reset_door: Path | None = None
    dock: Dock | None = None
    nursery_for: Callable[[str, tuple[str, ...], Mapping[str, str], float, int], Nursery] | None = None

    @property
    def work(self) -> Path:
        """The cell's directory: a fresh copy of the worker's."""
        return self.directory / "work"

    @property
    def scratch(self) -> Path:
        """What the worker gets as its temporary directory."""
        return self.directory / "tmp"

    @property
    def channel(self) -> Path:
        """The control socket; its name is short, since the system limits the length of the path."""
        return self.directory / "c"

    def by_address(self) -> dict[str, str]:
        """Return target names by each host and port under which a worker may reach them."""
        hosts = {} if self.interceptor is None else self.interceptor.addresses()
        return hosts | self.by_own_address()

    def by_own_address(self) -> dict[str, str]:
        """Return the same for the addresses that are the targets' own."""
        return {
            f"{host}:{port}": name
            for name, service in self.targets.items()
            for port in (service.port, *([self.links[name]] if name in self.links else []))
            for host in (("127.0.0.1", "localhost") if self.dock is None else (service.host,))
        }

    @property
    def links(self) -> Mapping[str, int]:
        """The ports of Toxiproxy at which the worker reaches targets and services, by their names."""
        return {} if self.household is None else self.household.links


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Which cell to run, and how.

    Attributes:
        profiles: Profile of each target.
        drift: How far the model's wording is moved from the first probe's.
        probe: The undisturbed run: a life that fails is not restarted.
        hold: What to hold, in a run that proves a mode.
        warm: Third-party modules that a warm parent imports before it forks the lives; none starts them plainly.
        states: Find out at each boundary what the durable store says, so that runs can be compared.
        masks: What undisturbed runs have taught about it.
        whole_store: Whatever a next life could read counts as durable, its temporary directory too, since equal states
            are taken for one.
        copies: Points in the order in which undisturbed runs come to them: begin where a run that comes to the same
            was copied. None has every life lived.
        why_not_copied: Why there are none although they were asked for.
    """

    scenario: Scenario
    variant: Variant
    schedule: Schedule
    profiles: Mapping[str, Profile]
    drift: int = 0
    probe: bool = False
    hold: HoldProof | None = None
    warm: tuple[str, ...] = ()
    states: bool = False
    masks: Learned | None = None
    whole_store: bool = False
    copies: tuple[str, ...] = ()
    why_not_copied: str = ""
