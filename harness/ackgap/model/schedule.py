"""Schedule: the faults of one run, and its versioned one-line text form.

The text form is what a person copies from a report: `1/kill@tickets.create#1:applied`. It begins with the version
of the notation, so that a report of today can be replayed, or refused in plain words, by a version of tomorrow.

    schedule = version "/" ( "none" | fault *( ";" fault ) )
    fault    = [ incarnation "." ] kind [ "@" crash-point ] *( "," name "=" value )

A kill in the first incarnation with nothing else has a short form, the crash point alone; reports and cell ids use it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from ackgap.model.boundary import CrashPoint

__all__ = ["SCHEDULE_VERSION", "UNDISTURBED", "Fault", "FaultKind", "Schedule"]

SCHEDULE_VERSION = 1

_FAULT = re.compile(
    r"(?:(?P<incarnation>[1-9][0-9]{0,3})\.)?(?P<kind>[a-z]+)(?:@(?P<point>[^,;]+))?(?P<options>(?:,[a-z]+=[^,;=]+)*)",
    re.ASCII,
)
_DURATION = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>s|m|h|d)", re.ASCII)
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DOWN_LIMIT_S = 100 * 365 * 86400.0  # the targets' clock tells dates, and those end in the year 9999


class FaultKind(StrEnum):
    """What is done to the worker."""

    KILL = "kill"
    """SIGKILL to everything that the worker started."""
    PAUSE = "pause"
    """The incarnation is stopped, the next one starts and runs to its end, then the stopped one wakes up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault.

    Attributes:
        kind: What is done.
        point: Where it is done.
        incarnation: In which life, from 1.
        down_s: Virtual seconds that pass between this death and the next life; at most a hundred years.

    Raises:
        ValueError: The duration is negative, too long or not a number, or there is no such life.
    """

    kind: FaultKind
    point: CrashPoint
    incarnation: int = 1
    down_s: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.down_s <= _DOWN_LIMIT_S:
            raise ValueError("a worker stays down for no less than 0 seconds and no more than 100 years")
        if self.incarnation < 1:
            raise ValueError("lives are numbered from 1")

    def __str__(self) -> str:
        down = f",down={_duration(self.down_s)}" if self.down_s else ""
        life = f"{self.incarnation}." if self.incarnation != 1 else ""
        return f"{life}{self.kind}@{self.point}{down}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The faults of one run, in the order of incarnations. No fault at all is the undisturbed run."""

    faults: tuple[Fault, ...] = ()

    def __post_init__(self) -> None:
        lives = [fault.incarnation for fault in self.faults]
        if lives != sorted(set(lives)):
            raise ValueError("a schedule has at most one fault for each incarnation, in the order of incarnations")

    def __str__(self) -> str:
        return f"{SCHEDULE_VERSION}/{';'.join(str(fault) for fault in self.faults) or 'none'}"

    @property
    def label(self) -> str:
        """The short form for ids and reports."""
        if not self.faults:
            return "undisturbed"
        if len(self.faults) == 1:
            fault = self.faults[0]
            if fault.kind is FaultKind.KILL and fault.incarnation == 1 and not fault.down_s:
                return str(fault.point)
        return ";".join(str(fault) for fault in self.faults)

    def fault_in(self, incarnation: int) -> Fault | None:
        """Return the fault of that life, if it has one."""
        return next((fault for fault in self.faults if fault.incarnation == incarnation), None)

    @classmethod
    def kill(cls, point: CrashPoint, *, down_s: float = 0.0) -> Schedule:
        """Return the schedule that kills the first incarnation at a point."""
        return cls(faults=(Fault(kind=FaultKind.KILL, point=point, down_s=down_s),))

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
        return Fault(kind=FaultKind.KILL, point=CrashPoint.parse(text))
    try:
        kind = FaultKind(match["kind"])
    except ValueError:
        raise ValueError(f"{match['kind']!r} is not a fault; write one of {', '.join(FaultKind)}") from None
    down_s = 0.0
    for option in match["options"].split(",")[1:]:
        name, _, value = option.partition("=")
        if name != "down":
            raise ValueError(f"{name!r} is not an option of a fault; write down=<duration>, such as down=72h")
        down_s = _parse_duration(value)
    return Fault(
        kind=kind,
        point=CrashPoint.parse(match["point"]),
        incarnation=int(match["incarnation"] or 1),
        down_s=down_s,
    )


def _parse_duration(text: str) -> float:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write a number and one of s, m, h, d, such as 72h")
    return float(match["number"]) * _UNIT_S[match["unit"]]


def _duration(seconds: float) -> str:
    for unit in ("d", "h", "m"):
        if seconds >= _UNIT_S[unit] and seconds % _UNIT_S[unit] == 0:
            return f"{int(seconds // _UNIT_S[unit])}{unit}"
    # Every digit and never an exponent, so that reading it back gives the same number.
    return f"{int(seconds)}s" if seconds == int(seconds) else f"{Decimal(repr(seconds)):f}s"
