"""Answers, and the little template language in which profiles write them.

A template is a JSON value. Text in it may hold placeholders: `{object.id}`, `{payload.amount}`, `{path.id}`,
`{query.q}`, `{setting.decision}`, `{clock.iso}`, `{clock.unix}`, `{items}`, `{count}`, `{problem}`, `{key}`.

Text that is nothing but a placeholder takes the value with its type; what is missing becomes null (or nothing, inside
longer text). The key `*` of a table spreads the fields of its value around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ackgap.model.event import Json
from ackgap.target.profile import AnswerSpec
from ackgap.target.request import MISSING, dig

__all__ = ["ROOTS", "Answer", "answer_from", "json_answer", "placeholders", "render"]

ROOTS = ("clock", "count", "items", "key", "object", "path", "payload", "problem", "query", "setting")
"""What a placeholder may begin with."""

_PLACEHOLDER = re.compile(r"\{([a-z_]+(?:\.[A-Za-z0-9_-]+)*)\}")


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
        kind, raw = "text/plain; charset=utf-8", body.encode("utf-8", "replace")
    else:
        kind, raw = "application/json", json.dumps(body).encode()
    return Answer(status=status, headers=(("Content-Type", kind), *extra), parts=(raw,), object_id=object_id)


def answer_from(spec: AnswerSpec, values: Mapping[str, Json], *, object_id: str = "") -> Answer:
    """Return the answer that a template makes of some values."""
    headers = {name: str(render(text, values)) for name, text in spec.headers.items()}
    return json_answer(spec.status, render(spec.body, values), headers=headers, object_id=object_id)


def render(template: Json, values: Mapping[str, Json]) -> Json:
    """Return a template with its placeholders filled in."""
    if isinstance(template, str):
        whole = _PLACEHOLDER.fullmatch(template)
        if whole:
            found = dig(values, whole[1])
            return None if found is MISSING else found
        return _PLACEHOLDER.sub(lambda match: _text(dig(values, match[1])), template)
    if isinstance(template, Mapping):
        result: dict[str, Json] = {}
        for name, item in template.items():
            value = render(item, values)
            if name == "*":
                result.update(value if isinstance(value, Mapping) else {})
            else:
                result[name] = value
        return result
    if isinstance(template, list | tuple):
        return [render(item, values) for item in template]
    return template


def placeholders(template: Json) -> Iterator[str]:
    """Yield every placeholder of a template, without its braces."""
    if isinstance(template, str):
        yield from (match[1] for match in _PLACEHOLDER.finditer(template))
    elif isinstance(template, Mapping):
        for item in template.values():
            yield from placeholders(item)
    elif isinstance(template, list | tuple):
        for item in template:
            yield from placeholders(item)


def _text(value: Json) -> str:
    if value is MISSING or value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)
