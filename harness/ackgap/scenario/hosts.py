"""Hosts that targets stand for, for workers that cannot be told an address."""

from __future__ import annotations

import contextlib
import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ackgap.errors import UsageInvalid
from ackgap.scenario.words import did_you_mean

if TYPE_CHECKING:
    from ackgap.scenario.scenario import Scenario

__all__ = ["host_mistakes", "hosts_of_options", "plain_host"]

_LABEL = r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})+")
_LONGEST = 253
_FORM = "HOST=NAME, such as api.stripe.com=stripe"


def plain_host(text: str) -> str:
    """Return a host as it is compared."""
    return text.lower().rstrip(".")


def host_mistakes(scenario: Scenario) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield the key, what is wrong with it, and what to do."""
    seen: dict[str, str] = {}
    for target in scenario.targets:
        for place, host in enumerate(target.hosts):
            key = ("targets", target.name, "hosts", place)
            if what := _no_host(host):
                yield key, what, _instead(host)
            elif host in seen:
                yield key, f"Both {seen[host]!r} and {target.name!r} stand for {host}.", "Remove one."
            seen.setdefault(host, target.name)
        if not target.hosts:
            continue
        if target.name in scenario.links:
            yield (
                ("targets", target.name, "hosts"),
                "Calls to a host would go past Toxiproxy, which stands before the target's own address.",
                "Tell the worker the address, {" + target.name + ".url}, or leave out the toxics of that link.",
            )
        if scenario.worker.container is not None:
            yield (
                ("targets", target.name, "hosts"),
                "A worker in a container cannot have this.",
                "Tell the worker the target's address: {" + target.name + ".url}.",
            )


def hosts_of_options(texts: Sequence[str], names: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Return the hosts of each target that `--host HOST=NAME` names.

    Raises:
        UsageInvalid: One is not of that form, or there is no such target.
    """
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        host, _, name = text.partition("=")
        if not host or not name:
            raise UsageInvalid(f"{text!r} is not of the form {_FORM}.", where="--host", next_step=f"Write {_FORM}.")
        if name not in names:
            raise UsageInvalid(
                f"There is no target {name!r}; {did_you_mean(name, names)}.",
                where="--host",
                next_step="Name a target as in --target NAME=PROFILE.",
            )
        found[name] = (*found.get(name, ()), plain_host(host))
    return found


def _no_host(host: str) -> str:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        pass
    else:
        return f"{host!r} is an address: nobody asks for a name that could be answered."
    if host == "localhost" or host.endswith(".localhost"):
        return f"{host!r} is this machine."
    if re.fullmatch(_LABEL, host):
        return f"{host!r} is no host's name: one without a dot cannot be led to a target."
    return "" if _is_name(host) else f"{host!r} is no host's name."


def _is_name(host: str) -> bool:
    return _HOST.fullmatch(host) is not None and len(host) <= _LONGEST


def _instead(host: str) -> str:
    """Return what to write in the place of what is no host's name."""
    if not host.isascii():
        with contextlib.suppress(UnicodeError):  # an empty label, or one that is too long
            if _is_name(asked := host.encode("idna").decode()):
                return f"Write it as it is asked for: {asked}."
    return "Write a host's name alone, such as api.stripe.com; its ports are 443 and 80."
