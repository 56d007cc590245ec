"""Reading profiles from TOML; every mistake is told with file, key and what may stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ackgap.content import find_profile
from ackgap.errors import ProfileInvalid
from ackgap.model.event import Json
from ackgap.target.profiles.checks import document_mistakes, read_document
from ackgap.target.profiles.profile import Profile
from ackgap.target.profiles.schema import PATH_FORM, TABLES, ProfileTable, answers_of
from ackgap.target.wire.answer import ROOTS, placeholders

__all__ = ["read_profile"]

_DOCS = "docs/writing-a-profile.md lists every key."


def read_profile(name_or_path: str | Path) -> Profile:
    """Read a profile.

    Raises:
        UsageInvalid: There is no such profile.
        ProfileInvalid: The file has a mistake.
    """
    file = find_profile(str(name_or_path))
    document = read_document(file)
    for key, what, allowed in document_mistakes(document):
        raise ProfileInvalid(what, where=f"{file}: {key}", next_step=f"Allowed: {allowed}. {_DOCS}")
    try:
        written = ProfileTable.model_validate(document)
    except ValidationError as error:
        raise _mistake(file, document, error) from error
    for key, what, allowed in _contradictions(written):
        raise ProfileInvalid(what, where=f"{file}: {key}", next_step=f"Allowed: {allowed}. {_DOCS}")
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
    elif kind == "string_pattern_mismatch" and first["ctx"]["pattern"] == PATH_FORM:
        what = f"{first['input']!r} is not a path into a request."
        next_step = "A path begins with body, query, path, header or graphql, such as body.partner.id."
    elif kind == "literal_error":
        what = f"{first['input']!r} may not stand here."
        next_step = f"Allowed: {first['ctx']['expected']}."
    return ProfileInvalid(what, where=f"{file}: {key}", next_step=f"{next_step} {_DOCS}")


def _is_union_member(step: int | str) -> bool:
    return (
        isinstance(step, str)
        and re.match(r"(literal|list|function-[a-z]+)\[|constrained-str$|_[A-Z]", step) is not None
    )


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


def _allowed_keys(location: list[int | str]) -> list[str]:
    named = [step for step in location if isinstance(step, str) and step in TABLES]
    return list((TABLES[named[-1]] if named else ProfileTable).model_fields)


def _contradictions(written: ProfileTable) -> Iterator[tuple[str, str, str]]:
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
        for kind, rules in (
            ("key", protection.keys),
            ("condition", protection.conditions),
            ("natural_key", protection.natural_keys),
        ):
            for operation in (operation for rule in rules for operation in rule.operations):
                if operation not in names:
                    yield (
                        f"protections.{name}.{kind}.operations",
                        f"The profile has no operation {operation!r}.",
                        ", ".join(names),
                    )
    for source_number, source in enumerate(written.sources):
        if not source.url and source.grade not in {"own", "invented", "unknown"}:
            yield (
                f"sources[{source_number}].url",
                "A fact that was read somewhere says where.",
                "a URL; what you know yourself has the grade own",
            )
    yield from _template_mistakes(written)


def _template_mistakes(written: ProfileTable) -> Iterator[tuple[str, str, str]]:
    for key, template in answers_of(written):
        for placeholder in placeholders(template):
            root, _, rest = placeholder.removeprefix("md5.").removeprefix("number.").partition(".")
            if root not in ROOTS:
                yield key, f"{{{placeholder}}} is not a placeholder.", ", ".join(f"{{{name}...}}" for name in ROOTS)
            if root == "setting" and rest.partition(".")[0] not in written.settings:
                yield key, f"{{{placeholder}}} names no setting.", ", ".join(written.settings) or "none"
