"""The closed union of events that make up a history.

A history has two voices. What the worker or an injector inside it *announced* (`BoundaryReached` with source
`python`), and what the targets *counted* (`AttemptReceived`, `EffectApplied`, `AttemptAnswered`). They are kept
apart, so that a verdict can rest on the second alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

from ackgap.model.boundary import Boundary, BoundaryKind, Phase

__all__ = [
    "AttemptAnswered",
    "AttemptDropped",
    "AttemptReceived",
    "BoundaryReached",
    "CheckReported",
    "ClientGaveUp",
    "Decision",
    "DiscardedAtDeath",
    "EffectApplied",
    "EgressAttempted",
    "EngineReported",
    "Event",
    "FaultInjected",
    "GaveUp",
    "InDoubtSurfaced",
    "IncarnationEnded",
    "IncarnationStarted",
    "Injector",
    "InjectorReady",
    "Json",
    "Note",
    "Settling",
    "WorkFinished",
    "WroteOutside",
]

Json = Any
"""A value that came out of `json.loads`, or could go into `json.dumps`."""


class Decision(StrEnum):
    """What a target did with an attempt."""

    APPLIED = "applied"
    """The attempt became an effect."""
    READ = "read"
    """A read: nothing to apply."""
    REPLAYED = "replayed"
    """A repeat recognised by its key: the stored answer, no effect."""
    EXISTING = "existing"
    """A repeat recognised by what it is about (natural key, identical PUT): no effect."""
    REJECTED = "rejected"
    """Refused with an error: no effect."""
    CONFLICT = "conflict"
    """Refused because the same key is being worked on: no effect."""
    UNKNOWN_PATH = "unknown_path"
    """No operation of the target has that method and path: no effect."""
    MALFORMED = "malformed"
    """Not a request that the target could read: no effect."""


class Settling(StrEnum):
    """How sure it is that no durable write was in flight when a fault struck."""

    SETTLED = "settled"
    """A hook proved it."""
    QUIET_OBSERVED = "quiet-observed"
    """Nothing was written for the stated time."""
    UNSETTLED = "unsettled"
    """It never went quiet, or no wait was asked for: the cell races the engine."""


class Injector(StrEnum):
    """Who announced a boundary."""

    WIRE = "wire"
    PYTHON = "python"
    PRELOAD = "preload"
    """The library that is loaded into programs of any language."""
    TRACE = "trace"
    """The kernel, which has system calls stand."""
    STORE = "store"
    """Whoever stands in front of a store and understands what is said to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """What every event has: its place in the history and the real seconds since the cell began."""

    kind: ClassVar[str] = ""
    seq: int
    at_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IncarnationStarted(_Event):
    """A life of the worker began."""

    kind: ClassVar[str] = "incarnation_started"
    incarnation: int
    pid: int
    command: tuple[str, ...]
    clock_offset_s: float = 0.0
    store_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectorReady(_Event):
    """An injector came up inside a process of that life, or looks at all of it (`trace`)."""

    kind: ClassVar[str] = "injector_ready"
    incarnation: int
    pid: int
    python: str
    clock_moved: bool = False
    injector: Injector = Injector.PYTHON


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundaryReached(_Event):
    """A life stood at a phase of a boundary.

    Attributes:
        source: Who saw it: the target (`wire`), the hook inside the worker (`python`), or whoever stands in front of
            a store (`store`).
        attempt: The attempt it belongs to, where a target has seen one.
        thread: Name of the thread or task that stood there.
        blocks_loop: A synchronous hook was reached on a thread that runs an event loop, so siblings stood too.
        overlapped: Another durable write of the same life was in flight and could not be waited for.
        store_digest: Digest of the durable store at that moment, empty where none is kept.
        masked_digest: The same with timestamps and random ids masked, so that runs can be compared; empty where
            nobody asked for it.
        beside: Durable writes, `<name>#<n>`, that were asked for before this one and had not landed when it arrived.
    """

    kind: ClassVar[str] = "boundary_reached"
    incarnation: int
    name: str
    occurrence: int
    phase: Phase
    boundary_kind: BoundaryKind
    source: Injector
    attempt: int | None = None
    thread: str = ""
    blocks_loop: bool = False
    overlapped: bool = False
    store_digest: str = ""
    masked_digest: str = ""
    beside: tuple[str, ...] = ()

    @property
    def boundary(self) -> Boundary:
        """The boundary that was reached."""
        return Boundary(name=self.name, occurrence=self.occurrence, kind=self.boundary_kind)

    @property
    def point_text(self) -> str:
        """`<name>#<occurrence>:<phase>`."""
        return f"{self.name}#{self.occurrence}:{self.phase}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptReceived(_Event):
    """A target has the whole of a request.

    Attributes:
        attempt: Number in the cell, from 1, over all targets.
        incarnation: The life whose process holds the other end of the connection; 0 if that could not be told.
        operation: `<target>.<operation>`.
        occurrence: The how-manieth of that operation in that life; a client's own retries share it.
        effectful: The operation changes the outside world.
        paid: The operation costs money each time it is attempted.
        key: Idempotency key as sent, or as the target makes it out of what was sent; None where there is none.
        payload: Decoded body (JSON, form) or text; redacted and cut to a limit.
        payload_digest: Of the body before redaction; an idempotency key in it does not count.
        headers: Those that may say who is meant, by lower-case name; redacted and cut. Not what every request
            carries, what proves who sends, and keys.
    """

    kind: ClassVar[str] = "attempt_received"
    attempt: int
    incarnation: int
    target: str
    operation: str
    occurrence: int
    method: str
    path: str
    effectful: bool
    paid: bool = False
    key: str | None = None
    payload: Json = None
    payload_digest: str = ""
    query: Json = None
    headers: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectApplied(_Event):
    """A target changed the outside world because of an attempt.

    Attributes:
        identity: What makes two effects the same logical action, by the target's own description; empty where the
            target is not described and identity has to be learned.
        content: What was filed: the decoded payload.
        collection: Where the target keeps the object, empty where it did not say.
        clock_s: The target's virtual time in seconds since the epoch.
    """

    kind: ClassVar[str] = "effect_applied"
    effect: int
    attempt: int
    incarnation: int
    target: str
    operation: str
    object_id: str
    identity: Mapping[str, Json] = field(default_factory=dict)
    content: Json = None
    collection: str = ""
    key: str | None = None
    clock_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptAnswered(_Event):
    """A target decided about an attempt and wrote its answer to the connection.

    Attributes:
        rule: The protection rule that decided, in words.
        cost: What the attempt cost, in the profile's currency, 0 for unpaid ones.
        object_id: The object that the answer speaks of, where it speaks of one.
    """

    kind: ClassVar[str] = "attempt_answered"
    attempt: int
    status: int
    decision: Decision
    rule: str = ""
    object_id: str = ""
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptDropped(_Event):
    """A target dropped the connection of an attempt without an answer.

    Attributes:
        reason: What made it do so; empty where the life had been killed or the client was gone.
    """

    kind: ClassVar[str] = "attempt_dropped"
    attempt: int
    decision: Decision | None = None
    rule: str = ""
    cost: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardedAtDeath(_Event):
    """Bytes of a dead life that a target had not read as a request when its connections were drained."""

    kind: ClassVar[str] = "discarded_at_death"
    incarnation: int
    target: str
    byte_count: int
    complete_request: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientGaveUp(_Event):
    """The worker closed a connection while what it had asked for was parked: parking changed what it did.

    Attributes:
        attempt: Its request to a target; 0 where it was none.
        name: The commit to a store that it was, `<name>#<n>`; empty where it was none.
    """

    kind: ClassVar[str] = "client_gave_up"
    incarnation: int
    attempt: int
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultInjected(_Event):
    """A fault of the schedule struck.

    Attributes:
        fault: Its text form.
        settling: How sure it is that no durable write was in flight.
        settle_s: Real seconds waited for that.
        parked_siblings: Boundaries of other threads or requests of that life that were held meanwhile.
        store_digest: Of the durable store with the worker parked.
    """

    kind: ClassVar[str] = "fault_injected"
    incarnation: int
    fault: str
    settling: Settling
    settle_s: float = 0.0
    parked_siblings: tuple[str, ...] = ()
    store_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncarnationEnded(_Event):
    """A life was over.

    Attributes:
        exit_code: What it exited with, None where a signal ended it.
        signal: The signal that ended it, None where it exited.
        by_harness: The death was ackgap's doing: a fault, a deadline or the end of the cell.
        leftover_count: Processes that outlived the worker's main process and were killed.
        store_digest: Of the durable store after death.
        output_tail: Last lines of what it printed.
        copied: It was not killed in this run: the run begins with a copy of everything that was made while the life
            stood parked at the fault's point, in an undisturbed run (`death: copied-at-park`).
        out_of_memory: The kernel killed it, or some of it, because there was no memory left.
    """

    kind: ClassVar[str] = "incarnation_ended"
    incarnation: int
    exit_code: int | None
    signal: int | None
    by_harness: bool
    leftover_count: int = 0
    store_digest: str = ""
    output_tail: str = ""
    copied: bool = False
    out_of_memory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFinished(_Event):
    """The work counts as finished, and by which rule."""

    kind: ClassVar[str] = "work_finished"
    incarnation: int
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineReported(_Event):
    """What the engine says of the work at the end of a life; `state` is one of `ackgap.model.engine.EngineState`."""

    kind: ClassVar[str] = "engine_reported"
    incarnation: int
    engine: str
    state: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InDoubtSurfaced(_Event):
    """The worker stopped and told a human that it does not know."""

    kind: ClassVar[str] = "in_doubt_surfaced"
    incarnation: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveUp(_Event):
    """No completion within the restarts and the deadline.

    Attributes:
        reason: `crash_loop`, `waiting`, `client_failed`; or `engine_failed`, `engine_unowned`, `engine_waiting`, where
            the engine says why.
        text: The reason in words, read from outside.
    """

    kind: ClassVar[str] = "gave_up"
    reason: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressAttempted(_Event):
    """The worker tried to reach a host that is not this machine, or `HOST:PORT` of one that a target stands for."""

    kind: ClassVar[str] = "egress_attempted"
    incarnation: int
    host: str
    allowed: bool

    @property
    def whom(self) -> str:
        """The host, and why it cannot be reached, for a sentence."""
        other = self.host.count(":") != 1  # an address of IPv6 has more
        return f"{self.host}, which is {'not this machine' if other else 'led to a target at ports 443 and 80 alone'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WroteOutside(_Event):
    """The worker wrote to a path that is not reset between cells."""

    kind: ClassVar[str] = "wrote_outside"
    incarnation: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReported(_Event):
    """A check of the user's own gave its answer: an invariant over the history, or over what the worker left."""

    kind: ClassVar[str] = "check_reported"
    name: str
    passed: bool | None
    text: str = ""
    verdict: str = "diverged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(_Event):
    """Something a reader of the history should know and no verdict follows from by itself."""

    kind: ClassVar[str] = "note"
    code: str
    text: str
    incarnation: int = 0


Event = (
    IncarnationStarted
    | InjectorReady
    | BoundaryReached
    | AttemptReceived
    | EffectApplied
    | AttemptAnswered
    | AttemptDropped
    | DiscardedAtDeath
    | ClientGaveUp
    | FaultInjected
    | IncarnationEnded
    | WorkFinished
    | EngineReported
    | InDoubtSurfaced
    | GaveUp
    | EgressAttempted
    | WroteOutside
    | CheckReported
    | Note
)
