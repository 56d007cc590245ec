"""Invention: what a model that nobody scripted says, in other words each time and with the same facts in it.

Ids and numbers of the conversation stay what they are, because a real model keeps those: what an agent does about
order 4471 after a restart is still about order 4471.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ackgap.model.event import Json
from ackgap.target.models.conversation import Conversation

__all__ = ["acknowledgement", "invented"]

_SAID = ("I have taken note of that", "Noted, thank you", "Understood; that is taken care of")
_FILLED = ("The {words}, as discussed", "Here is the {words}", "{capital}, in short")
_ID_LIKE = re.compile(r"(^|_)(id|ids|key|number|no|reference|ref|code|sku|iban)$", re.IGNORECASE)
_WORD_WITH_DIGIT = re.compile(r"\b[A-Za-z0-9][A-Za-z0-9_.-]*[A-Za-z0-9]\b|\b[0-9]\b")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DEPTH_LIMIT: Final = 12
_FACTS_LIMIT: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """What values are made of.

    Attributes:
        spoken: What the user said last.
        facts: Ids and numbers in it, in order.
        wording: Which words are used.
        definitions: Named parts of the schema.
    """

    spoken: str
    facts: tuple[str, ...]
    wording: int
    definitions: Mapping[str, Json] = field(default_factory=dict)


def acknowledgement(conversation: Conversation, wording: int) -> str:
    """Return a text that says nothing new about what the user said, and repeats its ids and numbers."""
    facts = _facts_of(_last_said(conversation))[:_FACTS_LIMIT]
    said = _SAID[wording % len(_SAID)] + _once_more(wording, len(_SAID))
    return said + (f": {', '.join(facts)}." if facts else ".")


def _once_more(wording: int, count: int) -> str:
    """Return what tells a wording from the same one of an earlier round: no model repeats itself to the letter."""
    rounds = wording // count
    return "" if not rounds else f", said {'once more' if rounds == 1 else f'{rounds} times more'}"


def invented(schema: Mapping[str, Json], conversation: Conversation, wording: int) -> Json:
    """Return a value that a JSON schema allows, filled in from the conversation."""
    spoken = _last_said(conversation)
    definitions: dict[str, Json] = {}
    for place in ("$defs", "definitions"):
        part = schema.get(place)
        definitions.update(part if isinstance(part, Mapping) else {})
    source = _Source(spoken=spoken, facts=_facts_of(spoken), wording=wording, definitions=definitions)
    return _value("answer", schema, source, 0)


def _last_said(conversation: Conversation) -> str:
    return next((message.text for message in reversed(conversation.messages) if message.role == "user"), "")


def _facts_of(text: str) -> tuple[str, ...]:
    words = (match[0] for match in _WORD_WITH_DIGIT.finditer(text))
    return tuple(dict.fromkeys(word for word in words if any(letter.isdigit() for letter in word)))


def _value(name: str, schema: Json, source: _Source, depth: int) -> Json:
    if not isinstance(schema, Mapping) or depth > _DEPTH_LIMIT:
        return None
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return _value(name, source.definitions.get(reference.rpartition("/")[2]), source, depth + 1)
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    for choice in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(choice), list) and schema[choice]:
            return _value(name, schema[choice][0], source, depth + 1)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((item for item in kind if item != "null"), "null")
    if kind == "object" or "properties" in schema:
        return _object(schema, source, depth)
    if kind == "array":
        count = schema.get("minItems")
        item = _value(name, schema.get("items"), source, depth + 1)
        return [item] * (count if isinstance(count, int) and 0 <= count < 100 else 0)
    if kind in ("integer", "number"):
        return _number(name, source, whole=kind == "integer")
    plain: dict[Json, Json] = {"boolean": True, "null": None}
    return plain[kind] if kind in plain else _text(name, source)


def _object(schema: Mapping[str, Json], source: _Source, depth: int) -> dict[str, Json]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {str(name): _value(str(name), part, source, depth + 1) for name, part in properties.items()}


def _number(name: str, source: _Source, *, whole: bool) -> Json:
    near = _near(name, source)
    for text in (near, *source.facts):
        if text and _NUMBER.fullmatch(text) and len(text) < 16:
            number = float(text)
            if number.is_integer():
                return int(number)
            if not whole:
                return number
    return 1


def _text(name: str, source: _Source) -> str:
    words = _words(name)
    if _ID_LIKE.search(words.replace(" ", "_")):
        # An id is never reworded. One that the conversation does not have is made up once and for all.
        return _near(name, source) or next(iter(source.facts), f"{words.replace(' ', '-')}-1")
    near = _near(name, source)
    said = _FILLED[source.wording % len(_FILLED)].format(words=words, capital=words.capitalize())
    said += _once_more(source.wording, len(_FILLED))
    return f"{said} ({near})" if near else said


def _near(name: str, source: _Source) -> str:
    """Return the fact that follows the first word of a field's name: `partner_id` and "partner 4471"."""
    first = re.escape(_words(name).split(" ")[0])
    for match in re.finditer(
        rf"\b{first}\b\W*(?:id|no|number|nr)?\W*([\w.-]*\d[\w.-]*\b)", source.spoken, re.IGNORECASE
    ):
        if match[1] in source.facts:
            return match[1]
    return ""


def _words(name: str) -> str:
    return " ".join(_CAMEL.sub(" ", name).replace("_", " ").replace("-", " ").lower().split()) or "text"
