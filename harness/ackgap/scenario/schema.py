"""The shape of a `scenario.toml`, as pydantic models; `load` turns them into the frozen dataclasses at once.

Every model forbids keys that it does not know: a misspelt key that is silently ignored would make a matrix prove
something else than its reader believes.
"""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from ackgap.model.manner import Manner

__all__ = [
    "ApprovedFile",
    "AxisFile",
    "CheckFile",
    "ClientFile",
    "Command",
    "EngineFile",
    "EnvironmentFile",
    "HoldProofFile",
    "KnownGapFile",
    "LimitsFile",
    "OrderFile",
    "PrepareFile",
    "ProofFile",
    "ReadyFile",
    "ReleaseFile",
    "ScenarioFile",
    "ServiceFile",
    "SliceFile",
    "TargetFile",
    "ToxicFile",
    "ValueFile",
    "WorkerFile",
    "split_command",
]


def split_command(raw: Any) -> tuple[str, ...]:
    """Return the argument vector of a command written as one string or as a list of strings.

    Raises:
        ValueError: It is neither, is empty, or has an open quote.
    """
    if isinstance(raw, str):
        try:
            words = shlex.split(raw)
        except ValueError as error:
            raise ValueError(f"cannot be split into words: {error}") from None
    elif isinstance(raw, (list, tuple)) and all(isinstance(word, str) for word in raw):
        words = list(raw)
    else:
        raise ValueError("must be a command: a string such as 'python agent.py', or a list of strings")
    if not words or not words[0]:
        raise ValueError("is an empty command")
    return tuple(words)


def _one_or_more(raw: Any) -> tuple[str, ...]:
    values = (raw,) if isinstance(raw, str) else raw
    if not isinstance(values, (list, tuple)) or not values or not all(isinstance(value, str) for value in values):
        raise ValueError("must be a value of the axis, or a list of values")
    return tuple(values)


def _globs(raw: Any) -> tuple[str, ...]:
    globs = (raw,) if isinstance(raw, str) else raw
    if not isinstance(globs, (list, tuple)) or not globs or not all(isinstance(glob, str) and glob for glob in globs):
        raise ValueError("must be a glob over the rows of the matrix, or a list of globs")
    return tuple(globs)


def _fault(text: str) -> str:
    try:
        return str(Manner.parse(text))
    except ValueError as error:
        raise ValueError(f"is no fault: {error}") from None


def _command_or_none(raw: Any) -> tuple[str, ...]:
    return () if raw == [] else split_command(raw)


Command = Annotated[tuple[str, ...], BeforeValidator(split_command)]
WorkersCommand = Annotated[tuple[str, ...], BeforeValidator(_command_or_none)]
"""Empty where an image has one of its own."""
Text = Annotated[str, StringConstraints(min_length=1)]
FaultText = Annotated[str, AfterValidator(_fault)]
Globs = Annotated[tuple[str, ...], BeforeValidator(_globs)]
OneOrMore = Annotated[tuple[str, ...], BeforeValidator(_one_or_more)]


class _Table(BaseModel):
    """A table of the file: unknown keys are mistakes, and nothing is converted behind the author's back."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class WorkerFile(_Table):
    """`[worker]`."""

    command: WorkersCommand
    resume_command: Command | None = None
    directory: Text = "."
    env: dict[str, str] = Field(default_factory=dict)
    store: list[Text] = Field(default_factory=list)
    external_state: list[Text] = Field(default_factory=list)
    reset: Command | None = None
    finished_when: Command | None = None
    in_doubt_when: Text | None = None
    allow_hosts: list[Text] = Field(default_factory=list)
    allow_write: list[Text] = Field(default_factory=list)
    mask: list[Text] = Field(default_factory=list)
    injector: Literal["auto", "python", "preload", "trace", "wire"] = "auto"
    python_injector: bool = True
    sends: bool = False
    requires: list[Text] = Field(default_factory=list)
    requires_hint: str = ""
    environment: Text | None = None
    image: Text | None = None
    build: Text | None = None
    hostname: Literal["same", "new"] | None = None
    init: bool | None = None
    mounts: dict[str, Text] | None = None

    @model_validator(mode="before")
    @classmethod
    def _images_have_commands(cls, raw: Any) -> Any:
        return {"command": [], **raw} if isinstance(raw, dict) and not {"image", "build"}.isdisjoint(raw) else raw

    @model_validator(mode="after")
    def _fits_together(self) -> WorkerFile:
        in_container = self.image is not None or self.build is not None
        if not self.command and not in_container:
            raise ValueError("needs a command; only an image has one of its own")
        given = [key for key in ("hostname", "init", "mounts") if getattr(self, key) is not None]
        if given and not in_container:
            raise ValueError(f"has {given[0]!r}, which only a container has; name its image, or build one")
        return self


class EnvironmentFile(_Table):
    """`[environments.NAME]`."""

    about: str = ""
    requirements: Annotated[list[Text], Field(min_length=1)]
    python: Text | None = None


class ReleaseFile(_Table):
    """`[releases.NAME]`."""

    about: str = ""
    directory: Text | None = None
    command: Command | None = None
    resume_command: Command | None = None
    env: dict[str, str] = Field(default_factory=dict)
    environment: Text | None = None


class TargetFile(_Table):
    """`[targets.NAME]`."""

    profile: Text
    protection: Text | None = None
    reads: list[Text] = Field(default_factory=list)
    settings: dict[str, Any] = Field(default_factory=dict)
    hosts: list[Text] = Field(default_factory=list)
    upstream: Text | None = None
    upstream_limit_s: Annotated[float, Field(gt=0, le=3_600)] = 60.0
    replay: Text | None = None
    replay_match: Literal["exact", "path"] = "exact"


class ReadyFile(_Table):
    """`ready_when` of a service or client: one of these."""

    port: Literal[True] | None = None
    command: Command | None = None
    log: Text | None = None
    limit_s: Annotated[float, Field(gt=0, le=3_600)] = 30.0


class ServiceFile(_Table):
    """`[services.NAME]`."""

    kind: Literal["postgres", "redis", "temporal", "command", "compose"]
    compose: Text | None = None
    url: Text | None = None
    wire: bool = False
    park: list[Text] = Field(default_factory=list)
    command: Command | None = None
    env: dict[str, str] = Field(default_factory=dict)
    ready_when: ReadyFile = Field(default_factory=ReadyFile)
    reset: Command | None = None
    digest: Command | None = None

    @model_validator(mode="before")
    @classmethod
    def _compose_is_a_kind(cls, raw: Any) -> Any:
        return {"kind": "compose", **raw} if isinstance(raw, dict) and "compose" in raw else raw


MOST_OF_A_TOXIC = 2**31 - 1
"""More than a network shows a difference of: 24 days of latency, 2 GiB. Toxiproxy counts nanoseconds in 64 bits."""
ToxicNumber = Annotated[int, Field(ge=0, le=MOST_OF_A_TOXIC)]


class ToxicFile(_Table):
    """`[toxics.NAME]`; which attributes a type has is checked afterwards."""

    link: Text
    type: Literal["latency", "bandwidth", "slow_close", "timeout", "reset_peer", "slicer", "limit_data", "down"]
    stream: Literal["downstream", "upstream"] = "downstream"
    latency: ToxicNumber | None = None
    jitter: ToxicNumber | None = None
    rate: ToxicNumber | None = None
    delay: ToxicNumber | None = None
    timeout: ToxicNumber | None = None
    average_size: Annotated[ToxicNumber, Field(ge=1)] | None = None
    size_variation: ToxicNumber | None = None
    bytes: ToxicNumber | None = None


class ClientFile(_Table):
    """`[client]`."""

    command: Command
    env: dict[str, str] = Field(default_factory=dict)
    ready_when: ReadyFile | None = None
    grace_s: Annotated[float, Field(ge=0, le=3_600)] = 5.0


class EngineFile(_Table):
    """`[engine]`."""

    kind: Literal["dbos", "temporal"]
    store: Text | None = None
    address: Text | None = None
    namespace: Text = "default"
    workflow: Text | None = None
    hurry: bool = True
    server: bool = False
    patience_s: Annotated[float, Field(ge=0, le=3_600)] = 3.0


class PrepareFile(_Table):
    """`[prepare]`."""

    commands: Annotated[list[Command], Field(min_length=1)]


class ProofFile(_Table):
    """One entry of `proofs` of an axis value."""

    kind: Literal["seen", "never", "before", "never_before", "keys_absent", "keys_present", "keys_same", "keys_differ"]
    pattern: Text
    other: str = ""
    incarnation: Annotated[int, Field(ge=0)] = 0
    when: str = ""
    unless: str = ""


class HoldProofFile(_Table):
    """`hold_proof` of an axis value."""

    hold: Text
    until: Text
    expect: Literal["waits", "goes_on"]


class ValueFile(_Table):
    """`[axes.NAME.values.VALUE]`."""

    about: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    command: Command | None = None
    resume_command: Command | None = None
    protections: dict[str, str] = Field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = Field(default_factory=dict)
    environment: Text | None = None
    hostname: Literal["same", "new"] | None = None
    proofs: list[ProofFile] = Field(default_factory=list)
    hold_proof: HoldProofFile | None = None


class AxisFile(_Table):
    """`[axes.NAME]`."""

    title: str = ""
    about: str = ""
    values: Annotated[dict[str, ValueFile], Field(min_length=1)]


class ApprovedFile(_Table):
    """One `[[approved]]`."""

    operation: Text
    field: Text
    approved_by: Text
    artifact: Text
    join: list[Annotated[list[Text], Field(min_length=2, max_length=2)]] = Field(default_factory=list)


class OrderFile(_Table):
    """One `[[order]]`."""

    before: Text
    after: Text


class CheckFile(_Table):
    """One `[[checks]]`."""

    name: Text
    command: Command
    verdict: Literal["duplicate", "lost", "diverged", "phantom", "zombie", "stuck", "in_doubt", "wasted"] = "diverged"


class KnownGapFile(_Table):
    """One `[[known_gap]]`."""

    verdict: Literal["duplicate", "lost", "diverged", "phantom", "zombie", "stuck", "in_doubt", "wasted"]
    reason: Text
    owner: Text
    cell: Text | None = None
    point: Globs = ()
    only: dict[str, OneOrMore] = Field(default_factory=dict)


class LimitsFile(_Table):
    """`[limits]`; what is left out keeps its default."""

    life_s: Annotated[float, Field(gt=0, le=86_400)] | None = None
    restarts: Annotated[int, Field(ge=0, le=1_000)] | None = None
    settle_s: Annotated[float, Field(ge=0, le=3_600)] | None = None
    quiet_s: Annotated[float, Field(ge=0, le=3_600)] | None = None
    output_bytes: Annotated[int, Field(ge=0)] | None = None
    copy_bytes: Annotated[int, Field(ge=0)] | None = None
    memory_bytes: Annotated[int, Field(ge=4 * 1024 * 1024)] | None = None
    processes: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class SliceFile(_Table):
    """`[slices.NAME]`."""

    variants: list[dict[str, OneOrMore]] = Field(default_factory=list)
    points: list[Text] = Field(default_factory=list)
    faults: list[FaultText] = Field(default_factory=list)
    depth: Annotated[int, Field(ge=1, le=3)] = 1
    orders: bool = False


class ScenarioFile(_Table):
    """The whole file."""

    name: Text
    title: str = ""
    about: str = ""
    worker: WorkerFile
    targets: Annotated[dict[str, TargetFile], Field(min_length=1)]
    axes: dict[str, AxisFile] = Field(default_factory=dict)
    expect: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    approved: list[ApprovedFile] = Field(default_factory=list)
    order: list[OrderFile] = Field(default_factory=list)
    checks: list[CheckFile] = Field(default_factory=list)
    limits: LimitsFile = Field(default_factory=LimitsFile)
    slices: dict[str, SliceFile] = Field(default_factory=dict)
    known_gap: list[KnownGapFile] = Field(default_factory=list)
    faults: list[FaultText] = Field(default_factory=list)
    services: dict[str, ServiceFile] = Field(default_factory=dict)
    toxics: dict[str, ToxicFile] = Field(default_factory=dict)
    environments: dict[str, EnvironmentFile] = Field(default_factory=dict)
    releases: dict[str, ReleaseFile] = Field(default_factory=dict)
    prepare: PrepareFile | None = None
    client: ClientFile | None = None
    engine: EngineFile | None = None
