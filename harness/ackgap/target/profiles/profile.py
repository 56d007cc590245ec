"""Profile: what a service does, how it treats repeats, and where each of these facts comes from.

Values only; `file` reads them from TOML. One engine serves every profile, so a new service is a new file
below `targets/`, not new code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ackgap.model.event import Json
from ackgap.target.profiles.operation import Operation
from ackgap.target.profiles.rules import Protection
from ackgap.target.wire.answer import AnswerSpec
from ackgap.target.wire.paths import learned_name, path_values, plain_path, segments_of
from ackgap.target.wire.request import MISSING, Request

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["AMBIGUOUS", "Later", "Match", "Profile", "Setting", "Source", "learned_operation", "load_profile"]

READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "PROPFIND", "QUERY", "REPORT", "SEARCH", "TRACE"})
AMBIGUOUS = "*"
"""Name of an operation that a request line alone does not tell: its address serves several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a fact comes from.

    Attributes:
        claim: The fact, one sentence.
        url: Where it was read; empty where the grade is `own`, `invented` or `unknown`.
        date: When, ISO.
        grade: `vendor` (own page), `thread` (issue or pull request), `third-party`, `probed` (measured), `own`
            (said by whoever wrote the profile, who knows the service), `invented` (a service that exists only here) or
            `unknown` (nobody found out; the weakest reading is served).
    """

    claim: str
    url: str
    date: str
    grade: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """Fields that objects of a collection show only after some virtual time.

    Attributes:
        collection: Name of the objects.
        after_s: Seconds since the object was made; a number or a template such as `{setting.after_s}`.
        fields: What it shows from then on; templates.
    """

    collection: str
    after_s: Json
    fields: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Something that a scenario may set.

    Attributes:
        about: What it changes, one sentence.
        default: Its value where nobody sets it; a value given must be of the same kind.
        choices: The values that it may have; empty allows any of that kind.
    """

    name: str
    about: str
    default: Json
    choices: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The operation that a request means, and the values in its path."""

    operation: Operation
    path_values: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A service.

    Attributes:
        name: Of the profile.
        title: What it is, a few words.
        about: What is worth knowing about it, a few sentences.
        operations: What it does.
        protections: By name: ways in which it treats repeats.
        default_protection: The one that is taken where a scenario names none.
        group: What kind of service it is, for catalogues; the operations of a model are no tools of MCP.
        described: Somebody said what its operations are; else every request is one, named by its method and path.
        currency: In which its paid operations cost.
        sources: Where these facts come from, at least one.
        settings: By name: what a scenario may set.
        later: What its objects show only after some time.
        graphql: Its bodies are GraphQL; paths may begin with `graphql`: `graphql.field`, `graphql.args.input`.
        path_suffix: What a path may end in without meaning anything else: `.json`.
        errors: By name: its answers to requests that no operation takes.
    """

    name: str
    title: str
    about: str
    operations: tuple[Operation, ...]
    protections: Mapping[str, Protection]
    default_protection: str
    group: str = "other"
    described: bool = True
    currency: str = ""
    sources: tuple[Source, ...] = ()
    settings: Mapping[str, Setting] = field(default_factory=dict)
    later: tuple[Later, ...] = ()
    graphql: bool = False
    path_suffix: str = ""
    errors: Mapping[str, AnswerSpec] = field(default_factory=dict)
    file: str = ""

    def candidates(self, method: str, path: str) -> tuple[Match, ...]:
        """Return what a request line may mean; several where one address serves many operations.

        HEAD means what GET means.
        """
        segments = self._segments(path)
        if not self.described:
            return (Match(operation=learned_operation(method, segments), path_values={}),)
        wanted = "GET" if method == "HEAD" else method
        found = []
        for operation in self.operations:
            values = path_values(operation.path, segments) if wanted in operation.methods else None
            if values is not None:
                found.append(Match(operation=operation, path_values=values))
                if not operation.match:
                    break
        return tuple(found)

    def match(self, request: Request) -> Match | None:
        """Return what a request means, None where the service has no such operation."""
        for match in self.candidates(request.method, request.path):
            wanted = match.operation.match
            if all(_holds(request.value_at(path), text) for path, text in wanted.items()):
                return match
        return None

    def allowed_methods(self, path: str) -> tuple[str, ...]:
        """Return the methods that a path takes; none where the service has no such path."""
        segments = self._segments(path)
        return tuple(
            dict.fromkeys(
                method
                for operation in self.operations
                if path_values(operation.path, segments) is not None
                for method in operation.methods
            )
        )

    def _segments(self, path: str) -> tuple[str, ...]:
        return segments_of(path.removesuffix(self.path_suffix) if self.path_suffix else path)

    def operation_name(self, target: str, method: str, path: str) -> str:
        """Return `<target>.<operation>` for a request line; `path` may have a query and a host.

        A request that no operation means, or that may mean several, is named by its method and path, so that it
        can be found in a ledger.
        """
        path = plain_path(path)
        found = self.candidates(method.upper(), path)
        clear = len(found) == 1 and not found[0].operation.match
        name = found[0].operation.name if clear else learned_name(method.upper(), segments_of(path))
        return f"{target}.{name}"


def _holds(value: Json, text: str) -> bool:
    if not text:
        return value is MISSING
    return value is not MISSING and str(value) == text


def load_profile(name_or_path: str | Path) -> Profile:
    """Read a profile by the name of a shipped one or by the path of its file.

    Raises:
        UsageInvalid: There is no such profile.
        ProfileInvalid: The file has a mistake; the message names file, key and allowed values.
    """
    from ackgap.target.profiles.file import read_profile

    return read_profile(name_or_path)


def learned_operation(method: str, segments: tuple[str, ...]) -> Operation:
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
