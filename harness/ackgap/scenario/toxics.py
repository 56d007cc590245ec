"""What a scenario says of its toxics: faults of the network on the way from the worker to a target or service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ackgap.scenario.words import did_you_mean

__all__ = ["DOWN", "TOXIC_TYPES", "ToxicSpec", "toxic_mistakes"]

DOWN = "down"
"""No toxic of Toxiproxy's: the whole link refuses connections, and those that there are end."""


@dataclass(frozen=True, slots=True)
class _Type:
    """What a type of toxic takes: attributes that it needs, and that it may have."""

    needs: tuple[str, ...] = ()
    may_have: tuple[str, ...] = ()


TOXIC_TYPES: Mapping[str, _Type] = {
    "latency": _Type(needs=("latency",), may_have=("jitter",)),
    "bandwidth": _Type(needs=("rate",)),
    "slow_close": _Type(needs=("delay",)),
    "timeout": _Type(may_have=("timeout",)),
    "reset_peer": _Type(may_have=("timeout",)),
    "slicer": _Type(needs=("average_size",), may_have=("size_variation", "delay")),
    "limit_data": _Type(needs=("bytes",)),
    DOWN: _Type(),
}
"""By Toxiproxy's own names, in its own units: milliseconds, KB/s, bytes, and microseconds for `delay` of `slicer`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToxicSpec:
    """One toxic that a fault can switch on.

    Attributes:
        name: The scenario's name for it.
        link: Name of the target or service whose link it is in; that link leads through Toxiproxy in every run.
        type: A key of `TOXIC_TYPES`.
        stream: `downstream` for what comes to the worker, `upstream` for what it sends.
        attributes: Of its type.
    """

    name: str
    link: str
    type: str
    stream: str = "downstream"
    attributes: Mapping[str, int] = field(default_factory=dict)

    @property
    def words(self) -> str:
        """What it is, for a reader: `limit_data, downstream, bytes=0`."""
        if self.type == DOWN:
            return "the link is down"
        return ", ".join((self.type, self.stream, *(f"{key}={value}" for key, value in self.attributes.items())))


def toxic_mistakes(spec: ToxicSpec, links: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the key, what is wrong with it, and what to do, for what a single toxic can get wrong.

    Args:
        spec: The toxic.
        links: Names of the scenario's targets and services.
    """
    if spec.link not in links:
        yield (
            "link",
            f"There is no target or service {spec.link!r}; {did_you_mean(spec.link, links)}.",
            "Name what the worker reaches over the link.",
        )
    known = TOXIC_TYPES[spec.type]
    allowed = (*known.needs, *known.may_have)
    for key in spec.attributes:
        if key not in allowed:
            takes = f"takes {', '.join(allowed)}" if allowed else "takes no attribute"
            yield key, f"A toxic of type {spec.type!r} has no {key!r}; it {takes}.", "Remove the key."
    for key in known.needs:
        if key not in spec.attributes:
            yield key, f"A toxic of type {spec.type!r} needs {key!r}.", f"Write {key} = ..., in Toxiproxy's units."
    if spec.type == DOWN and spec.stream != "downstream":
        yield "stream", "A link that is down is down both ways.", "Remove the key."
