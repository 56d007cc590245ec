"""Reading profiles from TOML; every mistake is told with file, key and what may stand there."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ackgap.content import find_profile
from ackgap.errors import ProfileInvalid
from ackgap.model.event import Json
from ackgap.target import profile as model
from ackgap.target.answer import ROOTS, placeholders

__all__ = ["read_profile"]

_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
_Path = Annotated[str, StringConstraints(pattern=r"^(body|query|path|header)(\.[^\s.]+)*$")]
_Text = Annotated[str, StringConstraints(min_length=1)]
_Seconds = Annotated[float, Field(ge=0)]
_Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
_Does = Literal["create", "get", "list", "put", "patch", "delete", "answer", "search", "chat", "models"]
_Error = Literal["unknown_path", "wrong_method", "malformed", "too_large", "not_found", "invalid"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _Answer(_Table):
    status: int = Field(ge=200, le=599)
    body: Any = None
    headers: dict[str, str] = {}

    def build(self) -> model.AnswerSpec:
        return model.AnswerSpec(status=self.status, body=self.body, headers=self.headers)


class _Source(_Table):
    claim: _Text
    url: str = ""
    date: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    grade: Literal["vendor", "thread", "third-party", "probed", "invented", "unknown"]


class _Outcome(_Table):
    when: dict[_Path, Any] = Field(min_length=1)
    answer: _Answer
    effect: bool = False


class _Operation(_Table):
    name: _Name
    method: _Method | list[_Method]
    path: Annotated[str, StringConstraints(pattern=r"^/[^\s?#]*$")]
    does: _Does
    effect: bool = False
    noun: list[_Text] = Field(default=["effect", "effects"], min_length=2, max_length=2)
    identity: list[_Path] = []
    artifact: _Path | Literal[""] = ""
    paid: bool = False
    price: _Seconds = 0.0
    collection: str = ""
    object_prefix: str = ""
    object: Any = None
    answer: _Answer | None = None
    not_found: _Answer | None = None
    required: list[_Path] = []
    invalid: _Answer | None = None
    outcomes: list[_Outcome] = []
    filters: dict[str, str] = {}
    newest_first: bool = False

    def build(self) -> model.Operation:
        methods = (self.method,) if isinstance(self.method, str) else tuple(self.method)
        return model.Operation(
            name=self.name,
            methods=methods,
            path=self.path,
            does=self.does,
            effect=self.effect,
            noun=(self.noun[0], self.noun[1]),
            identity=tuple(self.identity),
            artifact=self.artifact,
            paid=self.paid,
            price=self.price,
            collection=self.collection or next((part for part in self.path.split("/")[::-1] if part[:1] != "{"), ""),
            object_prefix=self.object_prefix,
            object=self.object,
            answer=self.answer.build() if self.answer else None,
            not_found=self.not_found.build() if self.not_found else None,
            required=tuple(self.required),
            invalid=self.invalid.build() if self.invalid else None,
            outcomes=tuple(
                model.Outcome(when=outcome.when, answer=outcome.answer.build(), effect=outcome.effect)
                for outcome in self.outcomes
            ),
            filters=tuple(model.Filter(parameter=name, path=path) for name, path in self.filters.items()),
            newest_first=self.newest_first,
        )


class _Key(_Table):
    place: Annotated[str, StringConstraints(pattern=r"^(body|query|header|path)\.[^\s]+$")]
    operations: list[_Name] = []
    scope: Literal["account", "endpoint"] = "account"
    window_s: _Seconds | None = None
    window_starts: Literal["first_request", "completion"] = "first_request"
    stores: Literal["all", "executed", "successes"] = "all"
    compares: Literal["parameters", "bytes", "nothing"] = "parameters"
    mismatch: _Answer | None = None
    concurrent: _Answer | None = None
    replay_headers: dict[str, str] = {}
    max_length: int | None = Field(default=None, ge=1)
    too_long: _Answer | None = None

    def build(self) -> model.KeyRule:
        return model.KeyRule(
            place=self.place.lower() if self.place.startswith("header.") else self.place,
            operations=tuple(self.operations),
            scope=self.scope,
            window_s=self.window_s,
            window_starts=self.window_starts,
            stores=self.stores,
            compares=self.compares,
            mismatch=self.mismatch.build() if self.mismatch else None,
            concurrent=self.concurrent.build() if self.concurrent else None,
            replay_headers=self.replay_headers,
            max_length=self.max_length,
            too_long=self.too_long.build() if self.too_long else None,
        )


class _NaturalKey(_Table):
    paths: list[_Path] = Field(min_length=1)
    operations: list[_Name] = []
    unless: dict[str, list[Any]] = {}
    answer: _Answer | None = None

    def build(self) -> model.NaturalKeyRule:
        return model.NaturalKeyRule(
            paths=tuple(self.paths),
            operations=tuple(self.operations),
            unless={field: tuple(values) for field, values in self.unless.items()},
            answer=self.answer.build() if self.answer else None,
        )


class _Protection(_Table):
    title: _Text
    key: _Key | None = None
    natural_key: _NaturalKey | None = None

    def build(self, name: str) -> model.Protection:
        return model.Protection(
            name=name,
            title=self.title,
            key=self.key.build() if self.key else None,
            natural_key=self.natural_key.build() if self.natural_key else None,
        )


class _Setting(_Table):
    about: _Text
    default: Any = None
    choices: list[Any] = []


class _Later(_Table):
    collection: _Text
    after_s: Any
    fields: dict[str, Any] = Field(min_length=1)


class _Profile(_Table):
    name: _Name
    title: _Text
    about: _Text
    described: bool = True
    currency: str = ""
    default_protection: _Name
    sources: list[_Source] = Field(min_length=1)
    settings: dict[_Name, _Setting] = {}
    operations: list[_Operation] = []
    protections: dict[_Name, _Protection] = Field(min_length=1)
    later: list[_Later] = []
    errors: dict[_Error, _Answer] = {}

    def build(self, file: Path) -> model.Profile:
        return model.Profile(
            name=self.name,
            title=self.title,
            about=self.about.strip(),
            described=self.described,
            currency=self.currency,
            default_protection=self.default_protection,
            sources=tuple(
                model.Source(claim=item.claim, url=item.url, date=item.date, grade=item.grade) for item in self.sources
            ),
            settings={
                name: model.Setting(name=name, about=item.about, default=item.default, choices=tuple(item.choices))
                for name, item in self.settings.items()
            },
            operations=tuple(operation.build() for operation in self.operations),
            protections={name: item.build(name) for name, item in self.protections.items()},
            later=tuple(
                model.Later(collection=item.collection, after_s=item.after_s, fields=item.fields) for item in self.later
            ),
            errors={name: item.build() for name, item in self.errors.items()},
            file=str(file),
        )


def read_profile(name_or_path: str | Path) -> model.Profile:
    """Read a profile.

    Raises:
        UsageInvalid: There is no such profile.
        ProfileInvalid: The file has a mistake.
    """
    file = find_profile(str(name_or_path))
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProfileInvalid(
            f"The profile cannot be read: {error}.", where=str(file), next_step="A profile is a TOML file in UTF-8."
        ) from error
    try:
        written = _Profile.model_validate(document)
    except ValidationError as error:
        raise _mistake(file, document, error) from error
    for key, what, allowed in _contradictions(written):
        raise ProfileInvalid(what, where=f"{file}: {key}", next_step=f"Allowed: {allowed}.")
    return written.build(file)


def _mistake(file: Path, document: Mapping[str, Json], error: ValidationError) -> ProfileInvalid:
    # A union reports one error for each of its members; the one that went deepest is about what was written.
    first = max(error.errors(include_url=False), key=lambda item: len(item["loc"]))
    location = [step for step in first["loc"] if not _is_union_member(step)]
    key = _key_text(document, location)
    kind, message = first["type"], first["msg"]
    next_step = f"{message}."
    what = f"{key!r} is not right: {message}."
    if kind == "extra_forbidden":
        allowed = _allowed_keys(location[:-1])
        close = get_close_matches(str(location[-1]), allowed, n=1)
        what = f"There is no key {location[-1]!r} here" + (f"; did you mean {close[0]!r}?" if close else ".")
        next_step = f"Allowed: {', '.join(allowed)}."
    elif kind == "missing":
        what = f"The key {location[-1]!r} is missing."
        next_step = f"Add {location[-1]!r}."
    elif kind == "literal_error":
        what = f"{first['input']!r} may not stand here."
        next_step = f"Allowed: {first['ctx']['expected']}."
    return ProfileInvalid(what, where=f"{file}: {key}", next_step=next_step)


def _is_union_member(step: int | str) -> bool:
    return isinstance(step, str) and re.match(r"(literal|list)\[|constrained-str$", step) is not None


def _key_text(document: Mapping[str, Json], location: list[int | str]) -> str:
    """Return a dotted key; an operation is named rather than numbered."""
    text, node = "", document
    for step in location:
        child: Any = None
        if isinstance(node, dict):
            child = node.get(str(step))
        elif isinstance(node, list) and isinstance(step, int) and step < len(node):
            child = node[step]
        if isinstance(step, int):
            name = child.get("name") if isinstance(child, dict) else None
            text += f"[{name if isinstance(name, str) else step}]"
        else:
            text += f".{step}" if text else step
        node = child
    return text or "the file"


_TABLES: dict[str, type[BaseModel]] = {
    "sources": _Source,
    "settings": _Setting,
    "operations": _Operation,
    "protections": _Protection,
    "later": _Later,
    "key": _Key,
    "natural_key": _NaturalKey,
    "outcomes": _Outcome,
    "errors": _Answer,
    "answer": _Answer,
    "mismatch": _Answer,
    "concurrent": _Answer,
    "too_long": _Answer,
    "invalid": _Answer,
    "not_found": _Answer,
}


def _allowed_keys(location: list[int | str]) -> list[str]:
    named = [step for step in location if isinstance(step, str) and step in _TABLES]
    return list((_TABLES[named[-1]] if named else _Profile).model_fields)


def _contradictions(written: _Profile) -> Iterator[tuple[str, str, str]]:
    """Yield key, what is wrong and what is allowed, where keys that are right one by one do not fit together."""
    names = [operation.name for operation in written.operations]
    if written.default_protection not in written.protections:
        yield (
            "default_protection",
            f"The profile has no protection {written.default_protection!r}.",
            ", ".join(written.protections),
        )
    if written.described and not names:
        yield "operations", "A described service has operations.", "at least one [[operations]] table"
    for name in names:
        if names.count(name) > 1:
            yield f"operations[{name}].name", f"Two operations are called {name!r}.", "a name used once"
    for name, protection in written.protections.items():
        for kind, rule in (("key", protection.key), ("natural_key", protection.natural_key)):
            for operation in rule.operations if rule else ():
                if operation not in names:
                    yield (
                        f"protections.{name}.{kind}.operations",
                        f"The profile has no operation {operation!r}.",
                        ", ".join(names),
                    )
    for source_number, source in enumerate(written.sources):
        if not source.url and source.grade not in {"invented", "unknown"}:
            yield f"sources[{source_number}].url", "A fact that was read somewhere says where.", "a URL"
    yield from _template_mistakes(written)


def _template_mistakes(written: _Profile) -> Iterator[tuple[str, str, str]]:
    templates: list[tuple[str, Json]] = [(f"errors.{name}", item.body) for name, item in written.errors.items()]
    for operation in written.operations:
        key = f"operations[{operation.name}]"
        templates += [(f"{key}.object", operation.object)]
        templates += [
            (f"{key}.{name}", answer.body)
            for name, answer in (
                ("answer", operation.answer),
                ("not_found", operation.not_found),
                ("invalid", operation.invalid),
            )
            if answer
        ]
    for later in written.later:
        templates += [(f"later.{later.collection}", [later.after_s, later.fields])]
    for key, template in templates:
        for placeholder in placeholders(template):
            root, _, rest = placeholder.partition(".")
            if root not in ROOTS:
                yield key, f"{{{placeholder}}} is not a placeholder.", ", ".join(f"{{{name}...}}" for name in ROOTS)
            if root == "setting" and rest.partition(".")[0] not in written.settings:
                yield key, f"{{{placeholder}}} names no setting.", ", ".join(written.settings) or "none"
