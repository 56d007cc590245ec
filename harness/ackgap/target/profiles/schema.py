"""The form of a profile's TOML file, table by table, and what each table becomes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from ackgap.model.event import Json
from ackgap.target.profiles import operation, profile, rules
from ackgap.target.wire.answer import AnswerSpec

__all__ = ["TABLES", "ProfileTable", "Table"]

PATH_FORM = r"^((body|query|path|header|graphql)(\.[^\s.]+)*)$"
_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
_Path = Annotated[str, StringConstraints(pattern=PATH_FORM)]
_Paths = Annotated[list[_Path], Field(min_length=1)]
_StatePath = Annotated[str, StringConstraints(pattern=r"^((body|query|path|header|graphql|object)(\.[^\s.]+)*)$")]
_Text = Annotated[str, StringConstraints(min_length=1)]
_Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
_Error = Literal[
    "unknown_path", "wrong_method", "malformed", "too_large", "not_found", "invalid", "rate_limited", "unavailable"
]
_Group = Literal["payments", "tickets", "messages", "records", "storage", "models", "search", "own"]
_Does = Literal[
    "create", "get", "list", "put", "upsert", "patch", "delete", "answer", "search",
    "chat", "responses", "messages", "models", "anthropic_models", "count_tokens",
]  # fmt: skip


def _compiles(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return text


_Regex = Annotated[str, AfterValidator(_compiles)]


class Table(BaseModel):
    """Any table: strict, and without keys that nobody knows."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Answer(Table):
    status: int = Field(ge=200, le=599)
    body: Any = None
    each: Any = None
    headers: dict[str, str] = {}

    def build(self) -> AnswerSpec:
        return AnswerSpec(status=self.status, body=self.body, each=self.each, headers=self.headers)


class _Source(Table):
    claim: _Text
    url: str = ""
    date: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    grade: Literal["vendor", "thread", "third-party", "probed", "own", "invented", "unknown"]

    def build(self) -> profile.Source:
        return profile.Source(claim=self.claim, url=self.url, date=self.date, grade=self.grade)


class _Outcome(Table):
    when: dict[_StatePath, Any] = {}
    absent: bool = False
    answer: _Answer
    effect: bool = False

    @model_validator(mode="after")
    def _has_a_condition(self) -> Self:
        if not self.when and not self.absent:
            raise ValueError("an outcome says when it is given: a path and a value below 'when', or 'absent'")
        return self

    def build(self) -> operation.Outcome:
        when = {_lowered(path): value for path, value in self.when.items()}
        return operation.Outcome(when=when, absent=self.absent, answer=self.answer.build(), effect=self.effect)


class _Page(Table):
    size: int = Field(ge=1)
    parameter: _Path
    kind: Literal["number", "offset", "after"] = "number"
    size_parameter: _Path | Literal[""] = ""
    largest: int = Field(default=100, ge=1)

    def build(self) -> operation.Page:
        return operation.Page(**self.model_dump())


class _Search(Table):
    parameter: _Path
    paths: list[_Text] = []
    fields: dict[_Text, _Text] = {}
    only_clauses: bool = False

    def build(self) -> operation.TextSearch:
        return operation.TextSearch(
            parameter=self.parameter,
            paths=tuple(self.paths),
            fields={name.lower(): path for name, path in self.fields.items()},
            only_clauses=self.only_clauses,
        )


class _Operation(Table):
    name: _Name
    method: _Method | Annotated[list[_Method], Field(min_length=1)]
    path: Annotated[str, StringConstraints(pattern=r"^/[^\s?#]*$")]
    does: _Does
    match: dict[_Path, str] = {}
    effect: bool = False
    noun: list[_Text] = Field(default=["effect", "effects"], min_length=2, max_length=2)
    identity: list[_Path] = []
    identity_weak: bool = False
    artifact: _Path | Literal[""] = ""
    paid: bool = False
    price: _Seconds = 0.0
    collection: str = ""
    object_prefix: str = ""
    object: Any = None
    object_id: str = ""
    find_by: dict[_Text, str] = {}
    several: _Answer | None = None
    appends: dict[_Text, Any] = {}
    answer: _Answer | None = None
    updated: _Answer | None = None
    not_found: _Answer | None = None
    required: list[_Path] = []
    invalid: _Answer | None = None
    outcomes: list[_Outcome] = []
    filters: dict[str, str] = {}
    search: _Search | None = None
    newest_first: bool = False
    lag_s: _Seconds | str = 0
    consistent_when: dict[_Path, Any] = {}
    consistent_for: dict[_Path, _Text] = {}
    page: _Page | None = None
    ends: bool = False
    passes_time: bool = False

    def build(self) -> operation.Operation:
        methods = (self.method,) if isinstance(self.method, str) else tuple(self.method)
        return operation.Operation(
            name=self.name,
            methods=methods,
            path=self.path,
            match={_lowered(path): text for path, text in self.match.items()},
            does=self.does,
            effect=self.effect,
            noun=(self.noun[0], self.noun[1]),
            identity=tuple(self.identity),
            identity_weak=self.identity_weak,
            artifact=self.artifact,
            paid=self.paid,
            price=self.price,
            collection=self.collection or next((part for part in self.path.split("/")[::-1] if part[:1] != "{"), ""),
            object_prefix=self.object_prefix,
            object=self.object,
            object_id=self.object_id,
            find_by=self.find_by,
            several=_built(self.several),
            appends=self.appends,
            answer=_built(self.answer),
            updated=_built(self.updated),
            not_found=_built(self.not_found),
            required=tuple(self.required),
            invalid=_built(self.invalid),
            outcomes=tuple(outcome.build() for outcome in self.outcomes),
            filters=tuple(operation.Filter(parameter=name, path=path) for name, path in self.filters.items()),
            search=self.search.build() if self.search else None,
            newest_first=self.newest_first,
            lag_s=self.lag_s,
            consistent_when={_lowered(path): value for path, value in self.consistent_when.items()},
            consistent_for={_lowered(path): field for path, field in self.consistent_for.items()},
            page=self.page.build() if self.page else None,
            ends=self.ends,
            passes_time=self.passes_time,
        )


class _Key(Table):
    place: _Path | _Paths
    digest_of: _Path | Literal[""] = ""
    operations: list[_Name] = []
    ignored: bool = False
    missing: _Answer | None = None
    scope: Literal["account", "endpoint"] | _Paths = "account"
    window_s: _Seconds | None = None
    window_starts: Literal["first_request", "completion", "object_end"] = "first_request"
    stores: Literal["all", "executed", "successes"] = "all"
    never_stores: list[Annotated[str, StringConstraints(pattern=r"^[1-5](\d\d|xx)$")]] = []
    compares: Literal["parameters", "bytes", "nothing"] | _Paths = "parameters"
    ignores: list[Annotated[str, StringConstraints(pattern=r"^body\.\S+$")]] = []
    mismatch: Literal["original", "dropped", "overwrite"] | _Answer = "original"
    concurrent: Literal["wait"] | _Answer | None = None
    replays: Literal["stored", "current"] = "stored"
    replay_headers: dict[str, str] = {}
    first_headers: dict[str, str] = {}
    max_length: int | None = Field(default=None, ge=1)
    too_long: _Answer | None = None
    form: _Regex = ""
    bad_form: _Answer | None = None

    def build(self) -> rules.KeyRule:
        return rules.KeyRule(
            places=tuple(map(_lowered, [self.place] if isinstance(self.place, str) else self.place)),
            digest_of=self.digest_of,
            operations=tuple(self.operations),
            ignored=self.ignored,
            missing=_built(self.missing),
            scope=self.scope if isinstance(self.scope, str) else tuple(map(_lowered, self.scope)),
            window_s=self.window_s,
            window_starts=self.window_starts,
            stores=self.stores,
            never_stores=tuple(self.never_stores),
            compares=self.compares if isinstance(self.compares, str) else tuple(map(_lowered, self.compares)),
            ignores=tuple(self.ignores),
            mismatch=self.mismatch if isinstance(self.mismatch, str) else self.mismatch.build(),
            concurrent=self.concurrent.build() if isinstance(self.concurrent, _Answer) else self.concurrent,
            replays=self.replays,
            replay_headers=self.replay_headers,
            first_headers=self.first_headers,
            max_length=self.max_length,
            too_long=_built(self.too_long),
            form=self.form,
            bad_form=_built(self.bad_form),
        )


class _NaturalKey(Table):
    paths: _Paths
    operations: list[_Name] = []
    unless: dict[str, list[Any]] = {}
    answer: _Answer | None = None
    lag_s: _Seconds = 0.0

    def build(self) -> rules.NaturalKeyRule:
        return rules.NaturalKeyRule(
            paths=tuple(self.paths),
            operations=tuple(self.operations),
            unless={field: tuple(values) for field, values in self.unless.items()},
            answer=_built(self.answer),
            lag_s=self.lag_s,
        )


class _Condition(Table):
    place: _Path
    holds: str = ""
    needs: Literal["absent", "unchanged"] = "absent"
    operations: list[_Name] = []
    failed: _Answer
    concurrent: _Answer | None = None

    def build(self) -> rules.ConditionRule:
        return rules.ConditionRule(
            place=_lowered(self.place),
            holds=self.holds,
            needs=self.needs,
            operations=tuple(self.operations),
            failed=self.failed.build(),
            concurrent=_built(self.concurrent),
        )


class _Protection(Table):
    title: _Text
    key: _Key | list[_Key] = []
    condition: _Condition | list[_Condition] = []
    natural_key: _NaturalKey | list[_NaturalKey] = []
    other_reading: bool = False
    unknown: dict[_Text, _Text] = {}

    @property
    def keys(self) -> list[_Key]:
        return self.key if isinstance(self.key, list) else [self.key]

    @property
    def conditions(self) -> list[_Condition]:
        return self.condition if isinstance(self.condition, list) else [self.condition]

    @property
    def natural_keys(self) -> list[_NaturalKey]:
        return self.natural_key if isinstance(self.natural_key, list) else [self.natural_key]

    def build(self, name: str) -> rules.Protection:
        return rules.Protection(
            name=name,
            title=self.title,
            keys=tuple(rule.build() for rule in self.keys),
            conditions=tuple(rule.build() for rule in self.conditions),
            natural_keys=tuple(rule.build() for rule in self.natural_keys),
            other_reading=self.other_reading,
            unknown=self.unknown,
        )


class _Setting(Table):
    about: _Text
    default: Any = None
    choices: list[Any] = []

    def build(self, name: str) -> profile.Setting:
        return profile.Setting(name=name, about=self.about, default=self.default, choices=tuple(self.choices))


class _Later(Table):
    collection: _Text
    after_s: Any
    fields: dict[str, Any] = Field(min_length=1)

    def build(self) -> profile.Later:
        return profile.Later(collection=self.collection, after_s=self.after_s, fields=self.fields)


class ProfileTable(Table):
    """The whole file."""

    name: _Name
    title: _Text
    about: _Text
    group: _Group = "own"
    described: bool = True
    graphql: bool = False
    path_suffix: str = ""
    currency: str = ""
    default_protection: _Name
    sources: list[_Source] = Field(min_length=1)
    settings: dict[_Name, _Setting] = {}
    operations: list[_Operation] = []
    protections: dict[_Name, _Protection] = Field(min_length=1)
    later: list[_Later] = []
    errors: dict[_Error, _Answer] = {}

    def build(self, file: Path) -> profile.Profile:
        """Return the profile that the file describes."""
        return profile.Profile(
            name=self.name,
            title=self.title,
            about=self.about.strip(),
            group=self.group,
            described=self.described,
            graphql=self.graphql,
            path_suffix=self.path_suffix,
            currency=self.currency,
            default_protection=self.default_protection,
            sources=tuple(item.build() for item in self.sources),
            settings={name: item.build(name) for name, item in self.settings.items()},
            operations=tuple(item.build() for item in self.operations),
            protections={name: item.build(name) for name, item in self.protections.items()},
            later=tuple(item.build() for item in self.later),
            errors={name: item.build() for name, item in self.errors.items()},
            file=str(file),
        )


def _built(answer: _Answer | None) -> AnswerSpec | None:
    return None if answer is None else answer.build()


def _lowered(path: str) -> str:
    """Names of headers are the same in any case of letters."""
    return path.lower() if path.startswith("header.") else path


TABLES: dict[str, type[BaseModel]] = {
    "sources": _Source,
    "settings": _Setting,
    "operations": _Operation,
    "protections": _Protection,
    "later": _Later,
    "key": _Key,
    "natural_key": _NaturalKey,
    "condition": _Condition,
    "outcomes": _Outcome,
    "page": _Page,
    "search": _Search,
    "errors": _Answer,
    "answer": _Answer,
    "updated": _Answer,
    "mismatch": _Answer,
    "concurrent": _Answer,
    "missing": _Answer,
    "failed": _Answer,
    "too_long": _Answer,
    "bad_form": _Answer,
    "invalid": _Answer,
    "not_found": _Answer,
    "several": _Answer,
}
"""By the key under which a table stands, for telling what it may hold."""


def answers_of(written: ProfileTable) -> list[tuple[str, Json]]:
    """Return key and template of every answer and object of a file."""
    found = [entry for name, item in written.errors.items() for entry in _templates(f"errors.{name}", item)]
    for item in written.operations:
        key = f"operations[{item.name}]"
        found += [(f"{key}.object", item.object), (f"{key}.object_id", item.object_id)]
        found += [(f"{key}.collection", item.collection), (f"{key}.lag_s", item.lag_s)]
        found += [(f"{key}.object_prefix", item.object_prefix), (f"{key}.find_by", dict(item.find_by))]
        found.append((f"{key}.appends", item.appends))
        for name in ("answer", "updated", "not_found", "invalid", "several"):
            found += _templates(f"{key}.{name}", getattr(item, name))
        for number, outcome in enumerate(item.outcomes):
            found += _templates(f"{key}.outcomes[{number}].answer", outcome.answer)
    for protection_name, protection in written.protections.items():
        key = f"protections.{protection_name}"
        for keyed in protection.keys:
            found += [(f"{key}.key.{name}", getattr(keyed, name)) for name in ("first_headers", "replay_headers")]
        for rule in (*protection.keys, *protection.conditions, *protection.natural_keys):
            for name in ("missing", "mismatch", "concurrent", "too_long", "bad_form", "failed", "answer"):
                found += _templates(f"{key}.{name}", getattr(rule, name, None))
    return found + [(f"later.{item.collection}", [item.after_s, item.fields]) for item in written.later]


def _templates(key: str, answer: object) -> list[tuple[str, Json]]:
    if not isinstance(answer, _Answer):
        return []
    return [(key, [answer.body, answer.each]), (f"{key}.headers", answer.headers)]
