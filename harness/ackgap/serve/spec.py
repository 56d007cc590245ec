"""From the words of `ackgap serve` to the targets that are to be served, each mistake named by its option."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ackgap.errors import UsageInvalid
from ackgap.model.event import Json
from ackgap.scenario.words import NAME_RULE, did_you_mean, is_name
from ackgap.target.mcp.server import MCP_PATH, speaks_mcp
from ackgap.target.profiles.profile import Profile, load_profile
from ackgap.target.profiles.settings import settings_of

__all__ = ["Served", "environment", "offers_tools", "seconds_of", "served_targets"]

_FORM = "[NAME:]PROFILE[=PORT], such as stripe, stripe=4242 or second:stripe=4243"
_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)
_DURATION = re.compile(r"\+?(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>[smhd]?)", re.ASCII)
_UNIT_S = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_LIMIT_S = 100 * 365.25 * 86400
"""How far the clock may be moved: beyond, no service could write the date."""
_AWS_SERVICES = ("s3", "sqs", "dynamodb", "ec2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A target that is to be served.

    Attributes:
        name: Prefix of its operations.
        port: 0 takes a free one.
        protection: How it treats repeats; None takes the profile's default.
        text: As it was written on the command line.
    """

    name: str
    profile: Profile
    port: int = 0
    protection: str | None = None
    settings: Mapping[str, Json] = field(default_factory=dict)
    text: str = ""


def served_targets(
    texts: Sequence[str], *, protections: Sequence[str] = (), settings: Sequence[str] = ()
) -> tuple[Served, ...]:
    """Return the targets of a command line.

    Args:
        texts: `[NAME:]PROFILE[=PORT]`, at least one.
        protections: `NAME=PROTECTION`, or only the protection where one target is served.
        settings: `NAME.SETTING=VALUE`. The value is JSON where it can be read as such, `@FILE` takes it from a file of
            JSON; a setting that is text takes it as it is.

    Raises:
        UsageInvalid: Names the word or option that is wrong.
        ProfileInvalid: A profile cannot be read.
    """
    found: dict[str, Served] = {}
    for text in texts:
        target = _served(text)
        if target.name in found:
            raise UsageInvalid(
                f"Two targets would be called {target.name!r}.",
                where=text,
                next_step=f"Give one of them another name, such as second:{text.rpartition(':')[2]}.",
            )
        if target.port and any(target.port == other.port for other in found.values()):
            raise UsageInvalid(
                f"Two targets would listen on port {target.port}.",
                where=text,
                next_step="Choose another for one of them.",
            )
        found[target.name] = target
    chosen = _protections(protections, found)
    values = settings_of(settings, {name: target.profile for name, target in found.items()})
    return tuple(
        Served(
            name=target.name,
            profile=target.profile,
            port=target.port,
            protection=chosen.get(target.name),
            settings=values.get(target.name, {}),
            text=target.text,
        )
        for target in found.values()
    )


def seconds_of(text: str) -> float:
    """Return the seconds that a duration means: `72h`, `+90m`, `1.5d`, `30`.

    Raises:
        ValueError: It is no duration, or longer than a hundred years.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a duration; write a number and one of s, m, h, d, such as 72h")
    seconds = float(match["number"]) * _UNIT_S[match["unit"]]
    if seconds > _LIMIT_S:
        raise ValueError(f"{text!r} is longer than a hundred years")
    return seconds


def environment(targets: Mapping[str, tuple[Profile, str]]) -> dict[str, str]:
    """Return the variables by which an agent finds the targets: its own, and those that known clients read.

    Args:
        targets: By name: profile and base URL. Where two would set a client's variable, the first does.
    """
    lines: dict[str, str] = {}
    for name, (_, url) in targets.items():
        lines.setdefault(_variable(name, "URL"), url)
    for name, (profile, url) in targets.items():
        if offers_tools(profile):
            lines.setdefault(_variable(name, "MCP"), url + MCP_PATH)
    for profile, url in targets.values():
        for variable, value in _client_variables(profile, url):
            lines.setdefault(variable, value)
    return lines


def offers_tools(profile: Profile) -> bool:
    """Whether an agent may have a service's operations as tools: a model is not one of its own tools."""
    return profile.group != "models" and speaks_mcp(profile, "POST", MCP_PATH)


def _variable(name: str, ending: str) -> str:
    variable = f"{re.sub('[^A-Z0-9]', '_', name.upper())}_{ending}"
    return variable if variable[0].isalpha() else f"TARGET_{variable}"


def _client_variables(profile: Profile, url: str) -> list[tuple[str, str]]:
    paths = {operation.path for operation in profile.operations}
    lines: list[tuple[str, str]] = []
    for ending in ("/chat/completions", "/responses"):
        for path in sorted(path for path in paths if path.endswith(ending)):
            lines += [("OPENAI_BASE_URL", url + path.removesuffix(ending)), ("OPENAI_API_KEY", "unused")]
    if "/v1/messages" in paths:
        lines += [("ANTHROPIC_BASE_URL", url), ("ANTHROPIC_API_KEY", "unused")]
    service = next((service for service in _AWS_SERVICES if re.match(rf"{service}\b", profile.name)), "")
    if service:
        lines.append((f"AWS_ENDPOINT_URL_{service.upper()}", url))
        # Without these its clients send nothing; and a real key has no business in a fake's ledger.
        lines += [("AWS_ACCESS_KEY_ID", "unused"), ("AWS_SECRET_ACCESS_KEY", "unused")]
        lines.append(("AWS_DEFAULT_REGION", "us-east-1"))
    return lines


def _served(text: str) -> Served:
    rest, equals, port = text.rpartition("=")
    if not equals or port.endswith(".toml"):  # a path may hold the sign too
        rest, port = text, "0"
    if not _PORT.fullmatch(port) or not 0 <= int(port) <= 65535:
        raise UsageInvalid(
            f"{port!r} is not a port.", where=text, next_step=f"Write {_FORM}; ports are 1 to 65535, and 0 a free one."
        )
    name, colon, profile_name = rest.partition(":")
    if not colon:
        name, profile_name = "", rest
    if not profile_name:
        raise UsageInvalid(f"{text!r} names no profile.", where=text, next_step=f"Write {_FORM}.")
    profile = load_profile(profile_name)
    # A file of one's own has the name that it gives itself, as a shipped one does.
    name = name if colon else profile.name
    if not is_name(name):
        raise UsageInvalid(f"{name!r} cannot name a target: {NAME_RULE}.", where=text, next_step=f"Write {_FORM}.")
    return Served(name=name, profile=profile, port=int(port), text=text)


def _protections(texts: Sequence[str], targets: Mapping[str, Served]) -> dict[str, str]:
    chosen: dict[str, str] = {}
    for text in texts:
        name, equals, protection = text.partition("=")
        if not equals and len(targets) == 1:
            (name,), protection = targets, text
        elif not equals:
            raise UsageInvalid(
                f"{text!r} does not say whose protection it is.",
                where="--protection",
                next_step="Write NAME=PROTECTION.",
            )
        if name not in targets:
            raise UsageInvalid(
                f"No target {name!r} is served; {did_you_mean(name, targets)}.",
                where=f"--protection {text}",
                next_step="Write NAME=PROTECTION with the name of a target that is served.",
            )
        known = targets[name].profile.protections
        if protection not in known:
            raise UsageInvalid(
                f"The profile {targets[name].profile.name!r} has no protection {protection!r}; "
                f"{did_you_mean(protection, known)}.",
                where=f"--protection {text}",
                next_step=f"`ackgap targets {targets[name].profile.name}` explains each.",
            )
        chosen[name] = protection
    return chosen
