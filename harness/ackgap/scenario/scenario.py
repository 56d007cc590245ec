"""Scenario: the worker under test, the targets around it, the axes it is varied along, and the limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

from ackgap.model.event import Json
from ackgap.model.expectation import ApprovalRule, OrderRule, Proof
from ackgap.model.gap import KnownGap
from ackgap.model.manner import Manner
from ackgap.model.matrix import Variant
from ackgap.scenario.container import ContainerSpec
from ackgap.scenario.engine import EngineSpec
from ackgap.scenario.environment import EnvironmentSpec
from ackgap.scenario.release import ReleaseSpec
from ackgap.scenario.services import ClientSpec, ServiceSpec
from ackgap.scenario.toxics import ToxicSpec
from ackgap.scenario.words import PYTHONS, with_python

__all__ = ["Axis", "AxisValue", "CheckSpec", "HoldProof", "Limits", "Scenario", "Slice", "TargetSpec", "WorkerSpec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSpec:
    """The user's process and what surrounds it.

    Attributes:
        command: Argument vector of the first life. `{NAME.url}`, `{NAME.mcp}`, `{NAME.host}` and `{NAME.port}` of a
            target are filled in here and in `env`.
        resume_command: Argument vector of later lives; the same command again where it is None.
        directory: Copied into each cell, where the worker runs; None runs it in an empty directory.
        env: Added to ackgap's own environment.
        store: Globs below the cell's directory that make up the durable store; empty means everything in it.
        external_state: Paths outside the cell that are restored before each cell and after the run.
        reset: Argument vector of a command that resets state ackgap cannot see, run before each cell.
        finished_when: Argument vector of a command that exits 0 once the work is finished.
        in_doubt_when: Regular expression over what the worker prints; a match means that it surfaced its doubt.
        allow_hosts: Hosts that it may reach although they are not this machine.
        allow_write: Globs of absolute paths outside the cell that it may write without being refused.
        mask: Regular expressions over what the store says: what they match is another in each run, and is left out
            where runs are compared.
        injector: What looks into the worker: `python`, `preload`, `trace`, `wire` (the targets alone), or `auto`, which
            takes what sees most of the command's program on this machine.
        python_injector: Put the python injector on the path of all that the worker starts.
        sends: Requests park before they leave (`sending`) in programs that the preload library is loaded into.
        requires: Python modules that the worker's interpreter must be able to import.
        requires_hint: How to get them.
        environment: Name of the environment that its commands run in; none where it is None.
        container: What it runs in; None where it is a process of this machine.
    """

    command: tuple[str, ...]
    resume_command: tuple[str, ...] | None = None
    directory: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    store: tuple[str, ...] = ()
    external_state: tuple[Path, ...] = ()
    reset: tuple[str, ...] | None = None
    finished_when: tuple[str, ...] | None = None
    in_doubt_when: str | None = None
    allow_hosts: tuple[str, ...] = ()
    allow_write: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()
    injector: str = "auto"
    python_injector: bool = True
    sends: bool = False
    requires: tuple[str, ...] = ()
    requires_hint: str = ""
    environment: str | None = None
    container: ContainerSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSpec:
    """One target of the scenario.

    Attributes:
        name: The scenario's name for it; prefix of its operations.
        profile: Name of a shipped profile, or path of a TOML file.
        protection: Name of one of the profile's protections; None takes the profile's default.
        reads: Globs of operations that are reads although the profile says otherwise.
        settings: What the profile lets a scenario set: scripted answers, prices, ...
        hosts: Names of hosts that it stands for: calls to them come to it.
        upstream: Base URL of a real service that decides in the profile's place.
        upstream_limit_s: Real seconds for one answer of it.
        replay: Recording that answers in the place of profile and upstream.
        replay_match: `exact`: only requests that were recorded; `path`: others are given the answer to the
            how-manieth request of their operation.
        record: File that the upstream's answers are recorded in.
    """

    name: str
    profile: str
    protection: str | None = None
    reads: tuple[str, ...] = ()
    settings: Mapping[str, Json] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    upstream: str | None = None
    upstream_limit_s: float = 60.0
    replay: Path | None = None
    replay_match: str = "exact"
    record: Path | None = None

    @property
    def upstream_host(self) -> str:
        """The host that requests go on to; empty where there is none."""
        return "" if self.upstream is None else urlsplit(self.upstream).hostname or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisValue:
    """One value of an axis, and what it changes.

    Attributes:
        name: Short, without white space, `=`, `,` and `@`.
        about: What it means, one sentence.
        env: Added to the worker's environment.
        command: Replaces the worker's command.
        resume_command: Replaces the worker's resume command.
        protections: Protection by target name.
        settings: Settings of profiles by target name, over those of the target.
        environment: Replaces the worker's environment.
        hostname: Replaces that of the worker's container.
        proofs: How it shows from outside that it took effect.
    """

    name: str
    about: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] | None = None
    resume_command: tuple[str, ...] | None = None
    protections: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    environment: str | None = None
    hostname: str | None = None
    proofs: tuple[Proof, ...] = ()
    hold_proof: HoldProof | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldProof:
    """Proof of a mode by holding one durable write: does the worker go on meanwhile, or does it wait?

    Attributes:
        hold: Glob of the point that is held the first time it is reached: `langgraph.put.*:committing`.
        until: Glob of a point that shows that the worker went on: `*:sending`.
        expect: `waits` or `goes_on`.
    """

    hold: str
    until: str
    expect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Something that a scenario is varied along."""

    name: str
    title: str
    values: tuple[AxisValue, ...]
    about: str = ""

    def value(self, name: str) -> AxisValue:
        """Return the value of that name.

        Raises:
            KeyError: The axis has no such value.
        """
        for value in self.values:
            if value.name == name:
                return value
        raise KeyError(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSpec:
    """An invariant of the user's own: a command that gets the history and says whether it holds.

    The command runs in the cell's directory after the last life, with the path of the history (JSON Lines) in
    `ACKGAP_HISTORY`. Exit status 0: holds. 1: does not, and what it printed says why. Anything else: the check itself
    failed, and the cell is inconclusive.
    """

    name: str
    command: tuple[str, ...]
    verdict: str = "diverged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long ackgap waits, in real seconds, and how often it restarts.

    Attributes:
        life_s: One life; when it is over the life is killed and the work counts as waiting forever.
        restarts: Lives after the one in which the last fault struck.
        settle_s: Wait for durable writes in flight before a fault strikes.
        quiet_s: Without a hook: nothing written for so long counts as quiet.
        output_bytes: How much of what a life prints is kept.
        copy_bytes: How large the worker's directory may be to be copied into each cell.
        memory_bytes: Memory that all processes of a cell's workers may have together; None for as much as there is.
        processes: How many processes and threads of them there may be at once; None for as many as they like.
    """

    life_s: float = 60.0
    restarts: int = 3
    settle_s: float = 2.0
    quiet_s: float = 0.05
    output_bytes: int = 64 * 1024
    copy_bytes: int = 256 * 1024 * 1024
    memory_bytes: int | None = None
    processes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A named part of the matrix.

    Attributes:
        variants: Partial variants; a variant belongs to the slice if it agrees with one of them.
        points: Globs over crash points.
        faults: What is done at each of them; the scenario's where there is none.
        depth: How many lives are struck at most, one recovery after the other.
        orders: Durable writes that run beside each other land in the other order as well.
    """

    name: str
    faults: tuple[Manner, ...] = ()
    variants: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    points: tuple[str, ...] = ()
    depth: int = 1
    orders: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What to run. Everything a cell needs is in here, and all of it can be pickled."""

    name: str
    worker: WorkerSpec
    targets: tuple[TargetSpec, ...]
    title: str = ""
    about: str = ""
    axes: tuple[Axis, ...] = ()
    declared_counts: Mapping[str, int] = field(default_factory=dict)
    approvals: tuple[ApprovalRule, ...] = ()
    orders: tuple[OrderRule, ...] = ()
    checks: tuple[CheckSpec, ...] = ()
    limits: Limits = field(default_factory=Limits)
    slices: tuple[Slice, ...] = ()
    faults: tuple[Manner, ...] = ()
    """What is done at each crash point; killing, where there is none."""
    known_gaps: tuple[KnownGap, ...] = ()
    """Cells that are known not to be exactly once. No judge reads them: a verdict is what it is."""
    services: tuple[ServiceSpec, ...] = ()
    """Servers beside the worker, started by ackgap; no fault strikes them."""
    toxics: tuple[ToxicSpec, ...] = ()
    """Faults of the network that a schedule can switch on. What they are in the way of is reached through Toxiproxy."""
    prepare: tuple[tuple[str, ...], ...] = ()
    """Commands that make durable state before the first life of every cell."""
    engine: EngineSpec | None = None
    """What the worker is built on, where ackgap is to ask it about the work."""
    client: ClientSpec | None = None
    """What starts the work and waits for it, where the worker is a server."""
    environments: tuple[EnvironmentSpec, ...] = ()
    """Virtual environments that variants can name, so that each has versions of its own."""
    releases: tuple[ReleaseSpec, ...] = ()
    """Other versions of the worker's code, which a fault can name for the lives after it."""
    own_python: bool = False
    """What a plain `python` means in a variant without an environment: ackgap's interpreter, not the one on PATH."""
    source: str = ""
    """Path of its file, or the command line that made it; for messages and replays."""

    @property
    def hurries(self) -> bool:
        """Whether what the engine waits for is shortened."""
        return self.engine is not None and self.engine.hurry

    @property
    def links(self) -> tuple[str, ...]:
        """Names of the targets and services that the worker reaches through Toxiproxy, in every run."""
        return tuple(dict.fromkeys(toxic.link for toxic in self.toxics))

    @property
    def hosts(self) -> Mapping[str, str]:
        """Names of targets by the host that each stands for."""
        return {host: target.name for target in self.targets for host in target.hosts}

    @property
    def worker_hosts(self) -> tuple[str, ...]:
        """The hosts that the worker itself may reach.

        Not those that only stand behind a target, or that one stands for: what it sent there past the target would
        not be counted.
        """
        behind = {target.upstream_host for target in self.targets}
        return tuple(
            allowed
            for allowed in self.worker.allow_hosts
            if allowed not in behind and not any(fnmatchcase(host, allowed.lower()) for host in self.hosts)
        )

    def variants(self) -> Iterator[Variant]:
        """Yield every combination of the axes, in the order in which they are written."""
        for combination in product(*(axis.values for axis in self.axes)):
            yield Variant(
                values=tuple((axis.name, value.name) for axis, value in zip(self.axes, combination, strict=True))
            )

    def values_of(self, variant: Variant) -> tuple[AxisValue, ...]:
        """Return the axis values that make up a variant.

        Raises:
            KeyError: The variant names an axis or value that the scenario does not have.
        """
        chosen = variant.as_mapping()
        if set(chosen) != {axis.name for axis in self.axes}:
            raise KeyError(str(variant))
        return tuple(axis.value(chosen[axis.name]) for axis in self.axes)

    def targets_of(self, variant: Variant) -> tuple[TargetSpec, ...]:
        """Return the targets as a variant has them: later axes overrule earlier ones.

        Raises:
            KeyError: The variant names an axis or value that the scenario does not have.
        """
        chosen = list(self.targets)
        for value in self.values_of(variant):
            chosen = [
                replace(
                    target,
                    protection=value.protections.get(target.name, target.protection),
                    settings={**target.settings, **value.settings.get(target.name, {})},
                )
                for target in chosen
            ]
        return tuple(chosen)

    def environment_of(self, variant: Variant) -> EnvironmentSpec | None:
        """Return the environment of a variant: later axes overrule earlier ones, and those the worker's.

        Raises:
            KeyError: The variant names an axis or value that the scenario does not have.
        """
        name = self.worker.environment
        for value in self.values_of(variant):
            name = value.environment or name
        return self.environment_named(name)

    def environment_named(self, name: str | None) -> EnvironmentSpec | None:
        """Return the environment of that name; None where there is none."""
        return next((spec for spec in self.environments if spec.name == name), None)

    def command_in(self, environment: EnvironmentSpec | None, command: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command with the interpreter that a plain `python` at its beginning means in an environment."""
        if environment is not None and command[0] in PYTHONS:
            return (str(environment.interpreter), *command[1:])
        return with_python(command, own_python=self.own_python)

    def slice(self, name: str) -> Slice:
        """Return the slice of that name.

        Raises:
            KeyError: The scenario has no such slice.
        """
        for part in self.slices:
            if part.name == name:
                return part
        raise KeyError(name)
