"""Schedule: the faults of one run, and its versioned one-line text form.

The text form is what a person copies from a report: `1/kill@tickets.create#1:applied`. It begins with the version
of the notation, so that a report of today can be replayed, or refused in plain words, by a version of tomorrow.

    schedule = version "/" ( "none" | fault *( ";" fault ) )
    fault    = [ incarnation "." ] kind [ "@" crash-point ] *( "," name "=" value )

A kill in the first incarnation with nothing else has a short form, the crash point alone; reports and cell ids use it.

One life can meet several faults: durable writes that are held, and calls that a target spoils, before the one that
strikes the worker itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ackgap.model.boundary import CrashPoint
from ackgap.model.manner import PLAIN_KILL, FaultKind, Manner

__all__ = ["SCHEDULE_VERSION", "UNDISTURBED", "Fault", "Schedule"]

SCHEDULE_VERSION = 1

_FAULT = re.compile(
    r"(?:(?P<incarnation>[1-9][0-9]{0,3})\.)?(?P<kind>[a-z]+)(?:@(?P<point>[^,;]+))?(?P<options>(?:,[a-z]+=[^,;=]+)*)",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault.

    Attributes:
        manner: What is done.
        point: Where it is done.
        incarnation: In which life, from 1.

    Raises:
        ValueError: There is no such life, or nothing of that kind can be done there.
    """

    point: CrashPoint
    manner: Manner = PLAIN_KILL
    incarnation: int = 1

    def __post_init__(self) -> None:
        if self.incarnation < 1:
            raise ValueError("lives are numbered from 1")
        if self.point.phase not in self.kind.phases:
            allowed = " or ".join(self.kind.phases)
            raise ValueError(f"a fault of kind {self.kind} strikes at {allowed}, not at {self.point.phase}")
        if self.manner.until == str(self.point):
            raise ValueError(f"what begins at {self.point} cannot be over there; name another point with until=")

    def __str__(self) -> str:
        life = f"{self.incarnation}." if self.incarnation != 1 else ""
        kind, comma, options = str(self.manner).partition(",")
        return f"{life}{kind}@{self.point}{comma}{options}"

    @property
    def kind(self) -> FaultKind:
        """What is done."""
        return self.manner.kind

    @property
    def down_s(self) -> float:
        """Virtual seconds until the next life."""
        return self.manner.down_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The faults of one run, in the order of incarnations. No fault at all is the undisturbed run."""

    faults: tuple[Fault, ...] = ()

    def __post_init__(self) -> None:
        by_life = self.by_life
        lives = [fault.incarnation for fault in by_life]
        if lives != sorted(lives):
            raise ValueError("the faults of a schedule stand in the order of incarnations")
        struck = [fault.incarnation for fault in by_life if fault.kind.strikes_worker]
        if len(struck) != len(set(struck)):
            raise ValueError(
                "a life ends or is paused once: a schedule has at most one such fault for each incarnation"
            )
        places = [(fault.incarnation, fault.point) for fault in by_life]
        if len(places) != len(set(places)):
            raise ValueError("two faults of a schedule strike at the same point of the same incarnation")

    def __str__(self) -> str:
        return f"{SCHEDULE_VERSION}/{';'.join(str(fault) for fault in self.faults) or 'none'}"

    @property
    def label(self) -> str:
        """The short form for ids and reports."""
        if not self.faults:
            return "undisturbed"
        if self.manner == PLAIN_KILL:
            return str(self.faults[0].point)
        return ";".join(str(fault) for fault in self.faults)

    @property
    def manner(self) -> Manner | None:
        """What is done, where that is one fault in the first life: a reader compares such faults point by point."""
        if len(self.faults) == 1 and self.faults[0].incarnation == 1:
            return self.faults[0].manner
        return None

    def faults_in(self, incarnation: int) -> tuple[Fault, ...]:
        """Return the faults of that life."""
        return tuple(
            replace(fault, incarnation=incarnation)
            for fault in self.faults
            if fault.incarnation <= incarnation < fault.incarnation + fault.manner.lives
        )

    @property
    def depth(self) -> int:
        """How many lives it strikes: 1 is one crash, 2 is a crash and another one during the recovery."""
        return sum(fault.manner.lives for fault in self.faults if fault.kind.strikes_worker)

    @property
    def repeats(self) -> int:
        """In how many runs it is carried out: more than one where it races the worker."""
        return max((fault.manner.unsettled for fault in self.faults), default=0) or 1

    def then(self, fault: Fault) -> Schedule:
        """Return the schedule that goes on with a fault."""
        return Schedule(faults=(*self.faults, fault))

    @property
    def by_life(self) -> tuple[Fault, ...]:
        """The faults life by life: one that is done in several lives is there for each of them."""
        return tuple(
            replace(fault, incarnation=fault.incarnation + place)
            for fault in self.faults
            for place in range(fault.manner.lives)
        )

    @classmethod
    def kill(cls, point: CrashPoint, *, down_s: float = 0.0) -> Schedule:
        """Return the schedule that kills the first incarnation at a point."""
        return cls(faults=(Fault(point=point, manner=Manner(down_s=down_s)),))

    @classmethod
    def parse(cls, text: str) -> Schedule:
        """Read the text form, long or short.

        Raises:
            ValueError: The text is not a schedule, or one of another version.
        """
        version, slash, body = text.partition("/")
        if slash and version.isascii() and version.isdigit():
            if version != str(SCHEDULE_VERSION):
                raise ValueError(
                    f"{text!r} is written in version {version[:20]} of the notation; this ackgap reads "
                    f"version {SCHEDULE_VERSION}"
                )
        else:
            body = text
        if body in {"none", "undisturbed"}:
            return UNDISTURBED
        return cls(faults=tuple(_parse_fault(part) for part in body.split(";")))


UNDISTURBED = Schedule()


def _parse_fault(text: str) -> Fault:
    match = _FAULT.fullmatch(text)
    if match is None or match["point"] is None:
        _refuse_mistake(text)
        return Fault(point=CrashPoint.parse(text))
    return Fault(
        point=CrashPoint.parse(match["point"]),
        manner=Manner.parse(f"{match['kind']}{match['options']}"),
        incarnation=int(match["incarnation"] or 1),
    )


def _refuse_mistake(text: str) -> None:
    """Say what is wrong with a text that was meant for a fault with its kind or options, and is none.

    Raises:
        ValueError: It has an `@` or an option; no crash point has.
    """
    what, at, where = text.partition("@")
    if not at:
        if "," in text:
            raise ValueError(f"{text!r} has options and no kind of fault; write it like kill@{text}")
        return
    point, *options = where.split(",")
    life, dot, word = what.rpartition(".")
    if dot and not re.fullmatch(r"[1-9][0-9]{0,3}", life, re.ASCII):
        raise ValueError(f"{life!r} in {text!r} is no number of a life; they are counted from 1")
    Manner.parse(",".join([word, *options]))
    CrashPoint.parse(point)
    raise ValueError(f"{text!r} is not a fault; write <kind>@<boundary>#<n>:<phase>,<option>=<value>")
