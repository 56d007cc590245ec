"""Which fake services a worker needs, and how it is told their addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from ackgap.starting.catalogue import AWS_PROFILES, MODELS, SDKS, Sdk, vendor_of
from ackgap.starting.draft import DraftTarget, Remarks, Setting
from ackgap.starting.facts import Entry, SourceFacts, Value
from ackgap.starting.profiles import near_profile
from ackgap.starting.tools import script_of
from ackgap.starting.variables import Kind, Read

__all__ = ["Fitted", "fit_targets"]

_ENDS = re.compile(
    r"(_?(BASE|API|SERVICE|SERVER))*_?(URL|URI|ENDPOINT|BASE|HOST|HOSTNAME|ADDR|ADDRESS|ROOT|MCP)$|_API$"
)
_MODEL = re.compile(r"(^|_)(MODEL|LLM|OPENAI|GPT|COMPLETIONS?|INFERENCE)(_|$)")
_CHAT = ("/chat/completions", "/v1/responses")
_ADDRESS_WORDS = (
    "base_url",
    "host",
    "api_base",
    "openai_api_base",
    "anthropic_api_url",
    "url",
    "endpoint_url",
    "server",
)
_RESERVED = frozenset({"worker", "cell"})


@dataclass(slots=True)
class Fitted:
    """Fake services and the variables that lead to them, as they are collected.

    Attributes:
        targets: By name.
        settings: Variables of the worker.
        remarks: What a person is told.
        near: The described profile whose paths are in the sources, empty where there is none.
    """

    remarks: Remarks
    near: str = ""
    targets: dict[str, DraftTarget] = field(default_factory=dict)
    settings: dict[str, Setting] = field(default_factory=dict)

    def target(self, wanted: str, profile: str, *why: str) -> str:
        """Add a target, or find the one that is there for the same service, and return its name."""
        same = self.targets.get(wanted)
        if same is not None and same.profile == profile:
            return wanted
        name, number = wanted, 1
        while name in self.targets or name in _RESERVED:
            number += 1
            name = f"{wanted}{number}"
        self.targets[name] = DraftTarget(name=name, profile=profile, why=why)
        return name

    def stand_for(self, name: str, hosts: Iterable[str]) -> None:
        """Have a target stand for hosts."""
        target = self.targets[name]
        self.targets[name] = replace(target, hosts=tuple(dict.fromkeys((*target.hosts, *hosts))))
        known = ", ".join(hosts)
        self.remarks.found.append((name, f"stands for {known}, since the program is told no other address"))

    def set(self, name: str, value: str, why: str) -> None:
        """Set a variable, unless it is set already."""
        self.settings.setdefault(name, Setting(name=name, value=value, why=why))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Role:
    """What a variable's address is given to."""

    profile: str
    suffix: str
    place: str
    title: str


def fit_targets(reached: Sequence[SourceFacts], reads: Sequence[Read], remarks: Remarks) -> Fitted:
    """Return the fake services that a worker needs, and remark on what is not certain.

    Args:
        reached: What the worker's sources say.
        reads: The variables that it reads.
        remarks: To add to.
    """
    fitted = Fitted(remarks=remarks, near=near_profile(_paths(reached)))
    roles = _roles(reached)
    for read in reads:
        if read.kind is Kind.ADDRESS or (read.name in roles and read.kind is not Kind.SECRET):
            _fit_variable(fitted, reached, read, roles.get(read.name), reads)
    given = {role.profile for role in roles.values()}
    for sdk in _sdks(reached):
        _fit_sdk(fitted, sdk, given)
    _fit_aws(fitted, reached, roles)
    _fit_constants(fitted, reached)
    if not fitted.targets:
        _fit_nothing(fitted)
    _script_models(fitted, reached)
    return fitted


def _script_models(fitted: Fitted, reached: Sequence[SourceFacts]) -> None:
    """Have models use the tools that they are offered: without a script they only do so where they are forced to."""
    tools = [tool for facts in reached for tool in facts.tools]
    forced = any(
        entry.key == "tool_choice" and entry.value != Value(text="auto") for facts in reached for entry in facts.entries
    )
    if not tools or forced:
        return
    for name, target in fitted.targets.items():
        if target.profile in MODELS:
            why = "What it says, turn by turn, and after a restart in the next wording: a guess, make it sensible."
            fitted.targets[name] = replace(target, script=script_of(tools), why=(*target.why, why))
            used = ", ".join(tool.name for tool in tools[:8])
            fitted.remarks.guessed.append((name, f"it uses each tool once ({used}), with arguments that are made up"))


def _roles(reached: Sequence[SourceFacts]) -> dict[str, _Role]:
    """Return by variable which official client is given the address in it."""
    found: dict[str, _Role] = {}
    makers = {name: sdk for sdk in SDKS.values() for name in sdk.constructors}
    attributes = {name: sdk for sdk in SDKS.values() for name in sdk.attributes}
    for facts in reached:
        for call in facts.calls:
            sdk = makers.get(call.last)
            for word, value in call.keywords.items():
                if value.variable and word in _ADDRESS_WORDS and sdk is not None:
                    suffix = "" if value.after else sdk.suffix
                    found[value.variable] = _Role(profile=sdk.profile, suffix=suffix, place=call.place, title=sdk.title)
                elif value.variable and word == "endpoint_url" and call.last in ("client", "resource"):
                    service = call.arguments[0].text if call.arguments else None
                    profile = AWS_PROFILES.get(service or "", "any")
                    found[value.variable] = _Role(profile=profile, suffix="", place=call.place, title="boto3")
        for entry in facts.entries:
            if entry.value.variable and (sdk := attributes.get(entry.key)) is not None:
                found[entry.value.variable] = _Role(
                    profile=sdk.profile, suffix=sdk.suffix, place=entry.place, title=sdk.title
                )
    return found


def _fit_variable(
    fitted: Fitted, reached: Sequence[SourceFacts], read: Read, role: _Role | None, reads: Sequence[Read]
) -> None:
    """Add the target whose address a variable holds."""
    host = _host(read.default)
    profile, why = _profile_for(read, role, host, reached)
    described = fitted.near if profile == "any" else ""
    hint = (f"Paths of the described profile {described} are in the sources: try it here.",) if described else ()
    name = fitted.target(_target_name(read.name), profile, why, *hint)
    if described:
        fitted.remarks.guessed.append(
            (name, f"any service; paths of the profile {described} are in the sources, try it")
        )
    elif role is None:
        fitted.remarks.guessed.append((name, f"{profile}: {why[0].lower()}{why[1:].rstrip('.')}"))
    value = _address_text(name, read, role, profile, reached, reads, fitted.remarks)
    fitted.set(read.name, value, f"read at {', '.join(read.places[:3])}")
    for port in reads:
        if port.kind is Kind.PORT and port.name.removesuffix("_PORT") == _stem(read.name):
            fitted.set(port.name, f"{{{name}.port}}", f"read at {port.places[0]}")


def _profile_for(read: Read, role: _Role | None, host: str, reached: Sequence[SourceFacts]) -> tuple[str, str]:
    """Return the profile that fits a variable, and why."""
    if role is not None:
        return role.profile or "any", f"{role.title} is given its address at {role.place}."
    for text in (host, read.name):
        if profile := vendor_of(text):
            return profile, f"The name {text} says so."
    if _MODEL.search(read.name.upper()) and any(path in text for text in _texts(reached) for path in _CHAT):
        return (
            "openai",
            "The sources name OpenAI's paths; its answers can be scripted, see settings of `ackgap targets openai`.",
        )
    if read.name.upper().endswith("MCP"):
        return "case-management", "Tools over MCP; a profile of your own names yours, see docs/writing-a-profile.md."
    return "any", "Any service; nothing in the sources says which."


def _address_text(
    name: str,
    read: Read,
    role: _Role | None,
    profile: str,
    reached: Sequence[SourceFacts],
    reads: Sequence[Read],
    remarks: Remarks,
) -> str:
    """Return what a variable is set to, so that the worker's requests come to the paths that the fake has."""
    if read.name.upper().endswith("MCP") or "MCP_" in read.name.upper():
        return f"{{{name}.mcp}}"
    before = next((value.before for value in read.uses if value.before.endswith("://")), "")
    if before == "https://":
        remarks.edits.append(
            f"{read.places[0]}: https:// is put in front of {read.name}, and fakes speak plain HTTP; take the whole "
            f"address from the variable"
        )
    if before:
        has_port = any(port.kind is Kind.PORT and port.name.startswith(_stem(read.name)) for port in reads)
        return f"{{{name}.host}}" if has_port else f"{{{name}.host}}:{{{name}.port}}"
    if any(port.kind is Kind.PORT and port.name.startswith(_stem(read.name)) for port in reads):
        return f"{{{name}.host}}"
    return f"{{{name}.url}}{_suffix(read, role, profile, reached)}"


def _suffix(read: Read, role: _Role | None, profile: str, reached: Sequence[SourceFacts]) -> str:
    if role is not None:
        return role.suffix
    if path := urlsplit(read.default or "").path.rstrip("/"):
        return path
    texts = _texts(reached)
    if profile == "openai" and not any(text.startswith("/v1") or "/v1/" in text for text in texts):
        return "/v1"
    return ""


def _sdks(reached: Sequence[SourceFacts]) -> list[Sdk]:
    """Return the official clients that a worker imports, or names in a text such as `openai:gpt-4o`."""
    roots = {root for facts in reached for root in facts.roots}
    found = {sdk.title: sdk for module, sdk in SDKS.items() if module in roots and sdk.profile}
    named = {text.partition(":")[0] for text in _texts(reached) if re.fullmatch(r"(openai|anthropic):[\w.-]+", text)}
    for module in sorted(named & {"openai", "anthropic"}):
        found.setdefault(module, SDKS[module])
    return list(found.values())


def _fit_sdk(fitted: Fitted, sdk: Sdk, given: set[str]) -> None:
    """Add the target of an official client that finds its address by itself, or that is told none."""
    if sdk.profile not in given:
        known = next((target for target in fitted.targets.values() if target.profile == sdk.profile), None)
        why = f"What {sdk.title} talks to."
        name = known.name if known else fitted.target(_sdk_target(sdk), sdk.profile, why)
        for variable, value in sdk.env.items():
            fitted.set(variable, value.replace("{url}", f"{{{name}.url}}"), f"{sdk.title} reads it by itself")
        if sdk.hosts:
            fitted.stand_for(name, sdk.hosts)
    for variable, value in sdk.secrets.items():
        fitted.set(variable, value, f"{sdk.title} wants one; the fake does not look at it")


def _sdk_target(sdk: Sdk) -> str:
    return "model" if sdk.profile in ("openai", "anthropic") else sdk.profile.replace("-", "_")


def _fit_aws(fitted: Fitted, reached: Sequence[SourceFacts], roles: Mapping[str, _Role]) -> None:
    if not any(facts.roots & {"boto3", "aioboto3"} for facts in reached):
        return
    given = {role.profile for role in roles.values()}
    for facts in reached:
        for call in facts.calls:
            service = call.arguments[0].text if call.last in ("client", "resource") and call.arguments else None
            if not service or not re.fullmatch(r"[a-z0-9-]+", service) or "endpoint_url" in call.keywords:
                continue
            profile = AWS_PROFILES.get(service)
            if profile is None:
                fitted.remarks.unknown.append(
                    (service, f"{call.place}: no fake of this AWS service; describe it, see docs")
                )
            elif profile not in given:
                name = fitted.target(service, profile, f"boto3 makes a client of it at {call.place}.")
                fitted.set(f"AWS_ENDPOINT_URL_{service.upper()}", f"{{{name}.url}}", "boto3 reads it by itself")
    for variable, value in SDKS["boto3"].secrets.items():
        fitted.set(variable, value, "boto3 wants one; the fake does not look at it")


def _fit_constants(fitted: Fitted, reached: Sequence[SourceFacts]) -> None:
    """Add a target for each host that is written into the sources: it stands for that host, as no variable leads there.

    At another port than those of http and https it needs an edit.
    """
    profiles = {target.profile for target in fitted.targets.values()} - {"any"}
    hosts: dict[str, Entry] = {}
    for facts in reached:
        for entry in facts.addresses:
            if vendor_of(entry.key) not in profiles:
                hosts.setdefault(entry.key, entry)
    for host, entry in hosts.items():
        stem = _host_stem(host)
        profile = vendor_of(host) or "any"
        name = fitted.target(stem, profile, f"{host}, written into {entry.place}.")
        text = entry.value.text or ""
        if _is_usual(text):
            fitted.stand_for(name, (host,))
            continue
        variable = f"{stem.upper()}_URL"
        base = "{uri.scheme}://{uri.netloc}".format(uri=urlsplit(text))
        fitted.set(variable, f"{{{name}.url}}", "read once the edit is made that `ackgap init` named")
        fitted.remarks.edits.append(
            f'{entry.place}: the address {base} is written there; write os.environ.get("{variable}", "{base}") for it'
        )


def _is_usual(url: str) -> bool:
    """Whether a URL leads to the port that its scheme has by itself."""
    try:
        parts = urlsplit(url)
        return parts.port in (None, {"http": 80, "https": 443}.get(parts.scheme))
    except ValueError:
        return False


def _host_stem(host: str) -> str:
    parts = [part for part in host.split(".") if part not in ("www", "api")]
    stem = re.sub(r"[^a-z0-9]+", "_", parts[0].lower()) if parts else "service"
    return f"service_{stem}" if stem[:1].isdigit() else stem


def _fit_nothing(fitted: Fitted) -> None:
    fitted.target("service", "any", "Stands for the outside service, of which no address was found in the sources.")
    fitted.set("SERVICE_URL", "{service.url}", "a guess: nothing in the sources reads it")
    fitted.remarks.edits.append(
        "scenario.toml: no address of an outside service was found; name the variable that holds it in place of "
        "SERVICE_URL"
    )


def _target_name(variable: str) -> str:
    """Return what the target is called whose address a variable holds: `TICKETS_API_BASE_URL` is `tickets`."""
    return re.sub(r"[^a-z0-9_]", "", _stem(variable).lower()).strip("_") or "service"


def _stem(variable: str) -> str:
    return _ENDS.sub("", variable.upper())


def _host(default: str | None) -> str:
    try:
        return urlsplit(default or "").hostname or ""
    except ValueError:
        return ""


def _texts(reached: Sequence[SourceFacts]) -> frozenset[str]:
    return frozenset(text for facts in reached for text in facts.strings)


def _paths(reached: Sequence[SourceFacts]) -> Iterator[str]:
    """Yield what looks like the path of a request."""
    for text in sorted(_texts(reached)):
        if re.fullmatch(r"/[A-Za-z0-9_./{}-]+", text) and len(text) < 100:
            yield text
