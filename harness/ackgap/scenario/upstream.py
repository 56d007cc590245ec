"""Targets that stand in front of a real service: what the command line changes about them, and what is refused."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import urlsplit

from ackgap.errors import UsageInvalid
from ackgap.scenario.scenario import Scenario, TargetSpec
from ackgap.scenario.words import did_you_mean

__all__ = ["UpstreamOptions", "check_hosts", "is_this_machine", "upstream_mistakes", "with_options"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamOptions:
    """What the command line says about upstreams.

    Attributes:
        upstreams: `NAME=URL`.
        replays: `NAME=FILE`.
        record: File or directory that answers are recorded in.
        allow_hosts: Hosts that may be reached.
    """

    upstreams: tuple[str, ...] = ()
    replays: tuple[str, ...] = ()
    record: str | None = None
    allow_hosts: tuple[str, ...] = ()


def upstream_mistakes(
    target: TargetSpec, key: tuple[str | int, ...]
) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield what is wrong about a target's upstream and recording: key, mistake and next step."""
    if target.upstream is not None and (wrong := _url_mistake(target.upstream)):
        yield (*key, "upstream"), f"{wrong}.", "Write the service's base URL, such as https://api.example.com/v1."
    if target.upstream is not None and target.replay is not None:
        yield (
            (*key, "replay"),
            f"{target.name!r} cannot both ask an upstream and replay what was recorded of one.",
            "Leave out one of them; --replay NAME=FILE takes the upstream's place.",
        )
    if target.replay is not None and not target.replay.is_file():
        yield (
            (*key, "replay"),
            f"There is no recording {str(target.replay)!r}.",
            "Make one with --record, or correct the path: it is relative to the scenario.",
        )


def _url_mistake(url: str) -> str:
    try:
        parts = urlsplit(url)
        port_is_one = parts.port is None or parts.port > 0
    except ValueError as error:
        return f"{url!r} is no URL: {error}"
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_one:
        return f"{url!r} is no URL of http or https"
    if parts.username or parts.password:
        return "credentials do not belong into an upstream's URL: the worker sends its own"
    if parts.query or parts.fragment:
        return f"{url!r} has a query or fragment, which a base URL cannot have"
    if not url.isascii() or any(character.isspace() for character in url):
        return f"{url!r} has characters that no URL can have"
    return ""


def with_options(scenario: Scenario, options: UpstreamOptions) -> Scenario:
    """Return a scenario with what the command line says about upstreams.

    Raises:
        UsageInvalid: A target does not exist, a URL is none, there is nothing to record.
    """
    upstreams = _pairs(options.upstreams, "--upstream NAME=URL", scenario)
    replays = _pairs(options.replays, "--replay NAME=FILE", scenario)
    both = sorted(upstreams.keys() & replays.keys())
    if both:
        raise UsageInvalid(
            f"{both[0]!r} cannot both ask an upstream and replay what was recorded of one",
            where="--replay",
            next_step="leave out --upstream for it",
        )
    targets = []
    for target in scenario.targets:
        if target.name in upstreams:
            target = replace(target, upstream=upstreams[target.name], replay=None)  # noqa: PLW2901
        if target.name in replays:
            file = Path(replays[target.name]).expanduser().absolute()
            target = replace(target, replay=file, upstream=None)  # noqa: PLW2901
        for key, what, next_step in upstream_mistakes(target, ()):
            raise UsageInvalid(what.rstrip("."), where=f"--{key[0]} {target.name}=...", next_step=next_step)
        targets.append(target)
    hosts = dict.fromkeys((*scenario.worker.allow_hosts, *options.allow_hosts))
    worker = replace(scenario.worker, allow_hosts=tuple(hosts))
    changed = replace(scenario, targets=tuple(targets), worker=worker)
    return changed if options.record is None else _recorded(changed, options.record)


def _recorded(scenario: Scenario, record: str) -> Scenario:
    """Return the scenario with a file for the answers of each upstream."""
    live = [target.name for target in scenario.targets if target.upstream is not None]
    if not live:
        raise UsageInvalid(
            "there is nothing to record: no target has an upstream",
            where=f"--record {record}",
            next_step="name the service with --upstream NAME=URL",
        )
    path = Path(record).expanduser().absolute()
    one_file = path.suffix == ".jsonl"
    if one_file and len(live) > 1:
        raise UsageInvalid(
            f"{', '.join(live)} cannot be recorded in one file",
            where=f"--record {record}",
            next_step="name a directory: each gets a file in it",
        )
    files = {name: path if one_file else path / f"{name}.jsonl" for name in live}
    return replace(
        scenario, targets=tuple(replace(target, record=files.get(target.name)) for target in scenario.targets)
    )


def _pairs(texts: Sequence[str], option: str, scenario: Scenario) -> Mapping[str, str]:
    names = [target.name for target in scenario.targets]
    found: dict[str, str] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not value:
            raise UsageInvalid(f"{text!r} has nothing on one side of '='", where=option, next_step=f"write {option}")
        if name not in names:
            raise UsageInvalid(
                f"there is no target {name!r}; {did_you_mean(name, names)}",
                where=option,
                next_step="name a target of the scenario, or one of --target NAME=PROFILE",
            )
        found[name] = value
    return found


def is_this_machine(host: str) -> bool:
    """Whether a host is this machine, by its name or address alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost" or host.lower().endswith(".localhost")


def check_hosts(scenario: Scenario) -> None:
    """Refuse upstreams on other machines that nobody has allowed.

    Raises:
        UsageInvalid: Names target and host.
    """
    for target in scenario.targets:
        host = target.upstream_host
        if host and not is_this_machine(host) and not _is_allowed(host, scenario.worker.allow_hosts):
            raise UsageInvalid(
                f"the target {target.name!r} would send every request of every cell on to {host}, which is not this "
                "machine, and nobody has allowed that",
                where=f"targets.{target.name}.upstream",
                next_step=f"if it is a staging or sandbox service that may be charged again and again, add "
                f"--allow-host {host}",
            )


def _is_allowed(host: str, allowed: Sequence[str]) -> bool:
    return any(fnmatchcase(host.lower(), pattern.lower().partition(":")[0]) for pattern in allowed)
