"""Answers, and the little template language in which profiles write them.

A template is a JSON value. Text in it may hold placeholders: `{object.id}`, `{payload.amount}`, `{path.id}`,
`{query.q}`, `{header.x-amz-target}`, `{graphql.args.input}`, `{setting.decision}`, `{clock.iso}`, `{clock.unix}`,
`{items}`, `{count}`, `{more}` (there is another page), `{next}`, `{problem}`, `{key}`, `{raw}` (the body as text),
`{attempt.id}` (a UUID of the attempt). `{md5.payload.text}` is the MD5 of what `{payload.text}` is, and
`{number.payload.amount}` the number that it is written as, as in a form.

Text that is nothing but a placeholder takes the value with its type; what is missing becomes null (or nothing, inside
longer text). The key `*` of a table spreads the fields of its value around it; another key may be a template too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import escape as xml_escape

from ackgap.model.event import Json
from ackgap.target.wire.request import MISSING, dig

__all__ = ["ROOTS", "Answer", "AnswerSpec", "answer_from", "json_answer", "placeholders", "render"]

ROOTS = (
    "attempt",
    "clock",
    "count",
    "graphql",
    "header",
    "items",
    "key",
    "md5",
    "more",
    "next",
    "number",
    "object",
    "path",
    "payload",
    "problem",
    "query",
    "raw",
    "setting",
)
"""What a placeholder may begin with."""

_PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*(?:\.[A-Za-z0-9_-]+)*)\}")


class _Rendered(str):
    """Text of an answer that is escaped already."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSpec:
    """An answer as a template; see `answer.render`.

    Attributes:
        status: Of HTTP.
        body: Template: a table or list is sent as JSON, text as it is.
        each: Template of one of `{items}`, where the answer does not show objects as they are stored; the object is
            `{object}`. Text, as of XML, is joined.
        headers: By name; templates.
    """

    status: int
    body: Json = None
    each: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer, ready to be written.

    Attributes:
        parts: The body; several parts are streamed one by one.
        object_id: The object that it speaks of.
    """

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    parts: tuple[bytes, ...] = ()
    streamed: bool = False
    object_id: str = ""

    @property
    def body(self) -> bytes:
        """All parts in a row."""
        return b"".join(self.parts)


def json_answer(status: int, body: Json, *, headers: Mapping[str, str] | None = None, object_id: str = "") -> Answer:
    """Return an answer whose body is JSON; None is an empty body."""
    extra = tuple((headers or {}).items())
    if body is None:
        return Answer(status=status, headers=extra, object_id=object_id)
    if isinstance(body, str):
        kind, raw = "text/plain; charset=utf-8", _raw(body)
    else:
        kind, raw = "application/json", json.dumps(body).encode()
    if not any(name.lower() == "content-type" for name, _ in extra):
        extra = (("Content-Type", kind), *extra)
    return Answer(status=status, headers=extra, parts=(raw,), object_id=object_id)


def _raw(text: str) -> bytes:
    try:
        # The body of a request that is no UTF-8 comes back byte for byte.
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def answer_from(spec: AnswerSpec, values: Mapping[str, Json], *, object_id: str = "") -> Answer:
    """Return the answer that a template makes of some values."""
    headers = {name: _header(render(text, values)) for name, text in spec.headers.items()}
    kind = next((text for name, text in spec.headers.items() if name.lower() == "content-type"), "")
    escape = xml_escape if "xml" in kind.lower() else str
    items = values.get("items")
    if spec.each is not None and isinstance(items, list):
        shown = [render(spec.each, {**values, "object": item}, escape=escape) for item in items]
        values = {**values, "items": _Rendered("".join(shown)) if isinstance(spec.each, str) else shown}
    body = render(spec.body, values, escape=escape)
    return json_answer(spec.status, body, headers=headers, object_id=object_id)


def render(template: Json, values: Mapping[str, Json], *, escape: Callable[[str], str] = str) -> Json:
    """Return a template with its placeholders filled in.

    Args:
        template: A JSON value.
        values: By root.
        escape: What is done to text that is put into longer text.
    """
    if isinstance(template, str):
        whole = _PLACEHOLDER.fullmatch(template)
        if whole:
            found = _found(values, whole[1])
            return None if found is MISSING else found
        return _PLACEHOLDER.sub(lambda match: _escaped(_found(values, match[1]), escape), template)
    if isinstance(template, Mapping):
        result: dict[str, Json] = {}
        for name, item in template.items():
            value = render(item, values, escape=escape)
            if name == "*":
                result.update(value if isinstance(value, Mapping) else {})
            else:
                result[_text(render(name, values))] = value
        return result
    if isinstance(template, list | tuple):
        return [render(item, values, escape=escape) for item in template]
    return template


def placeholders(template: Json) -> Iterator[str]:
    """Yield every placeholder of a template, without its braces."""
    if isinstance(template, str):
        yield from (match[1] for match in _PLACEHOLDER.finditer(template))
    elif isinstance(template, Mapping):
        for name, item in template.items():
            yield from placeholders(name)
            yield from placeholders(item)
    elif isinstance(template, list | tuple):
        for item in template:
            yield from placeholders(item)


def _found(values: Mapping[str, Json], path: str) -> Json:
    if path.startswith("md5."):
        value = _found(values, path.removeprefix("md5."))
        if value is MISSING:
            return MISSING
        # Services use it as a checksum, not against anyone.
        return hashlib.md5(_text(value).encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()
    if path.startswith("number."):
        return _number(_found(values, path.removeprefix("number.")))
    return dig(values, path)


def _number(value: Json) -> Json:
    if not isinstance(value, str) or not re.fullmatch(r"-?\d{1,18}(\.\d{1,18})?", value, re.ASCII):
        return value
    return float(value) if "." in value else int(value)


def _header(value: Json) -> str:
    # What a worker sent may come back in a header; nothing may end the header early.
    text = re.sub(r"[\0-\x08\n-\x1f\x7f]+", " ", _text(value)).strip(" \t")
    return text.encode("latin-1", "replace").decode("latin-1")


def _escaped(value: Json, escape: Callable[[str], str]) -> str:
    return value if isinstance(value, _Rendered) else escape(_text(value))


def _text(value: Json) -> str:
    if value is MISSING or value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
