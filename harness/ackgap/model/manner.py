"""Manner: what a fault is, wherever it strikes, and its text form: `kill,down=72h`.

What is done to the worker (killed, told to end, paused), to one of its durable writes (held), by a target to one of its
calls (answer lost, sent twice), or to a link of the network (a toxic), and what goes with it: time that passes, further
lives that end the same way, a service that is gone meanwhile, another release that comes after.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from ackgap.model.boundary import STREAM_PHASES, CrashPoint, Phase

__all__ = ["PLAIN_KILL", "FaultKind", "Manner"]

_DURATION = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>s|m|h|d)", re.ASCII)
_UNIT_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DOWN_LIMIT_S = 100 * 365 * 86400.0  # the targets' clock tells dates, and those end in the year 9999
_FOR_LIMIT_S = 3600.0
_LIVES_LIMIT = 1000


class FaultKind(StrEnum):
    """What is done: to the worker, or by a target to one of its calls."""

    KILL = "kill"
    """SIGKILL to everything that the worker started."""
    TERM = "term"
    """SIGTERM to the worker's process, as a deploy does; SIGKILL once its grace is over. Another life follows."""
    PAUSE = "pause"
    """The incarnation is stopped, the next one starts and runs to its end, then the stopped one wakes up."""
    DISCONNECT = "disconnect"
    """A container is cut off from its network, the next life runs to its end, then the first is connected again."""
    OOM = "oom"
    """A container is left no memory, so that the kernel kills what runs in it. Another life follows."""
    HOLD = "hold"
    """A durable write waits until another one has landed: the order that the worker's own timing would not show."""
    LOSE = "lose"
    """The effect is applied, and its answer, or the rest of it, lost: the connection ends without it."""
    RESET = "reset"
    """The connection is reset before anything has happened."""
    FAIL = "fail"
    """The target answers with an error status: at `received` instead of doing it, at `applied` although it is done."""
    SLOW = "slow"
    """The answer is held back for some real seconds, or until the client no longer waits."""
    TWICE = "twice"
    """The request is delivered twice, as by a proxy that repeats it."""
    TOXIC = "toxic"
    """A toxic of the scenario is switched on in a link of the network, and off again later."""

    @property
    def strikes_worker(self) -> bool:
        """Whether it is done to the worker as a whole, which does not go on from there by itself."""
        return self in (FaultKind.KILL, FaultKind.TERM, FaultKind.OOM) or self.overlaps

    @property
    def overlaps(self) -> bool:
        """Whether the life that it strikes lives on beside its successors."""
        return self in (FaultKind.PAUSE, FaultKind.DISCONNECT)

    @property
    def needs_container(self) -> bool:
        """Whether it can be done only to a worker in a container."""
        return self in (FaultKind.DISCONNECT, FaultKind.OOM)

    @property
    def strikes_call(self) -> bool:
        """Whether a target does it to one call; the worker lives on."""
        return not self.strikes_worker and self not in (FaultKind.HOLD, FaultKind.TOXIC)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """Phases at which it can strike."""
        return _PHASES.get(self, _EVERY_PHASE)

    @property
    def options(self) -> tuple[str, ...]:
        """Options that it takes, as the text form has them."""
        return _OPTIONS.get(self, ())


_EVERY_PHASE = tuple(Phase)
_PHASES = {
    FaultKind.HOLD: (Phase.COMMITTING,),
    FaultKind.LOSE: (Phase.APPLIED, *STREAM_PHASES),
    FaultKind.RESET: (Phase.RECEIVED,),
    FaultKind.FAIL: (Phase.RECEIVED, Phase.APPLIED),
    FaultKind.SLOW: (Phase.APPLIED,),
    FaultKind.TWICE: (Phase.RECEIVED,),
}
_OPTIONS = {
    FaultKind.KILL: ("down", "stale", "lives", "without", "for", "heirs", "release", "unsettled"),
    FaultKind.TERM: ("down", "stale", "for", "release"),
    FaultKind.PAUSE: ("down", "stale", "release"),
    FaultKind.DISCONNECT: ("down", "stale", "release"),
    FaultKind.OOM: ("down", "stale", "release"),
    FaultKind.HOLD: ("until",),
    FaultKind.LOSE: ("stale",),
    FaultKind.FAIL: ("status",),
    FaultKind.SLOW: ("for",),
    FaultKind.TOXIC: ("name", "until", "for"),
}
_DEFAULT_STATUS = 503
_DEFAULT_FOR_S = 30.0
_DEFAULT_OUTAGE_S = 3.0
_DEFAULT_GRACE_S = 5.0
_HEIRS_LIMIT = 4
_REPEATS_LIMIT = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """What a fault is, wherever it strikes; its text form is `kill,down=72h`.

    Attributes:
        kind: What is done.
        down_s: Virtual seconds that pass between this death and the next life; at most a hundred years.
        stale_s: From then on lookups do not see objects that are younger than so many virtual seconds.
        status: HTTP status that `fail` answers with.
        for_s: Real seconds for which `slow` holds an answer back, for which the service of `without` is gone at most,
            which `term` leaves to the worker, or after which `toxic` is over, in whichever life.
        lives: In how many lives one after the other it is done, each time at the same point of that life.
        without: Name of a service that is stopped before the next life begins. It is back once that life has ended by
            itself, or `for_s` later.
        heirs: How many lives begin at once after this death. They pass their boundaries in turn.
        release: Name of the scenario's release that the lives after it run; empty leaves it as it is.
        until: Boundary, `<name>#<n>`, that has to land before the write that is held may; for `toxic` the point,
            `<name>#<n>:<phase>`, at which it is over, in the life in which it began.
        unsettled: Strike at once, whatever is being written, and do so in this many runs; 0 waits for what is in
            flight, in one run.
        name: The scenario's name for the toxic.

    Raises:
        ValueError: A duration is negative, too long or not a number, the status is no error, nothing can be done in
            so many lives, or two options exclude each other.
    """

    kind: FaultKind = FaultKind.KILL
    down_s: float = 0.0
    stale_s: float = 0.0
    status: int = 0
    for_s: float = 0.0
    lives: int = 1
    without: str = ""
    heirs: int = 1
    release: str = ""
    until: str = ""
    unsettled: int = 0
    name: str = ""

    def __post_init__(self) -> None:
        for seconds in (self.down_s, self.stale_s):
            if not 0 <= seconds <= _DOWN_LIMIT_S:
                raise ValueError("virtual time passes by no less than 0 seconds and no more than 100 years")
        if not 0 <= self.for_s <= _FOR_LIMIT_S:
            raise ValueError(
                f"what lasts for real seconds lasts no more than {_FOR_LIMIT_S:g} seconds, and not less than 0"
            )
        if not 1 <= self.lives <= _LIVES_LIMIT:
            raise ValueError(f"it is done in one life or more, and in no more than {_LIVES_LIMIT}")
        if self.without and self.lives != 1:
            raise ValueError("a service is stopped once; leave out lives or without")
        if not 1 <= self.heirs <= _HEIRS_LIMIT:
            raise ValueError(f"one life or more begins after a death, and no more than {_HEIRS_LIMIT} at once")
        if self.heirs != 1 and self.lives != 1:
            raise ValueError("several lives at once begin after one death; leave out lives or heirs")
        if not 0 <= self.unsettled <= _REPEATS_LIMIT:
            raise ValueError(f"what races the worker is repeated no more than {_REPEATS_LIMIT} times")
        if (self.kind is FaultKind.TOXIC) != bool(self.name):
            raise ValueError("'toxic' needs to know which one: name=<one of the scenario's [toxics]>")
        if self.kind is not FaultKind.TOXIC and (self.kind is FaultKind.HOLD) != bool(self.until):
            raise ValueError("'hold' needs to know what is to land first: until=<boundary>#<n>")
        if self.status and not 400 <= self.status <= 599:
            raise ValueError(f"{self.status} is no status of an error; write one from 400 to 599")

    def __str__(self) -> str:
        texts = {
            "name": self.name,
            "down": _duration(self.down_s) if self.down_s else "",
            "stale": _duration(self.stale_s) if self.stale_s else "",
            "status": str(self.status) if self.status else "",
            "lives": str(self.lives) if self.lives != 1 else "",
            "without": self.without,
            "for": _duration(self.for_s) if self.for_s else "",
            "heirs": str(self.heirs) if self.heirs != 1 else "",
            "release": self.release,
            "until": self.until,
            "unsettled": str(self.unsettled) if self.unsettled else "",
        }
        return str(self.kind) + "".join(f",{name}={text}" for name, text in texts.items() if text)

    def strikes_at(self, point: CrashPoint) -> bool:
        """Whether it is tried there, where every point is tried.

        An error that says that nothing was done (4xx but 409) is tried only where that is true. A schedule may lie.
        """
        honest = 400 <= self.status < 500 and self.status != 409
        return point.phase in self.kind.phases and not (honest and point.phase is Phase.APPLIED)

    @property
    def words(self) -> str:
        """What it is, for a reader: `answer lost`, `killed, 72h down`."""
        text = {
            FaultKind.KILL: "killed",
            FaultKind.TERM: f"told to end, killed {_duration(self.for_s)} later",
            FaultKind.PAUSE: "paused while another takes over",
            FaultKind.DISCONNECT: "cut off while another takes over",
            FaultKind.OOM: "out of memory",
            FaultKind.HOLD: f"held until {self.until} has landed",
            FaultKind.LOSE: "answer lost",
            FaultKind.RESET: "connection reset",
            FaultKind.FAIL: f"answered {self.status}",
            FaultKind.SLOW: f"answer {_duration(self.for_s)} late",
            FaultKind.TWICE: "delivered twice",
            FaultKind.TOXIC: f"network: {self.name}{self._how_long}",
        }[self.kind]
        text += f" in {self.lives} lives" if self.lives != 1 else ""
        text += f", {_duration(self.down_s)} down" if self.down_s else ""
        text += f", then without {self.without}" if self.without else ""
        text += f", {self.heirs} take over at once" if self.heirs != 1 else ""
        text += f", then release {self.release}" if self.release else ""
        text += f" unsettled, {self.unsettled} times" if self.unsettled else ""
        return text + (f", lookups {_duration(self.stale_s)} behind" if self.stale_s else "")

    @property
    def _how_long(self) -> str:
        """When a toxic is over, in words; at the end of its life where nothing is said."""
        parts = (f" until {self.until}" if self.until else "", f" for {_duration(self.for_s)}" if self.for_s else "")
        return " or".join(part for part in parts if part)

    @classmethod
    def parse(cls, text: str) -> Manner:
        """Read the text form; a status or duration that is not given has its default.

        Raises:
            ValueError: The text is not a fault without its point.
        """
        word, *options = text.split(",")
        try:
            kind = FaultKind(word)
        except ValueError:
            raise ValueError(f"{word!r} is not a fault; write one of {', '.join(FaultKind)}") from None
        pairs = [_known_option(kind, option) for option in options]
        values = dict(pairs)
        twice = next((name for place, (name, _) in enumerate(pairs) if name in dict(pairs[:place])), None)
        if twice is not None:
            raise ValueError(f"{twice!r} is there twice; say it once")
        if kind is FaultKind.KILL and "for" in values and "without" not in values:
            raise ValueError("'for' says how long the service of 'without' is gone, and there is none")
        default_for_s = {FaultKind.SLOW: _DEFAULT_FOR_S, FaultKind.TERM: _DEFAULT_GRACE_S}.get(kind, 0.0)
        default_for_s = _DEFAULT_OUTAGE_S if "without" in values else default_for_s
        default_status = _DEFAULT_STATUS if kind is FaultKind.FAIL else 0
        return cls(
            kind=kind,
            down_s=_parse_duration(values["down"]) if "down" in values else 0.0,
            stale_s=_parse_duration(values["stale"]) if "stale" in values else 0.0,
            status=_parse_status(values["status"]) if "status" in values else default_status,
            for_s=_parse_duration(values["for"]) if "for" in values else default_for_s,
            lives=_parse_count("lives", values["lives"]) if "lives" in values else 1,
            without=values.get("without", ""),
            heirs=_parse_count("heirs", values["heirs"]) if "heirs" in values else 1,
            release=values.get("release", ""),
            until=_parse_until(kind, values["until"]) if "until" in values else "",
            unsettled=_parse_count("unsettled", values["unsettled"]) if "unsettled" in values else 0,
            name=values.get("name", ""),
        )


def _known_option(kind: FaultKind, option: str) -> tuple[str, str]:
    name, _, value = option.partition("=")
    known = kind.options
    if name not in known:
        takes = f"takes {', '.join(known)}" if known else "takes no option"
        example = ", such as down=72h" if "down" in known else ""
        raise ValueError(f"{name!r} is not an option of a fault of kind {kind}, which {takes}{example}")
    if not value:
        raise ValueError(f"option {name!r} has no value; write it as {name}=..., or leave it out")
    return name, value


def _parse_status(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{2}", text, re.ASCII):
        raise ValueError(f"{text!r} is not an HTTP status; write a number from 400 to 599")
    return int(text)


def _parse_count(name: str, text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text, re.ASCII):
        what = {"lives": "number of lives", "heirs": "number of lives"}.get(name, "number of runs")
        raise ValueError(f"{text!r} is not a {what}; write one such as {name}=3")
    return int(text)


def _parse_until(kind: FaultKind, text: str) -> str:
    if kind is FaultKind.TOXIC:
        return str(CrashPoint.parse(text))
    point = CrashPoint.parse(f"{text}:{Phase.COMMITTED}")
    return str(point.boundary)


PLAIN_KILL = Manner()


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
