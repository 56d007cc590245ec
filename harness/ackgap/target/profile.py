"""Profile: what a service does, how it treats repeats, and where each of these facts comes from.

Values only; `profile_file` reads them from TOML. One engine serves every profile, so a new service is a new file
below `targets/`, not new code.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from ackgap.errors import ScenarioInvalid
from ackgap.model.event import Json
from ackgap.model.expectation import OperationFacts
from ackgap.target.paths import is_id_like, learned_name, path_values, plain_path, segments_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "AnswerSpec",
    "Filter",
    "KeyRule",
    "Later",
    "Match",
    "NaturalKeyRule",
    "Operation",
    "Outcome",
    "Profile",
    "Protection",
    "Setting",
    "Source",
    "chosen_protection",
    "chosen_settings",
    "facts",
    "is_effectful",
    "is_id_like",
    "learned_facts",
    "load_profile",
    "plain_path",
]

READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a fact comes from.

    Attributes:
        claim: The fact, one sentence.
        url: Where it was read; empty for a service of our own making, or where nothing was found.
        date: When, ISO.
        grade: `vendor` (own page), `thread` (issue or pull request), `third-party`, `probed` (measured), `invented`
            (a service that exists only here) or `unknown` (nobody found out; the weakest reading is served).
    """

    claim: str
    url: str
    date: str
    grade: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSpec:
    """An answer as a template; see `answer.render`."""

    status: int
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What an operation answers instead of its usual answer, when the request has certain values.

    Attributes:
        when: Path to value; all must be equal.
        effect: The operation takes effect all the same.
    """

    when: Mapping[str, Json]
    answer: AnswerSpec
    effect: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A query parameter of a listing and the path into the stored object that it is compared with."""

    parameter: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that a service does.

    Attributes:
        does: `create`, `get`, `list`, `put`, `patch`, `delete`, `answer` (nothing but its answer), or a scripted
            behaviour: `search`, `chat`, `models`.
        effect: It changes the outside world.
        noun: What one effect is called, singular and plural.
        identity: Paths whose values make two effects the same logical action.
        artifact: Path of what is shown to a human, where the operation asks one.
        collection: Name of the objects that it makes or reads.
        object: Template of the stored object.
        required: Paths that must be there, and not empty.
        outcomes: Answers to requests with certain values; the first that fits is given.
        filters: Query parameters of a listing.
        newest_first: Order of a listing.
    """

    name: str
    methods: tuple[str, ...]
    path: str
    does: str
    effect: bool
    noun: tuple[str, str]
    identity: tuple[str, ...] = ()
    artifact: str = ""
    paid: bool = False
    price: float = 0.0
    collection: str = ""
    object_prefix: str = ""
    object: Json = None
    answer: AnswerSpec | None = None
    not_found: AnswerSpec | None = None
    required: tuple[str, ...] = ()
    invalid: AnswerSpec | None = None
    outcomes: tuple[Outcome, ...] = ()
    filters: tuple[Filter, ...] = ()
    newest_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """Fields that objects of a collection show only after some virtual time.

    Attributes:
        after_s: Seconds since the object was made; a number or a template such as `{setting.after_s}`.
        fields: What it shows from then on; templates.
    """

    collection: str
    after_s: Json
    fields: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRule:
    """How a service treats an idempotency key.

    Attributes:
        place: Path of the key: `header.idempotency-key`, `body.client_token`, `query.requestId`.
        operations: Names of the operations that look at it; empty means every effectful one.
        scope: `account`: one key space; `endpoint`: one for each method and path.
        window_s: Seconds for which it is remembered; None is for ever.
        window_starts: `first_request` or `completion`.
        stores: `all` answers, `executed` (all but failed validation), or `successes`.
        compares: What must be equal: `parameters`, `bytes` or `nothing`.
        mismatch: Answer to another payload under the same key; None gives the original answer.
        concurrent: Answer while the first request is being worked on; None lets it through undetected.
        replay_headers: Added to an answer that is given again.
        max_length: Longest key, None where that is unknown; a longer one is refused.
        too_long: The refusal.
    """

    place: str
    operations: tuple[str, ...] = ()
    scope: str = "account"
    window_s: float | None = None
    window_starts: str = "first_request"
    stores: str = "all"
    compares: str = "parameters"
    mismatch: AnswerSpec | None = None
    concurrent: AnswerSpec | None = None
    replay_headers: Mapping[str, str] = field(default_factory=dict)
    max_length: int | None = None
    too_long: AnswerSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalKeyRule:
    """A service that recognises a repeat by what it is about.

    Attributes:
        paths: Paths whose values are the natural key.
        operations: Names of the operations concerned; empty means every one that creates.
        unless: Field to value of the stored object; an object that has one of them no longer counts.
        answer: Answer about the object that exists; None gives the object with 200.
    """

    paths: tuple[str, ...]
    operations: tuple[str, ...] = ()
    unless: Mapping[str, tuple[Json, ...]] = field(default_factory=dict)
    answer: AnswerSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """A named way in which the service treats repeats: rules that are asked in turn."""

    name: str
    title: str
    key: KeyRule | None = None
    natural_key: NaturalKeyRule | None = None

    def guards(self, operation: Operation) -> bool:
        """Whether one of its rules looks at an operation."""
        return self.key_rule_for(operation) is not None or self.natural_rule_for(operation) is not None

    def key_rule_for(self, operation: Operation) -> KeyRule | None:
        """Return the key rule, if it looks at that operation."""
        rule = self.key
        if rule is None or not operation.effect or (rule.operations and operation.name not in rule.operations):
            return None
        return rule

    def natural_rule_for(self, operation: Operation) -> NaturalKeyRule | None:
        """Return the natural-key rule, if it looks at that operation."""
        rule = self.natural_key
        if rule is None or operation.does != "create" or (rule.operations and operation.name not in rule.operations):
            return None
        return rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Something that a scenario may set."""

    name: str
    about: str
    default: Json
    choices: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The operation that a request line means, and the values in its path."""

    operation: Operation
    path_values: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A service."""

    name: str
    title: str
    about: str
    operations: tuple[Operation, ...]
    protections: Mapping[str, Protection]
    default_protection: str
    described: bool = True
    currency: str = ""
    sources: tuple[Source, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    later: tuple[Later, ...] = ()
    errors: Mapping[str, AnswerSpec] = field(default_factory=dict)
    file: str = ""

    def match(self, method: str, path: str) -> Match | None:
        """Return what a request line means, None where the service has no such operation.

        HEAD means what GET means.
        """
        segments = segments_of(path)
        if not self.described:
            return Match(operation=_learned_operation(method, segments), path_values={})
        wanted = "GET" if method == "HEAD" else method
        for operation in self.operations:
            if wanted in operation.methods:
                values = path_values(operation.path, segments)
                if values is not None:
                    return Match(operation=operation, path_values=values)
        return None

    def allowed_methods(self, path: str) -> tuple[str, ...]:
        """Return the methods that a path takes; none where the service has no such path."""
        segments = segments_of(path)
        return tuple(
            dict.fromkeys(
                method
                for operation in self.operations
                if path_values(operation.path, segments) is not None
                for method in operation.methods
            )
        )

    def operation_name(self, target: str, method: str, path: str) -> str:
        """Return `<target>.<operation>` for a request line; `path` may have a query and a host.

        A request that no operation means is named by its method and path, so that it can be found in a ledger.
        """
        path = plain_path(path)
        match = self.match(method.upper(), path)
        name = match.operation.name if match else learned_name(method.upper(), segments_of(path))
        return f"{target}.{name}"


def load_profile(name_or_path: str | Path) -> Profile:
    """Read a profile by the name of a shipped one or by the path of its file.

    Raises:
        UsageInvalid: There is no such profile.
        ProfileInvalid: The file has a mistake; the message names file, key and allowed values.
    """
    from ackgap.target.profile_file import read_profile

    return read_profile(name_or_path)


def chosen_protection(profile: Profile, target: str, name: str | None) -> Protection:
    """Return one of the profile's protections; its default where none is named.

    Raises:
        ScenarioInvalid: It has no such protection.
    """
    wanted = name or profile.default_protection
    if wanted in profile.protections:
        return profile.protections[wanted]
    raise ScenarioInvalid(
        f"The profile {profile.name!r} has no protection {wanted!r}.",
        where=f"targets.{target}.protection",
        next_step=f"Write one of {', '.join(profile.protections)}.",
    )


def chosen_settings(profile: Profile, target: str, settings: Mapping[str, Json]) -> dict[str, Json]:
    """Return a scenario's settings over the profile's defaults.

    Raises:
        ScenarioInvalid: The profile has no such setting, or not with that value.
    """
    for name, value in settings.items():
        setting = profile.settings.get(name)
        if setting is None:
            known = ", ".join(profile.settings) or "nothing"
            raise ScenarioInvalid(
                f"The profile {profile.name!r} has no setting {name!r}.",
                where=f"targets.{target}.settings.{name}",
                next_step=f"It lets a scenario set {known}.",
            )
        if setting.choices and value not in setting.choices:
            raise ScenarioInvalid(
                f"{value!r} is not a value of the setting {name!r} of profile {profile.name!r}.",
                where=f"targets.{target}.settings.{name}",
                next_step=f"Write one of {', '.join(map(str, setting.choices))}.",
            )
        if not _same_shape(setting.default, value):
            raise ScenarioInvalid(
                f"The setting {name!r} of profile {profile.name!r} is {_shape(setting.default)}, not {_shape(value)}.",
                where=f"targets.{target}.settings.{name}",
                next_step=setting.about,
            )
    chosen = {name: setting.default for name, setting in profile.settings.items()} | dict(settings)
    for name, what, next_step in _script_mistakes(profile, chosen):
        raise ScenarioInvalid(what, where=f"targets.{target}.settings.{name}", next_step=next_step)
    return chosen


def _script_mistakes(profile: Profile, settings: Mapping[str, Json]) -> Iterator[tuple[str, str, str]]:
    # Imported late: the scripted behaviours are built on the profile's own types.
    from ackgap.target.chat import script_mistake
    from ackgap.target.search import results_mistake

    kinds = {operation.does for operation in profile.operations}
    for kind, name, find in (("chat", "script", script_mistake), ("search", "results", results_mistake)):
        if kind in kinds and (mistake := find(settings.get(name) or [])):
            place, what = mistake
            yield f"{name}{place}", what, profile.settings[name].about.strip() if name in profile.settings else ""


def is_effectful(operation: Operation, full_name: str, reads: tuple[str, ...]) -> bool:
    """Whether an operation changes the outside world, given the globs that a scenario declares to be reads."""
    return operation.effect and not any(fnmatchcase(full_name, glob) for glob in reads)


def facts(
    profile: Profile,
    target_name: str,
    protection: str | None,
    reads: tuple[str, ...] = (),
    settings: Mapping[str, Json] | None = None,
) -> dict[str, OperationFacts]:
    """Return what is known of each operation of a target, by `<target>.<operation>`.

    A profile with `described = false` knows no operation beforehand; see `learned_facts`.

    Raises:
        ScenarioInvalid: The profile has no such protection or setting.
    """
    values = chosen_settings(profile, target_name, settings or {})
    chosen = chosen_protection(profile, target_name, protection)
    return {
        f"{target_name}.{operation.name}": _facts_of(profile, operation, target_name, chosen, reads, values)
        for operation in profile.operations
    }


def learned_facts(
    profile: Profile, target_name: str, protection: str | None, reads: tuple[str, ...], operation_name: str
) -> OperationFacts:
    """Return the facts of an operation that was seen at a target which nobody described, by its full name.

    Raises:
        ScenarioInvalid: The profile has no such protection.
    """
    chosen = chosen_protection(profile, target_name, protection)
    method, _, path = operation_name.removeprefix(f"{target_name}.").partition("/")
    return _facts_of(profile, _learned_operation(method, segments_of("/" + path)), target_name, chosen, reads, {})


def _facts_of(
    profile: Profile,
    operation: Operation,
    target: str,
    chosen: Protection,
    reads: tuple[str, ...],
    settings: Mapping[str, Json],
) -> OperationFacts:
    name = f"{target}.{operation.name}"
    effectful = is_effectful(operation, name, reads)
    key_rule = chosen.key_rule_for(operation)
    offered = tuple(
        other.name for other in profile.protections.values() if other.name != chosen.name and other.guards(operation)
    )
    return OperationFacts(
        name=name,
        noun=operation.noun,
        effectful=effectful,
        paid=operation.paid,
        price=float(settings.get("price", operation.price)) if operation.paid else 0.0,
        currency=profile.currency if operation.paid else "",
        identity=operation.identity,
        protection=chosen.name,
        honours_keys=key_rule is not None,
        honours_natural_key=chosen.natural_rule_for(operation) is not None,
        key_window_s=key_rule.window_s if key_rule else None,
        # What a service that nobody described would offer is not known.
        could_protect=offered if profile.described and effectful else (),
    )


def _learned_operation(method: str, segments: tuple[str, ...]) -> Operation:
    """What a request at a service that nobody described is taken for."""
    does = {"POST": "create", "PUT": "put", "PATCH": "patch", "DELETE": "delete"}.get(method, "answer")
    if method in READ_METHODS:
        does = "list"
    name = learned_name("GET" if method == "HEAD" else method, segments)
    return Operation(
        name=name,
        methods=(method,),
        path="/" + "/".join(segments),
        does=does,
        effect=method not in READ_METHODS,
        noun=(f"{name.replace('/', ' /', 1)} effect", f"{name.replace('/', ' /', 1)} effects"),
        object_prefix="obj-",
    )


def _shape(value: Json) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list | tuple):
        return "a list"
    return "a table" if isinstance(value, Mapping) else "something else"


def _same_shape(default: Json, value: Json) -> bool:
    return default is None or _shape(default) == _shape(value)
